import LocalStack
import TestKit
import Testing

/// A person's requests about files, through the balancer unless a URL says otherwise.
extension Phone {
    /// Any HTTP with this session.
    func http(
        _ method: String, _ path: String, _ body: Fields? = nil, token: String? = nil
    ) async throws -> HTTPCall.Answer {
        try await self.http(method, path, body, token: token, at: Cluster.stack.publicURL)
    }

    func presign(_ bytes: Int, contentType: String = "image/jpeg", more: Fields = [:]) async throws -> HTTPCall.Answer {
        let fields: Fields = ["contentType": contentType, "sizeBytes": bytes, "purpose": "message_attachment"]
        return try await self.http("POST", "/attachments/presign", fields.with(more))
    }

    /// Presigns and uploads.
    /// - Returns: the object's key.
    func upload(_ content: [UInt8]) async throws -> String {
        let presign = try await self.presign(content.count)
        guard let url = presign.json["uploadUrl"]?.string, let key = presign.json["objectKey"]?.string else {
            throw Refused(answer: presign)
        }
        let put = try await Self.put(content, to: url)
        guard put.status == 200 else { throw Refused(answer: put) }
        return key
    }

    /// The answer to the question for a download URL.
    func asksFor(_ key: String) async throws -> HTTPCall.Answer {
        try await self.http("GET", "/attachments/\(key)/download")
    }

    /// Asks for a URL and downloads from it.
    func download(_ key: String) async throws -> [UInt8] {
        let answer = try await self.asksFor(key)
        guard let url = answer.json["downloadUrl"]?.string else { throw Refused(answer: answer) }
        let content = try await HTTPCall("GET", url).answer()
        guard content.status == 200 else { throw Refused(answer: content) }
        return content.body
    }

    /// A message that points to an object.
    func letter(to recipient: Phone, with key: String, bytes: Int = 10) -> Fields {
        let attachment = Self.attachment(key, bytes: bytes)
        return self.message(to: recipient.id).with(["attachment": attachment.json, "msgType": "image"])
    }

    struct Refused: Error {
        var answer: HTTPCall.Answer
    }
}
