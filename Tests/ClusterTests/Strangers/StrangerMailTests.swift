import ClusterContract
import Contract
import LocalStack
import TestKit
import Testing

extension StrangerCluster {
    // MARK: Limits of an identity

    /// A token of nobody comes first in each write: what waits for its owner must be counted, too.
    @Test func reconnectingGivesNobodyMoreMessages() async throws {
        let (mallory, bob) = try await Cluster.friends()
        let allowed = AllowedUses(perMinute: 120)
        for round in 0..<4 {
            let phone = try await mallory.elsewhere(gateway: 1 + round % 2)
            phone.client.send("fetch_pending", phone.privileges.with(["sessionToken": String.tokenOfNobody]))
            _ = await phone.sends(atOnce: (0..<120).map { _ in phone.message(to: bob.id) })
            phone.client.cut()
        }
        try await self.expectWaiting(for: bob, atMost: allowed)
    }

    @Test func connectionsAtTwoGatewaysAtOnceGiveNobodyMoreMessages() async throws {
        let (mallory, bob) = try await Cluster.friends()
        let allowed = AllowedUses(perMinute: 120)
        var phones: [Phone] = []
        for number in 0..<6 { phones.append(try await mallory.elsewhere(gateway: 1 + number % 2)) }
        await withDiscardingTaskGroup { group in
            for phone in phones {
                group.addTask { _ = await phone.sends(atOnce: (0..<120).map { _ in phone.message(to: bob.id) }) }
            }
        }
        try await self.expectWaiting(for: bob, atMost: allowed)
    }

    @Test func anEmptiedRedisGivesNobodyMoreMessages() async throws {
        let (mallory, bob) = try await Cluster.friends()
        let allowed = AllowedUses(perMinute: 120)
        var accepted = 0
        for round in 0..<3 {
            let phone = try await mallory.elsewhere(gateway: 1 + round % 2)
            let answers = await phone.sends(atOnce: (0..<120).map { _ in phone.message(to: bob.id) })
            accepted += answers.count(of: "message_accepted")
            phone.client.cut()
            try await Cluster.stack.flushRedis()
            // The streams' state in Redis is rebuilt; until then every sender gets INTERNAL_ERROR.
            try await waitUntil("others are served", within: .seconds(30), every: .milliseconds(200)) {
                let other = try await bob.elsewhere(gateway: 2 - round % 2)
                return try await other.send(other.message(to: mallory.id)).type == "message_accepted"
            }
            // The gateway that counted notices within a second, and writes anew what it knows. Until then another one that is new
            // to the identity has nothing to go by.
            let count = Keyspace.rateLimit(Rates.sendMessage, mallory.id)
            try await waitUntil("what was used is counted again", within: .seconds(30), every: .milliseconds(100)) {
                await Cluster.stack.redis.answer(to: "EXISTS \(count.name)\r\n", lines: 1)?.hasPrefix(":1") == true
            }
        }
        #expect(accepted > 0)
        try await self.expectWaiting(for: bob, atMost: allowed)
    }

    /// All that was accepted waits, because nobody acknowledges it.
    private func expectWaiting(for phone: Phone, atMost allowed: AllowedUses) async throws {
        // Behind everything that is still on its way to this mailbox.
        try await Cluster.stranger(gateway: 1).text(phone)
        let count = allowed.count
        let waiting = try await phone.elsewhere(gateway: 2).pending(limit: 100).count - 1
        #expect((1...count).contains(waiting), "\(waiting) accepted where \(count) are allowed")
    }

    @Test func aSessionIsRenewedTenTimesAMinute() async throws {
        let mallory = try await Cluster.stranger(gateway: 1)
        let allowed = AllowedUses(perMinute: StrangerBounds.refreshesAMinute)
        var renewed = 0
        for round in 0..<3 {
            let phone = try await mallory.elsewhere(gateway: 1 + round % 2)
            let answers = await phone.asks(atOnce: (0..<10).map { _ in ("session_refresh", [:]) })
            renewed += answers.count(of: "session_refresh_ack")
            #expect(answers.count(of: "session_refresh_ack") + answers.count(ofError: "RATE_LIMITED") == 10)
        }
        #expect((1...allowed.count).contains(renewed))
    }

