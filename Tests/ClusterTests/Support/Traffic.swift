import Chaos
import LocalStack
import TestKit
import Testing

/// Pairs who write to each other across both gateways, and the ledger of it.
struct Traffic {
    let ledger = Ledger()
    let people: [Correspondent]

    /// How long a fault may keep a message from its acknowledgement, or an acknowledged one from its recipient and the
    /// receipt from its sender, once everything runs again.
    static let healing = Duration.seconds(60)

    /// Everybody has logged in and knows whom to write to.
    init(pairs: Int, seed: UInt64, on stack: LocalStack) async throws {
        var people: [Correspondent] = []
        for number in 0..<2 * pairs {
            let gateway = 1 + number % 2
            let phone = try await Self.logIn(gateway: gateway)
            var habits = Habits()
            habits.isPolite = false
            people.append(
                Correspondent(
                    phone, habits: habits, ledger: self.ledger, seed: seed &* 1_000 &+ UInt64(number),
                    origin: stack.publicURL
                ) { attempt in
                    // If that one is down: the other.
                    stack.endpoint(ofGateway: 1 + (gateway - 1 + attempt) % 2)
                })
        }
        for number in people.indices { await people[number].writes(to: people[number ^ 1].id) }
        self.people = people
    }

    /// As a client does: INTERNAL_ERROR may be tried again (contract §3). After a fault each process notices by a command
    /// of its own what it has lost, and `Cluster.calm` does not meet all of them.
    private static func logIn(gateway: Int) async throws -> Phone {
        for _ in 1..<Self.loginsMax {
            do { return try await Cluster.phone(gateway: gateway) } catch let refusal as Unexpected {
                guard refusal.frame.errorCode == "INTERNAL_ERROR" else { throw refusal }
                try await Task.sleep(for: Self.betweenLogins)
            }
        }
        return try await Cluster.phone(gateway: gateway)
    }

    private static let loginsMax = 5
    private static let betweenLogins = Duration.milliseconds(500)

    /// Has them write, does `mistreat` in the middle of it, and checks the ledger when all is calm again.
    func run(onTheWay: Duration, _ mistreat: @escaping () async throws -> Void) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for person in self.people { group.addTask { await person.run() } }
            try await self.everybodySends(40, "before")
            try await mistreat()
            try await self.everybodySends(40, "after")
            for person in self.people { await person.stopWriting() }
            do {
                try await waitUntil(
                    "all is accepted, delivered and told", within: Self.healing, every: .milliseconds(50)
                ) {
                    for person in self.people where await !person.isSettled { return false }
                    return true
                }
            } catch {
                // The ledger knows better what is missing.
                Issue.record("\(error)")
            }
            group.cancelAll()
        }
        try await self.emptyMailboxes()
        let faults = self.ledger.faults(onTheWay: onTheWay)
        guard !faults.isEmpty else { return }
        Issue.record(
            "\(faults.count) faults in \(self.ledger.count): \(faults.prefix(10)); \(try await self.whereaboutsOfUntold())"
        )
    }

    /// Where the messages stand whose senders were not told.
    private func whereaboutsOfUntold() async throws -> String {
        let ids = self.ledger.untold.map { "'\($0.id)'" }.joined(separator: ",")
        guard !ids.isEmpty else { return "none is untold" }
        return try await Cluster.database(
            """
            SELECT 'status ' || l.status || ', in the mailbox: ' || (m.number IS NOT NULL)
                || ', outcomes: ' || (SELECT count(*) FROM router.outcomes o WHERE o.message_id = l.message_id)
                || ', sender ' || l.sender || ', messages: ' || count(*) || ', accepted ' || min(l.accepted_at) || ' to '
                || max(l.accepted_at) || ', settled ' || coalesce(min(l.status_at)::text, '-') || ', now ' || now()
            FROM router.ledger l LEFT JOIN router.mailbox m USING (message_id, recipient)
            WHERE l.message_id IN (\(ids))
            GROUP BY l.status, m.number IS NOT NULL, l.sender,
                (SELECT count(*) FROM router.outcomes o WHERE o.message_id = l.message_id)
            """)
    }

    /// Returns when each has had this many more messages accepted.
    private func everybodySends(_ count: Int, _ what: String) async throws {
        var goals: [Int] = []
        for person in self.people { goals.append(await person.accepted + count) }
        try await waitUntil("everybody has sent \(count) \(what)", within: Self.healing, every: .milliseconds(20)) {
            for (person, goal) in zip(self.people, goals) where await person.accepted < goal { return false }
            return true
        }
    }

    /// The tokens of before still open a session, and what is left in the mailboxes counts as kept.
    private func emptyMailboxes() async throws {
        for person in self.people {
            let phone = await person.phone(on: try await Cluster.client())
            let askedAt = self.ledger.now
            for message in try await phone.pending() {
                self.ledger.arrived(
                    Letter(message.id, to: phone.id), from: message["from"]?.string ?? "", .page(askedAt: askedAt))
            }
        }
    }
}
