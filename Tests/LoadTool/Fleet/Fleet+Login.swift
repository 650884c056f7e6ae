import Contract

extension Fleet {
    /// Registrations under way at once.
    private static let loginsMax = 50

    /// New identities, connected and registered.
    /// - Throws: the first failure; there is no point in measuring with fewer clients.
    func register(_ count: Int) async throws -> [Client] {
        let clients = (0..<count).map { _ in self.enlist() }
        var waiting = clients.map(\.number)[...]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in waiting.prefix(Self.loginsMax) { group.addTask { try await self.login(number) } }
            waiting = waiting.dropFirst(Self.loginsMax)
            while try await group.next() != nil {
                guard let number = waiting.popFirst() else { continue }
                group.addTask { try await self.login(number) }
            }
        }
        return clients
    }

    private func login(_ number: Int) async throws {
        try await self.connect(number)
        let client = self.clients[number]
        let device = UUIDText.random().description
        let challenge = try await self.ask(
            client,
            #"{"type":"register_begin","payload":{"protocolVersion":1,"cryptoVersion":1,"deviceId":"\#(device)","platform":"android"}}"#
        )
        guard let id = Self.text(#""challengeId":""#, in: challenge),
            let bytes = Self.text(#""challenge":""#, in: challenge).flatMap({ Base64.decode($0) }),
            bytes.count == Limits.challengeBytes, bytes.starts(with: "whisper-register".utf8)
        else { throw LoadError.refused(String(decoding: challenge, as: UTF8.self)) }
        let keys = client.keys
        func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
        let acknowledgement = try await self.ask(
            client,
            #"{"type":"register_proof","payload":{"protocolVersion":1,"cryptoVersion":1,"challengeId":"\#(id)","#
                + #""deviceId":"\#(device)","platform":"android","encPublicKey":"\#(base64(keys.boxPublicKey))","#
                + #""signPublicKey":"\#(base64(keys.publicKey))","signature":"\#(base64(keys.sign(bytes)))"}}"#)
        guard let whisperID = Self.text(#""whisperId":""#, in: acknowledgement),
            let token = Self.text(#""sessionToken":""#, in: acknowledgement)
        else { throw LoadError.refused(String(decoding: acknowledgement, as: UTF8.self)) }
        client.whisperID = whisperID
        client.token = token
    }

    private static func text(_ member: StaticString, in frame: [UInt8]) -> String? {
        frame.withUnsafeBytes { ServerFrame(bytes: $0).text(member) }
    }
}
