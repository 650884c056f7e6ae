import Foundation
import LocalStack
import Synchronization
import TestKit
import Testing

/// People leave, or are erased, while they and others act (contract §20.4).
extension CalmCluster {
    @Suite struct ErasureRaces {
        private static let people = Prove.isAsked ? 1_000 : 4
        /// Seed of the moments. `SEED=8 swift test …` tries others.
        private static let seed = ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) } ?? 7

        /// Nothing is left of them, whatever was under way. The sender of each accepted message to them hears its fate.
        @Test func nothingThatRacesWithAnErasureLeavesATrace() async throws {
            let races = try await Cluster.each(of: Array(0..<Self.people)) { number in
                // A login ends the session that would sign: then an operator erases, who may do so 20 times in an hour.
                let isByOperator = number % 2 == 0 && number < 20
                return try await ErasureRace(seed: Self.seed &* 1_000 &+ UInt64(number), isByOperator: isByOperator)
                    .run()
            }
            for race in races {
                for id in race.accepted {
                    _ = try await race.friend.client.frame("the fate of \(id)", within: .seconds(60)) { frame in
                        ["message_expired", "message_delivered"].contains(frame.type)
                            && frame.payload["messageId"]?.string == id
                    }
                }
            }
            try await Erased.isNowhere(races.map(\.erased))
        }
    }
}

/// A service that was not there when people left does its part later.
extension MistreatedCluster {
    /// Each service in turn is killed while somebody leaves, as are Redis and Postgres in the middle of what follows.
    @Test func whatWasAwayErasesWhenItIsBack() async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        var gone: [Erased] = []
        for service in [ServiceName.router, .push, .attachments, .calls, .gateway, .auth] {
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            try await CalmCluster.PersonalData.writes(alice, bob)
            try await CalmCluster.PersonalData.keepsThings(alice)
            try await CalmCluster.PersonalData.talks(alice, bob)
            let processes = (1...(stack.configuration.instances[service] ?? 1)).map {
                StackProcess.service(service, $0)
            }
            // A gateway asks auth for a person, so these two die right behind the decision.
            let isNeeded = [.gateway, .auth].contains(service)
            if !isNeeded { for process in processes { await stack.kill(process) } }
            let erasure = try await CalmCluster.Leaving.leave(alice, sentMail: "withdraw")
            if isNeeded { for process in processes { await stack.kill(process) } }
            for process in processes { try await stack.start(process) }
            gone.append(
                Erased(
                    erasure: erasure, traces: try DataMap.Traces(of: alice, tokens: [alice.token], pushToken: alice.id))
            )
            try await Cluster.calm()
        }
        try await stack.flushRedis()
        try await stack.restart(.postgres)
        try await Erased.isNowhere(gone)
    }
}

/// One of them. It is erased at a moment of the seed.
private struct ErasureRace {
    struct Outcome: Sendable {
        var erased: Erased
        var friend: Phone
        /// Messages to the erased person.
        var accepted: [String]
    }

    let seed: UInt64
    let isByOperator: Bool

    private final class Records: Sendable {
        let tokens: Mutex<[String]>
        let accepted = Mutex<[String]>([])
        let isOver = Mutex(false)

        init(_ token: String) { self.tokens = Mutex([token]) }
    }

