/// A person's requests about files, over HTTP.
extension Phone {
    /// Any HTTP with this session.
    /// - Parameter origin: `http://host:port`.
    package func http(
        _ method: String, _ path: String, _ body: Fields? = nil, token: String? = nil, at origin: String
    ) async throws -> HTTPCall.Answer {
        var headers = ["Authorization": "Bearer \(token ?? self.token)"]
        if body != nil { headers["Content-Type"] = "application/json" }
        return try await HTTPCall(
            method, origin + path, headers: headers, body: body.map { Array($0.json.text.utf8) } ?? []
        ).answer()
    }

    package static func put(_ content: [UInt8], to url: String) async throws -> HTTPCall.Answer {
        try await HTTPCall("PUT", url, headers: ["Content-Type": "application/octet-stream"], body: content).answer()
    }

    /// The member `attachment` of a message that points to an object.
    package static func attachment(_ key: String, bytes: Int) -> Fields {
        [
            "objectKey": key, "contentType": "image/jpeg", "ciphertextSize": bytes, "fileNonce": Keys.random(24).base64,
            "fileKeyBox": ["nonce": Keys.random(24).base64, "ciphertext": Keys.random(48).base64].json,
        ]
    }
}
