import LocalStack
import TestKit
import Testing

/// A cluster in which absence and pauses are short: offline after 2 s, an update about a peer every 4 s, a typing
/// notification every second.
private let hurry = [
    "PRESENCE_OFFLINE_AFTER_SECONDS": "2", "PRESENCE_PAUSE_SECONDS": "4", "TYPING_PAUSE_SECONDS": "1",
]
private let offlineAfter = Duration.seconds(2)
private let pause = Duration.seconds(4)
/// Pauses, rounds and a busy machine taken together.
private let timeout = Duration.seconds(20)

/// Contract §7 and §13: presence and typing.
@Suite(.cluster { $0.environment[.router] = hurry }, .atATime(8))
struct SociableCluster {
    @Test func peersLearnWhoGoesAndComes() async throws {
        let (alice, bob) = try await peers()
        let leftAt = ContinuousClock.now
        let leftAtMilliseconds = nowMilliseconds()
        bob.client.cut()
        let gone = try await alice.presence(of: bob, "offline")
        #expect(gone.arrivedAt - leftAt >= offlineAfter)
        // When he left, not when that was told.
        let lastSeen = try #require(gone.payload["lastSeen"]?.integer)
        #expect((leftAtMilliseconds - 100...nowMilliseconds() - 1_900).contains(lastSeen))

        let back = try await bob.returned()
        let here = try await alice.presence(of: bob, "online")
        #expect(here.payload["lastSeen"] == nil)
        // And whoever comes learns who is there.
        _ = try await back.presence(of: alice, "online")
    }

    @Test func nobodyHearsOfAQuickReturn() async throws {
        let (earlier, bob) = try await peers()
        let carol = try await Cluster.phone()
        let alice = try await earlier.befriends(carol)
        carol.client.cut()
        bob.client.cut()
        let back = try await bob.returned()
        // Hers is told; his would have been by then.
        _ = try await alice.presence(of: carol, "offline")
        // That he is there, her new connection may have been told.
        #expect(alice.client.frames("presence_update").allSatisfy { $0.payload["status"]?.string == "online" })
        back.client.cut()
    }

    @Test func aReplacedConnectionIsNoAbsence() async throws {
        let (alice, bob) = try await peers()
        let second = try await bob.returned()
        #expect(try await bob.client.end().code == 4001)
        second.client.cut()
        #expect(try await alice.client.next("presence_update", within: timeout).payload["status"]?.string == "offline")
    }

    @Test func trafficOneWayMakesNobodyPeers() async throws {
        let (alice, bob) = try await peers()
        let eve = try await Cluster.phone()
        try await eve.text(alice)
        eve.client.cut()
        bob.client.cut()
        _ = try await alice.presence(of: bob, "offline")
        #expect(alice.client.frames("presence_update").isEmpty)
    }

    /// However often somebody comes and goes.
    @Test(.long) func updatesAboutOnePeerKeepTheirPause() async throws {
        let (alice, bob) = try await peers()
        var bobNow = bob
        var updates: [JSONFrame] = []
        let start = ContinuousClock.now
        for round in 0..<2 {
            bobNow.client.cut()
            updates.append(try await alice.presence(of: bob, "offline"))
            bobNow = try await bob.returned(gateway: 1 + round % 2)
            updates.append(try await alice.presence(of: bob, "online"))
        }
        for (number, update) in updates.enumerated() {
            #expect(update.arrivedAt - start >= pause * number - .milliseconds(10))
        }
        #expect(alice.client.frames("presence_update").isEmpty)
    }

    /// One row for each direction, written once. A router that takes a partition over writes once more: three pairs have no such luck.
    @Test func aPairIsWrittenDownOnce() async throws {
        for _ in 0..<3 { if try await self.isWrittenOnce() { return } }
        #expect(Bool(false), "three pairs were written again")
    }

    private func isWrittenOnce() async throws -> Bool {
        let (alice, bob) = try await peers()
        for _ in 0..<5 { try await alice.text(bob) }
        let count = try await Cluster.database(
            """
            SELECT count(*), count(DISTINCT xmin::text) FROM router.peers
            WHERE last_sent_at = (SELECT min(l.accepted_at) FROM router.ledger l
                WHERE l.sender = identity AND l.recipient = peer)
            AND auth.whisper_id_text(identity) IN ('\(alice.id)', '\(bob.id)')
            """)
        return count.contains("2|2")
    }

    // MARK: Typing

    @Test func peersSeeEachOtherTyping() async throws {
        let (alice, bob) = try await peers()
        alice.types(to: bob)
        let seen = try await bob.client.next("typing_notification")
        #expect(seen.payload["from"]?.string == alice.id)
        #expect(seen.payload["isTyping"] == .bool(true))
        #expect(abs(try #require(seen.payload["timestamp"]?.integer) - nowMilliseconds()) < 10_000)
    }