    /// Three peers: one sees that typing works, one takes the minute's rest, and the third is not told.
    @Test func typingBeyondTheRateIsDropped() async throws {
        let (alice, bob) = try await Cluster.friends()
        let (carol, dave) = (try await Cluster.stranger(gateway: 1), try await Cluster.stranger(gateway: 2))
        for friend in [carol, dave] { try await alice.becomesPeer(of: friend) }
        func typing(to peer: Phone) -> String {
            TestClient.text("typing", alice.privileges.with(["to": peer.id, "isTyping": true]))
        }
        let many = Array(repeating: typing(to: bob), count: 40 + StrangerBounds.typingsAMinute)
        alice.client.send(texts: [typing(to: dave)] + many + [typing(to: carol)])
        _ = try await dave.client.next("typing_notification")
        // These messages follow the typing frame on the same way. A frame sent beside the first arrives before the
        // second.
        for _ in 0..<2 { _ = try await carol.received(try await alice.text(carol)) }
        #expect(carol.client.frames("typing_notification").isEmpty)
        #expect(alice.client.frames("error").isEmpty)
    }

    // MARK: Signatures

    /// A message is refused exactly if one recipient's libsodium refuses its signature, whatever else is in the batch.
    @Test func aMessageIsAcceptedIfLibsodiumTakesIt() async throws {
        let bob = try await Cluster.stranger(gateway: 2)
        let signer = OddSigner()
        let mallory = try await signer.logIn(on: try await Cluster.client(gateway: 1, from: FreshAddress.next()))
        var messages: [Fields] = []
        var fits: [Bool] = []
        for torsion in [nil] + Torsion.oneOfEachOrder.map({ Optional($0) }) {
            for _ in 0..<20 {
                let message = mallory.message(to: bob.id)
                let digest = Phone.digest(of: message)
                let signature = signer.sign(digest, adding: torsion)
                messages.append(message.with(["sig": signature.base64]))
                fits.append(signer.fits(signature, digest))
            }
        }
        let answers = await mallory.sends(atOnce: messages)
        let taken = answers.map { $0?.type == "message_accepted" }
        #expect(taken == fits)
        #expect(fits.count(where: \.self) == 20 && answers.count(ofError: "AUTH_FAILED") == 60)
    }

    /// Whether libsodium takes what such a key signed is a matter of chance: it is nobody's.
    @Test(arguments: Torsion.oneOfEachOrder)
    func aKeyWithAPartOfSmallOrderIsRefused(torsion: [UInt8]) async throws {
        let client = try await Cluster.client(from: FreshAddress.next())
        do {
            let phone = try await OddSigner(keyTorsion: torsion).logIn(on: client)
            Issue.record("\(phone.id) has logged in")
        } catch let unexpected as Unexpected {
            #expect(unexpected.frame.errorCode == "AUTH_FAILED")
        }
    }

    // MARK: What waits for somebody

    @Test func oneStrangerFillsNobodysMailbox() async throws {
        let (alice, friend) = try await Cluster.friends()
        let (mallory, other) = (try await Cluster.stranger(gateway: 1), try await Cluster.stranger(gateway: 2))
        let messages = (0..<StrangerBounds.messagesOfOne + 10).map { _ in mallory.message(to: alice.id) }
        let answers = await mallory.sends(atOnce: messages)
        #expect(answers.count(of: "message_accepted") == StrangerBounds.messagesOfOne)
        #expect(answers.count { $0?.isFull == true } == 10)
        // An accepted message is acknowledged again, and other senders are not affected.
        #expect(await mallory.sends(atOnce: [messages[0]]).count(of: "message_accepted") == 1)
        try await other.text(alice)
        try await friend.text(alice)
        // Acknowledged messages no longer wait.
        for message in messages.prefix(20) { alice.acknowledge(message["messageId"]!.json.string!, from: mallory.id) }
        try await waitUntil("there is room again", within: .seconds(20), every: .milliseconds(100)) {
            try await mallory.send(mallory.message(to: alice.id)).type == "message_accepted"
        }
    }