    func run() async throws -> Outcome {
        var dice = SeededGenerator(seed: self.seed)
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        let records = Records(alice.token)
        let pause = Duration.milliseconds(Int.random(in: 0...400, using: &dice))
        let erasure = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Self.until("her mail") { try await CalmCluster.PersonalData.writes(alice, bob) } }
            group.addTask {
                try await Self.until("her things") { try await CalmCluster.PersonalData.keepsThings(alice) }
            }
            group.addTask { try await Self.until("her talks") { try await CalmCluster.PersonalData.talks(alice, bob) } }
            group.addTask { try await Self.until("his mail") { try await Self.write(to: alice, from: bob, records) } }
            group.addTask { try await Self.until("her answers") { try await Self.answer(alice, bob, records) } }
            if self.isByOperator {
                group.addTask { try await Self.until("her logins") { try await Self.logIn(alice, records) } }
            }
            // Also if it fails: the others act until then.
            defer { records.isOver.withLock { $0 = true } }
            // Not a wait: the moment of the race.
            try await Task.sleep(for: pause)
            let erasure =
                self.isByOperator
                ? try await Erased.byOperator(alice)
                : try await CalmCluster.Leaving.leave(alice, sentMail: "withdraw")
            records.isOver.withLock { $0 = true }
            try await group.waitForAll()
            return erasure
        }
        try await CalmCluster.Leaving.isErased(alice.person)
        let tokens = records.tokens.withLock { $0 }
        return Outcome(
            erased: Erased(
                erasure: erasure, traces: try DataMap.Traces(of: alice, tokens: tokens, pushToken: "push-\(alice.id)")),
            friend: bob, accepted: records.accepted.withLock { $0 })
    }

    /// Acts until the erasure is in the way. Then a refusal is right, but for one that says that the server has failed.
    private static func until(_ what: String, _ act: () async throws -> Void) async throws {
        do {
            try await act()
        } catch let refusal as Unexpected {
            #expect(refusal.frame.errorCode != "INTERNAL_ERROR", "\(what): \(refusal)")
        } catch let refusal as Phone.Refused {
            #expect(refusal.answer.status < 500, "\(what): \(refusal)")
        } catch is HTTPCall.Failed {
            // Her token was ended before.
        } catch is Missing {
            // Her connection has ended, or a frame that she did not send did not come.
        }
    }

    /// He writes, makes groups with her, removes and adds her, and rings, until he is told that she is not there.
    private static func write(to alice: Phone, from bob: Phone, _ records: Records) async throws {
        while !records.isOver.withLock({ $0 }) {
            let id = newUUID()
            let answer = try await bob.send(bob.message(to: alice.id, id: id))
            if answer.type == "message_accepted" { records.accepted.withLock { $0.append(id) } }
            guard try await Self.isThere(answer) else { return }
            let made = try await bob.ask("group_create", ["title": "A band", "memberIds": [alice.id]])
            guard try await Self.isThere(made) else { return }
            let group: Fields = ["groupId": try #require(made.payload["group"]?["groupId"]?.string)]
            for change in ["removeMembers", "addMembers"] {
                let changed = try await bob.ask("group_update", group.with([change: [alice.id]]))
                guard try await Self.isThere(changed) else { return }
            }
            let key = try await bob.upload(Keys.random(1_000))
            guard try await Self.isThere(bob.send(bob.letter(to: alice, with: key, bytes: 1_000))) else { return }
            bob.calls(alice)
        }
    }

    /// She takes each of his calls.
    private static func answer(_ alice: Phone, _ bob: Phone, _ records: Records) async throws {
        while !records.isOver.withLock({ $0 }) {
            let ringing = try await alice.client.next("call_incoming")
            alice.send("call_answer", try #require(ringing.payload["callId"]?.string), to: bob)
        }
    }

    private static func isThere(_ answer: JSONFrame) async throws -> Bool {
        guard let code = answer.errorCode else { return true }
        #expect(["NOT_FOUND", "FORBIDDEN"].contains(code), "\(answer)")
        return false
    }

    /// Logins on other connections, sessions renewed, push tokens.
    private static func logIn(_ alice: Phone, _ records: Records) async throws {
        while !records.isOver.withLock({ $0 }) {
            let again = try await alice.person.logIn(
                on: Cluster.client(gateway: 2), tokens: ["pushToken": "push-\(alice.id)"])
            records.tokens.withLock { $0.append(again.token) }
            let renewed = try await again.ask("session_refresh").expecting("session_refresh_ack")
            if let token = renewed.payload["sessionToken"]?.string { records.tokens.withLock { $0.append(token) } }
        }
    }
}

/// A person who is gone, and what could be left.
struct Erased: Sendable {
    var erasure: String
    var traces: DataMap.Traces

    /// - Returns: the erasure's id.
    static func byOperator(_ phone: Phone) async throws -> String {
        let answer = try await Operators.post(
            "/admin/erasures",
            ["whisperId": phone.id, "confirm": phone.id, "sentMail": "withdraw", "reason": "a test"])
        guard answer.status == 200, let id = answer.body["erasureId"]?.string else {
            throw Operators.Refused(answer: answer)
        }
        return id
    }

    /// Returns when each service is done, after the clock of the data was moved. Then a search finds nobody.
    static func isNowhere(_ gone: [Erased]) async throws {
        let ids = gone.map { "'\($0.erasure)'" }.joined(separator: ",")
        // The second pass comes 90 s after the decision.
        _ = try await Cluster.database(
            "UPDATE auth.erasures SET decided_at = decided_at - interval '100 seconds' WHERE erasure_id IN (\(ids))")
        try await waitUntil("all services but the ledger are done", within: .seconds(120), every: .milliseconds(500)) {
            try await Cluster.database(
                """
                SELECT count(*) FROM auth.erasures WHERE erasure_id IN (\(ids))
                    AND done @> array_remove(auth.erasure_parts(), 'ledger')
                """) == "\(gone.count)"
        }
        // These may wait for the walk of the night, or for their 72 hours.
        let slow: Set = [
            "auth.erasures.whisper_id", "router.ledger.sender", "router.ledger.recipient", "router.outcomes.recipient",
        ]
        let anybody = DataMap.Traces(joining: gone.map(\.traces))
        let strays = try await DataMap.search(anybody).subtracting(slow)
        #expect(strays.isEmpty, "\(strays.sorted())")
        let keys = try await DataMap.searchRedis(anybody)
        #expect(keys.isSubset(of: ["ratelimit", "engaged", "call", "callwake", "challenge"]), "\(keys.sorted())")
    }
}
