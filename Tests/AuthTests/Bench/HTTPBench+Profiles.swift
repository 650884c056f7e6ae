import AuthTestKit
import Contract
import Hummingbird
import ServerCrypto

/// Requests about profiles.
extension HTTPBench {
    /// A join key, made from a byte.
    static func joinKey(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: 32) }

    private static let versions = #""protocolVersion":1,"cryptoVersion":1"#

    func putProfile(_ profile: UUIDText, key: UInt8 = 1, by login: AuthBench.Login) async throws -> Answer {
        let hash = base64(SHA256.hash(Self.joinKey(key)).bytes)
        return try await self.ask(
            .put, "/profiles/\(profile)", by: login, body: #"{\#(Self.versions),"joinHash":"\#(hash)"}"#)
    }

    func join(_ profile: UUIDText, key: UInt8 = 1, by login: AuthBench.Login) async throws -> Answer {
        try await self.ask(
            .post, "/profiles/\(profile)/members", by: login,
            body: #"{\#(Self.versions),"joinKey":"\#(base64(Self.joinKey(key)))"}"#)
    }

    func remove(_ member: AuthBench.Login, from profile: UUIDText, by login: AuthBench.Login) async throws -> Answer {
        try await self.ask(.delete, "/profiles/\(profile)/members/\(member.id)", by: login)
    }

    func profile(_ profile: UUIDText, by login: AuthBench.Login) async throws -> Answer {
        try await self.ask(.get, "/profiles/\(profile)", by: login)
    }

    /// A document whose bytes are all the same.
    static func document(_ byte: UInt8, bytes: Int = 100) -> String {
        let (nonce, ciphertext) = ([UInt8](repeating: byte, count: 12), [UInt8](repeating: byte, count: bytes))
        return #"{\#(Self.versions),"nonce":"\#(base64(nonce))","ciphertext":"\#(base64(ciphertext))"}"#
    }

    /// - Parameter version: the one that is expected to be there; `nil`: none.
    func write(
        _ document: String, as name: String = "whisper", of profile: UUIDText, over version: Int64?,
        by login: AuthBench.Login
    ) async throws -> Answer {
        var headers: HTTPFields = [:]
        if let version { headers[.ifMatch] = "\"\(version)\"" } else { headers[.ifNoneMatch] = "*" }
        return try await self.write(document, as: name, of: profile, headers, by: login)
    }

    func write(
        _ document: String, as name: String = "whisper", of profile: UUIDText, _ headers: HTTPFields,
        by login: AuthBench.Login
    ) async throws -> Answer {
        try await self.ask(.put, "/profiles/\(profile)/documents/\(name)", by: login, headers, body: document)
    }

    func document(
        _ name: String = "whisper", of profile: UUIDText, unless known: String? = nil, by login: AuthBench.Login
    ) async throws -> Answer {
        var headers: HTTPFields = [:]
        headers[.ifNoneMatch] = known
        return try await self.ask(.get, "/profiles/\(profile)/documents/\(name)", by: login, headers)
    }

    /// Every operation, as a member would ask for it.
    func everything(
        about profile: UUIDText, member: AuthBench.Login, by login: AuthBench.Login
    ) async throws -> [Answer] {
        [
            try await self.profile(profile, by: login), try await self.document(of: profile, by: login),
            try await self.write(Self.document(9), of: profile, over: nil, by: login),
            try await self.write(Self.document(9), of: profile, over: 1, by: login),
            try await self.remove(member, from: profile, by: login),
        ]
    }

    func ask(
        _ method: HTTPRequest.Method, _ path: String, by login: AuthBench.Login, _ headers: HTTPFields = [:],
        body: String = ""
    ) async throws -> Answer {
        try await self.send(method, path, authorization: "Bearer \(login.token)", headers: headers, body: body)
    }
}

extension HTTPBench.Answer {
    /// A profile's members.
    var members: [String] {
        (self.json["members"] as? [[String: Any]])?.compactMap { $0["whisperId"] as? String } ?? []
    }

    var version: Int64? { self.json["version"] as? Int64 }
}

extension AuthBench.Login {
    var id: WhisperID { self.session.caller.identity }
}