    @Test func largeMessagesOfOneStrangerAreBoundedByTheirBytes() async throws {
        let (alice, friend) = try await Cluster.friends()
        let mallory = try await Cluster.stranger(gateway: 1)
        let size = 256 * 1_024
        var accepted = 0
        for _ in 0...StrangerBounds.bytesOfOne / size {
            let answer = try await mallory.send(mallory.message(to: alice.id, bytes: size) { $0["msgType"] = "file" })
            if answer.type == "message_accepted" { accepted += 1 } else { #expect(answer.isFull, "\(answer)") }
        }
        #expect((1...StrangerBounds.bytesOfOne / size).contains(accepted))
        try await friend.send(friend.message(to: alice.id, bytes: size) { $0["msgType"] = "file" })
            .expecting("message_accepted")
    }

    @Test func allStrangersTogetherLeaveRoomForPeers() async throws {
        let (alice, friend) = try await Cluster.friends()
        let each = StrangerBounds.messagesOfOne - 10
        let crowd = try await Cluster.strangers(1 + (StrangerBounds.messagesOfAll - 1) / each)
        var accepted = 0
        for stranger in crowd {
            let messages = (0..<each).map { _ in stranger.message(to: alice.id) }
            accepted += await stranger.sends(atOnce: messages).count(of: "message_accepted")
        }
        #expect(accepted == StrangerBounds.messagesOfAll)
        let late = try await Cluster.stranger(gateway: 2)
        #expect(try await late.send(late.message(to: alice.id)).isFull)
        try await friend.text(alice)
    }

    // MARK: What else is kept

    @Test func aReporterHasTwentyOpenReports() async throws {
        let people = try await Cluster.strangers(3)
        let report: Fields = ["targetId": people[1].id, "reason": "spam"]
        let reports = Array(repeating: (type: "report", fields: report), count: StrangerBounds.openReports + 5)
        let answers = await people[0].asks(atOnce: reports)
        #expect(answers.count(of: "report_ack") == StrangerBounds.openReports)
        #expect(answers.count(ofError: "RATE_LIMITED") == 5)
        // Another's are another's.
        try await people[2].ask("report", report).expecting("report_ack")
        // A report that an operator has reviewed is no longer open.
        let ids = answers.compactMap { $0?.payload["reportId"]?.string }
        let id = try #require(ids.first)
        try await Operators.post("/admin/reports/\(id)/review", ["decision": "dismiss"]).expectSuccess()
        try await people[0].ask("report", report).expecting("report_ack")
    }

    /// Signed by its sender, and never sent: the ledger does not know it.
    @Test func evidenceThatWasNeverSentIsNotVerified() async throws {
        let (alice, bob) = try await Cluster.friends()
        let invented = bob.message(to: alice.id).with(["reactions": JSON.object([:]), "attachment": JSON.null])
        let answer = try await alice.ask("report", ["targetId": bob.id, "reason": "abuse", "evidence": invented.json])
        // Refused as forged, or taken as a report without proof.
        guard let id = answer.payload["reportId"]?.string else {
            #expect(answer.errorCode == "INVALID_PAYLOAD", "\(answer)")
            return
        }
        let reports = try await Operators.get("/admin/reports?limit=100&status=open").body["reports"]?.elements ?? []
        #expect(reports.first { $0["id"]?.string == id }?["evidenceVerified"] == .bool(false))
    }

    @Test func aBackupOfSomebodyWithoutPeersIsSmall() async throws {
        let (alice, bob) = (try await Cluster.stranger(gateway: 1), try await Cluster.stranger(gateway: 2))
        func put(_ bytes: Int) async throws -> HTTPCall.Answer {
            let backup: Fields = ["nonce": Keys.random(24).base64, "ciphertext": Keys.random(bytes).base64]
            return try await alice.http("PUT", "/backup/contacts", Person.versions.with(backup))
        }
        #expect(try await put(StrangerBounds.lonelyBackupBytes).status == 200)
        #expect(try await put(StrangerBounds.lonelyBackupBytes + 1).is(413, "INVALID_PAYLOAD"))
        try await alice.becomesPeer(of: bob)
        #expect(try await put(StrangerBounds.lonelyBackupBytes + 1).status == 200)
    }
}
