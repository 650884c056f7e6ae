import LocalStack
import TestKit

/// Hundreds of correspondents: most stay, some come and go, some sleep until a push wakes them, some are away to the
/// end. They write to people they know and to groups, some with attachments, and some renew their sessions.
package struct Crowd: Sendable {
    package let ledger: Ledger
    let people: [Correspondent]
    private let origin: String

    var ids: [String] { self.people.map(\.id) }

    /// One in so many is away, comes and goes, sleeps, sends attachments, renews its session.
    private static let absentOneIn = 12
    private static let commutersOneIn = 4
    private static let sleepersOneIn = 6
    private static let sendersOfFilesOneIn = 8
    private static let renewersOneIn = 10
    /// People whom each writes to, and members of a group.
    private static let friends = 4
    private static let groupSize = 6
    /// One group for so many people.
    private static let peoplePerGroup = 10
    private static let commute = Duration.seconds(4)
    private static let wakefulness = Duration.seconds(5)
    private static let farewell = Duration.seconds(2)
    /// Logins under way at once.
    private static let loginsMax = 10
    private static let look = Duration.milliseconds(60)

    /// Everybody has logged in and knows whom to write to.
    /// - Parameters:
    ///   - origin: where they connect, `127.0.0.1:port`.
    ///   - pace: between two messages of one of them, on average.
    ///   - pushes: nil: everybody stays.
    static func gather(
        _ count: Int, seed: UInt64, at origin: String, pace: Duration, pushes: Pushes?
    ) async throws -> Crowd {
        let ledger = Ledger()
        var random = SeededGenerator(seed: seed)
        let habits = (0..<count).map { number in
            var habits = Habits()
            habits.pause = pace
            habits.look = self.look
            habits.underWayMax = 8
            habits.ciphertextMax = 600
            guard pushes != nil else { return habits }
            if number % self.sendersOfFilesOneIn == 1 { habits.attachmentsOneIn = 4 }
            switch number {
            case _ where number % self.absentOneIn == 5: habits.presence = .absent(after: self.farewell)
            case _ where number % self.sleepersOneIn == 3: habits.presence = .sleeping(self.wakefulness)
            case _ where number % self.commutersOneIn == 2: habits.presence = .commuting(self.commute)
            default: habits.refreshes = number % self.renewersOneIn == 0
            }
            return habits
        }
        let seeds = habits.map { _ in random.next() }
        let people = try await self.logIn(zip(habits, seeds).map { ($0, $1) }, ledger, origin, pushes)
        for (index, person) in people.enumerated() {
            for _ in 0..<self.friends {
                let other = Int.random(in: 0..<count - 1, using: &random)
                await person.writes(to: people[other < index ? other : other + 1].id)
            }
        }
        if pushes != nil {
            for _ in 0..<count / self.peoplePerGroup {
                try await self.makeGroup(of: Array(people.shuffled(using: &random).prefix(self.groupSize)), origin)
            }
        }
        return Crowd(ledger: ledger, people: people, origin: origin)
    }

    private static func logIn(
        _ plans: [(habits: Habits, seed: UInt64)], _ ledger: Ledger, _ origin: String, _ pushes: Pushes?
    ) async throws -> [Correspondent] {
        try await withThrowingTaskGroup(of: (Int, Correspondent).self) { group in
            var people: [Int: Correspondent] = [:]
            for (index, plan) in plans.enumerated() {
                if index >= self.loginsMax, let (number, person) = try await group.next() { people[number] = person }
                group.addTask { (index, try await self.logIn(plan.habits, plan.seed, ledger, origin, pushes)) }
            }
            for try await (number, person) in group { people[number] = person }
            return plans.indices.map { people[$0]! }
        }
    }

    private static func logIn(
        _ habits: Habits, _ seed: UInt64, _ ledger: Ledger, _ origin: String, _ pushes: Pushes?
    ) async throws -> Correspondent {
        let phone = try await Person().logIn(on: try await TestClient.connect(to: "ws://\(origin)/ws"))
        let person = Correspondent(phone, habits: habits, ledger: ledger, seed: seed, origin: "http://\(origin)") { _ in
            "ws://\(origin)/ws"
        }
        if let pushes, case .sleeping = habits.presence {
            // Bare: it lasts one hop.
            let token = pushes.token { Task { await person.pushed() } }
            try await phone.ask("update_tokens", ["pushToken": token]).expecting("tokens_updated")
        }
        phone.client.cut()
        return person
    }

    private static func makeGroup(of members: [Correspondent], _ origin: String) async throws {
        let owner = await members[0].phone(on: try await TestClient.connect(to: "ws://\(origin)/ws"))
        let event = try await owner.ask("group_create", ["title": "Group", "memberIds": members.dropFirst().map(\.id)])
            .expecting("group_event")
        guard let group = event.payload["group"]?["groupId"]?.string else { throw Unexpected(frame: event) }
        owner.client.cut()
        for member in members {
            await member.writes(to: group, others: members.map(\.id).filter { $0 != member.id })
        }
    }

    // MARK: What they do

    /// Until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for person in self.people { group.addTask { await person.run() } }
        }
    }

    /// Nobody writes anything new or goes away any more.
    func stopWriting() async { for person in self.people { await person.stopWriting() } }

    /// People who still sleep come back without a push.
    func fetchSleepers() async { for person in self.people where !person.habits.isAbsent { await person.fetched() } }

    /// People who were to be away until everything is over come back.
    func fetchAbsent() async { for person in self.people where person.habits.isAbsent { await person.fetched() } }

    /// Returns when all that was sent is accepted, delivered and told.
    /// - Parameter absentAreAway: they have not been fetched, and nobody hears of what was sent to them.
    /// - Throws: `TimeUp`, with who waits for what.
    func settle(within timeout: Duration, absentAreAway: Bool = false) async throws {
        let absent = absentAreAway ? Set(self.people.filter(\.habits.isAbsent).map(\.id)) : []
        do {
            try await waitUntil("all is accepted, delivered and told", within: timeout, every: .milliseconds(200)) {
                for person in self.people where await !person.isSettled(whileAway: absent) { return false }
                return true
            }
        } catch let timeUp as TimeUp {
            var waiting: [Correspondent.OpenWork] = []
            for person in self.people where await !person.isSettled(whileAway: absent) {
                waiting.append(await person.openWork(whileAway: absent))
            }
            throw TimeUp(what: "\(timeUp.what); \(Correspondent.OpenWork.text(of: waiting))", after: timeUp.after)
        }
    }

    /// The tokens of before still open a session, nothing is left in the mailboxes, and what was attached can be had.
    func lookAround() async {
        await withDiscardingTaskGroup { group in
            for person in self.people {
                group.addTask {
                    do {
                        try await self.lookInto(person)
                    } catch {
                        self.ledger.sessionRefused(person.id, "\(error)")
                    }
                }
            }
        }
    }

    private func lookInto(_ person: Correspondent) async throws {
        let phone = await person.phone(on: try await TestClient.connect(to: "ws://\(self.origin)/ws"))
        let askedAt = self.ledger.now
        for message in try await phone.pending() {
            self.ledger.arrived(
                Letter(message.id, to: phone.id), from: message["from"]?.string ?? "", .page(askedAt: askedAt))
        }
        // The first of each will do: they go the same way.
        guard let (key, _) = await person.received.first else { return }
        var status = 0
        do {
            // A 5xx says nothing about the file, only that it is to be asked for again.
            try await waitUntil("an answer about \(key)", within: .seconds(20), every: .milliseconds(200)) {
                let answer = try await phone.http("GET", "/attachments/\(key)/download", at: "http://\(self.origin)")
                status = answer.status
                guard let url = answer.json["downloadUrl"]?.string else { return status < 500 }
                status = try await HTTPCall("GET", url).answer().status
                return status < 500
            }
        } catch is TimeUp {}
        if status != 200 { self.ledger.remark("attachment lost: \(key) for \(phone.id), \(status)") }
    }

    var reconnects: Int {
        get async {
            var count = 0
            for person in self.people { count += await person.reconnects }
            return count
        }
    }

    var attachments: Int {
        get async {
            var count = 0
            for person in self.people { count += await person.received.count }
            return count
        }
    }
}
