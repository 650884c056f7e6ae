import LocalStack
import TestKit
import WhisperCore

/// People who come in twos, write to each other and leave for good: five in a minute, as apps with the client core do it. The first one
/// leaves with mail under way to both. Each message is delivered, or its sender is told why not, and nothing is left of anybody.
actor Leavers {
    private let server: String
    private let ledger: Ledger
    private let folder: TemporaryFolder
    private var pairs: [Task<Void, Never>] = []
    /// Whisper IDs of those whom the server has let go.
    private var gone: [String] = []

    private static let pause = Duration.seconds(24)
    private static let letters = 3
    private static let again = Duration.milliseconds(300)
    /// For one step: as long as a fault may last, and the healing behind it.
    private static let stepMax = Duration.seconds(180)
    /// States in which a message of ours comes to rest.
    private static let ends: Set = ["delivered", "read", "expired", "failed"]

    init(at server: String, _ ledger: Ledger) throws {
        (self.server, self.ledger) = (server, ledger)
        self.folder = try TemporaryFolder(named: "leavers")
    }

    var count: Int { self.gone.count }

    /// Until it is cancelled. People who have come by then leave all the same: `end` waits for them.
    func run() async {
        while !Task.isCancelled {
            let number = self.pairs.count
            self.pairs.append(Task { await self.pair(number) })
            try? await Task.sleep(for: Self.pause)
        }
    }

    private func pair(_ number: Int) async {
        do {
            let ann = try await self.person("ann-\(number)")
            let bob = try await self.person("bob-\(number)")
            try await self.write(from: ann, to: bob)
            try await self.write(from: bob, to: ann)
            try await self.leave(ann)
            try await waitUntil("all of bob-\(number)'s messages have an end", within: Self.stepMax) {
                try Self.states(of: bob.core, with: ann.id).allSatisfy(Self.ends.contains)
            }
            try await self.leave(bob)
        } catch {
            self.ledger.remark("leaving: pair \(number): \(error)")
        }
    }

    private struct Leaver {
        var core: Core
        var id: String
    }

    private func person(_ name: String) async throws -> Leaver {
        let core = try Core.open(CoreConfiguration(folder: self.folder.path + "/" + name, server: self.server))
        _ = try await core.createIdentity()
        try await self.persistently { try await core.connect() }
        // A session has one.
        return Leaver(core: core, id: core.identity!.whisperID!)
    }

    private func write(from one: Leaver, to other: Leaver) async throws {
        let contact = try await self.persistently { try await one.core.addContact(other.id) }
        for number in 1...Self.letters { try await one.core.send("letter \(number)", to: contact) }
    }

    private func leave(_ leaver: Leaver) async throws {
        try await self.persistently {
            try await leaver.core.deleteAccount(confirming: leaver.id)
        }
        await leaver.core.close()
        self.gone.append(leaver.id)
    }

    /// Tries again until a fault is over.
    private func persistently<Result: Sendable>(
        _ act: @Sendable () async throws -> Result
    ) async throws -> Result {
        let end = ContinuousClock.now + Self.stepMax
        while true {
            do {
                return try await act()
            } catch let error as CoreError {
                guard ContinuousClock.now < end else { throw error }
                try await Task.sleep(for: Self.again)
            }
        }
    }

    /// The states of all messages that a person has written to another.
    private static func states(of core: Core, with other: String) throws -> [String] {
        let answer = try JSON(parsing: Array(core.query(#"chat_get {"chat":"\#(other)"}"#).utf8))
        return answer["messages"]?.elements.filter { $0["direction"]?.string == "out" }
            .map { $0["state"]?.string ?? "" } ?? []
    }

    /// Waits for all who have come, and then looks whether the database still names one of them. The clock of the data is moved: services
    /// look again 90 s after a decision.
    func end(on stack: LocalStack) async {
        for pair in self.pairs { await pair.value }
        let ids = self.gone.map { "'\($0)'" }.joined(separator: ",")
        guard !ids.isEmpty else { return self.ledger.remark("leaving: nobody has left") }
        do {
            func database(_ sql: String) async throws -> String {
                try await stack.postgres.run(sql, database: "whisper")
            }
            _ = try await database("UPDATE auth.erasures SET decided_at = decided_at - interval '100 seconds'")
            try await waitUntil("all services have erased their part", within: Self.stepMax, every: Self.again) {
                try await database(
                    "SELECT bool_and(done @> array_remove(auth.erasure_parts(), 'ledger')) FROM auth.erasures") == "t"
            }
            for column in [
                "auth.identities.whisper_id", "auth.sessions.whisper_id", "auth.devices.whisper_id",
                "router.mailbox.recipient", "router.peers.identity", "router.peers.peer", "push.recipients.recipient",
            ] {
                let parts = column.split(separator: ".")
                let left = try await database(
                    "SELECT count(*) FROM \(parts[0]).\(parts[1]) WHERE auth.whisper_id_text(\(parts[2])) IN (\(ids))")
                if left != "0" { self.ledger.remark("leaving: \(left) rows of \(column) name people who have left") }
            }
        } catch {
            self.ledger.remark("leaving: \(error)")
        }
    }
}
