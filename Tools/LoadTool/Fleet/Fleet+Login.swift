import Contract

extension Fleet {
    /// Registrations, or returns, under way at once.
    private static let loginsMax = 50

    /// New identities, connected and registered.
    /// - Throws: the first failure; there is no point in measuring with fewer clients.
    func register(_ count: Int) async throws -> [Client] {
        let clients = (0..<count).map { _ in self.enlist() }
        try await self.forEach(clients.map(\.number)) { try await self.login($0) }
        return clients
    }

    /// New identities that have gone again: they are in the tables, and nowhere else.
    func registerAway(_ count: Int) async throws {
        for start in stride(from: 0, to: count, by: Self.registeredAtOnce) {
            for client in try await self.register(min(Self.registeredAtOnce, count - start)) { self.disconnect(client) }
        }
    }

    private static let registeredAtOnce = 1_000

    /// Connections that belong to nobody yet.
    func connectAll(_ numbers: [Int]) async throws {
        try await self.forEach(numbers) { try await self.connect($0) }
    }

    func comeBack(_ numbers: [Int]) async throws {
        try await self.forEach(numbers) { try await self.comeBack($0) }
    }

    /// Connects a client that has registered before, and binds its connection.
    func comeBack(_ number: Int) async throws {
        try await self.connect(number)
        let client = self.clients[number]
        // The next frame it gets, whichever that is: it is bound.
        _ = try await self.ask(client, Drain.question())
    }

    /// Does something with every client, with a few at a time.
    private func forEach(_ numbers: [Int], _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        var waiting = numbers[...]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in waiting.prefix(Self.loginsMax) { group.addTask { try await body(number) } }
            waiting = waiting.dropFirst(Self.loginsMax)
            while try await group.next() != nil {
                guard let number = waiting.popFirst() else { continue }
                group.addTask { try await body(number) }
            }
        }
    }

    private func login(_ number: Int) async throws {
        try await self.connect(number)
        let client = self.clients[number]
        let device = UUIDText.random()
        let challenge = try await self.ask(
            client, RegisterBegin(whisperID: nil, deviceID: device, platform: .android))
        guard let id = Self.text(#""challengeId":""#, in: challenge).flatMap({ UUIDText($0) }),
            let bytes = Self.text(#""challenge":""#, in: challenge).flatMap({ Base64.decode($0) }),
            bytes.count == Limits.challengeBytes, bytes.starts(with: "whisper-register".utf8)
        else { throw LoadError.refused(String(decoding: challenge, as: UTF8.self)) }
        let keys = client.keys
        let acknowledgement = try await self.ask(
            client,
            RegisterProof(
                challengeID: id, deviceID: device, platform: .android, whisperID: nil, encPublicKey: keys.box,
                signPublicKey: keys.sign, signature: Bytes64(keys.sign(bytes))!))
        guard let whisperID = Self.text(#""whisperId":""#, in: acknowledgement),
            let token = Self.text(#""sessionToken":""#, in: acknowledgement)
        else { throw LoadError.refused(String(decoding: acknowledgement, as: UTF8.self)) }
        client.whisperID = whisperID
        client.token = token
    }

    private static func text(_ member: StaticString, in frame: [UInt8]) -> String? {
        frame.withUnsafeBytes { FrameBytes(bytes: $0).text(member) }
    }
}