    @Test func tooMuchTypingIsDroppedWithoutAWord() async throws {
        let (alice, bob) = try await peers()
        var seen: [JSONFrame] = []
        let start = ContinuousClock.now
        while seen.count < 3 {
            alice.types(to: bob)
            try await alice.client.settle()
            seen += bob.takeTyping(after: seen)
        }
        // A second lies between two of them where they are taken.
        #expect(seen[2].arrivedAt - start >= .milliseconds(1_990))
        #expect(alice.client.frames("error").isEmpty)
    }

    @Test func strangersDoNotSeeEachOtherTyping() async throws {
        let (alice, bob) = try await peers()
        let eve = try await Cluster.phone()
        try await eve.text(bob)
        eve.types(to: bob)
        try await eve.client.settle()
        alice.types(to: bob)
        _ = try await bob.client.next("typing_notification")
        // Hers was looked up in the same round, or an earlier one.
        try await bob.client.settle()
        #expect(bob.client.frames("typing_notification").isEmpty)
        #expect(eve.client.frames("error").isEmpty)
    }

    @Test func typingWaitsForNobody() async throws {
        let (alice, bob) = try await peers()
        bob.client.cut()
        _ = try await alice.presence(of: bob, "offline")
        alice.types(to: bob)
        // His router took the typing with the message, or before it.
        try await alice.text(bob)
        let back = try await bob.returned()
        _ = try await back.presence(of: alice, "online")
        #expect(back.client.frames("typing_notification").isEmpty)
    }

    @Test func typingToANameThatIsNoneIsInvalid() async throws {
        let alice = try await Cluster.phone()
        let answer = try await alice.ask("typing", ["to": "WSP-1", "isTyping": true])
        #expect(answer.errorCode == "INVALID_PAYLOAD")
    }
}

/// Presence after the death of the processes that know it.
@Suite(.serialized, .cluster { $0.environment[.router] = hurry })
struct ForgetfulCluster {
    /// Its successor takes everybody who is there for someone who was there.
    @Test(.long) func aRoutersDeathTellsNobodyAnything() async throws {
        var friends: [(Phone, Phone)] = []
        for _ in 0..<4 { friends.append(try await peers()) }
        let (alice, bob) = friends[0]
        // Which of the two routers owns whom, chance decides: both die, one after the other.
        for number in [1, 2] {
            try await Cluster.stack.restart(.router(number))
            for (a, b) in friends { try await a.text(b) }
        }
        bob.client.cut()
        _ = try await alice.presence(of: bob, "offline")
        for (a, b) in friends.dropFirst() {
            #expect(a.client.frames("presence_update").isEmpty)
            #expect(b.client.frames("presence_update").isEmpty)
        }
    }

    /// An upgrade stops one router after the other; what they know of those who have just gone is not forgotten.
    @Test func whoeverWentJustBeforeAnUpgradeIsOffline() async throws {
        let (alice, bob) = try await peers()
        bob.client.cut()
        for number in [1, 2] {
            await Cluster.stack.stop(.router(number))
            try await Cluster.stack.start(.router(number))
        }
        _ = try await alice.presence(of: bob, "offline")
    }

    /// Even if nobody writes to them.
    @Test func theClientsOfADeadGatewayAreOffline() async throws {
        let (alice, bob) = try await peers()
        await Cluster.stack.kill(.gateway(2))
        _ = try await alice.presence(of: bob, "offline")
        try await Cluster.stack.start(.gateway(2))
        let back = try await bob.returned()
        _ = try await alice.presence(of: bob, "online")
        back.client.cut()
    }
}

/// Two people, at one gateway each, who have written to each other and been told that the other is there.
private func peers() async throws -> (Phone, Phone) {
    let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
    let aliceNow = try await alice.befriends(bob)
    let bobNow = try await bob.returned()
    _ = try await bobNow.presence(of: alice, "online")
    return (aliceNow, bobNow)
}

extension Phone {
    /// They write to each other; on the new connection that it returns, this one has been told that the other is there.
    fileprivate func befriends(_ other: Phone) async throws -> Phone {
        try await self.text(other)
        try await other.text(self)
        let phone = try await self.returned(gateway: 1)
        _ = try await phone.presence(of: other, "online")
        return phone
    }

    /// The same session on a new connection, bound.
    fileprivate func returned(gateway: Int = 2) async throws -> Phone {
        let phone = try await Cluster.reconnected(self, gateway: gateway)
        _ = try await phone.pending()
        return phone
    }

    /// The next update about a peer, which must be this one.
    fileprivate func presence(of peer: Phone, _ status: String) async throws -> JSONFrame {
        let update = try await self.client.frame("presence_update of \(peer.id)", within: timeout) {
            $0.type == "presence_update" && $0.payload["whisperId"]?.string == peer.id
        }
        #expect(update.payload["status"]?.string == status)
        return update
    }

    fileprivate func types(to peer: Phone, _ isTyping: Bool = true) {
        self.client.send("typing", self.privileges.with(["to": peer.id, "isTyping": isTyping]))
    }

    /// Notifications that came behind those.
    fileprivate func takeTyping(after seen: [JSONFrame]) -> [JSONFrame] {
        Array(self.client.frames("typing_notification").dropFirst(seen.count))
    }
}
