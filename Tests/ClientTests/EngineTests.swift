import Contract
import Foundation
import Logging
import Testing

@testable import WhisperClient

/// Two people, a server in memory, and what goes wrong in between. No test sleeps: each waits for an event.
@Suite(.timeLimit(.minutes(20))) struct EngineTests {
    let folder: TemporaryFolder
    let server = FakeServer()

    init() throws { self.folder = try TemporaryFolder() }

    /// A client, opened anew with each call; the one before must be gone.
    func client(
        _ name: String, _ words: Mnemonic, wallClock: @escaping @Sendable () -> Timestamp = { .now }
    ) throws -> WhisperClient {
        let home = self.folder.path + "/" + name
        let profile =
            Profile.exists(at: home)
            ? try Self.reopened(home) : try Profile.create(at: home, mnemonic: words, server: .local)
        return try WhisperClient(
            profile: profile, server: self.server, logger: Logger(label: "test"), wallClock: wallClock)
    }

    /// The client before is gone when its last task has ended, and a subscription's end has a task of its own.
    private static func reopened(_ home: String) throws -> Profile {
        for _ in 1..<Self.looksMax {
            do { return try Profile.open(at: home) } catch ProfileError.inUse { usleep(1_000) }
        }
        return try Profile.open(at: home)
    }

    private static let looksMax = 5_000

    /// Runs the clients while `body` talks to them.
    func running(_ clients: [WhisperClient], _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in clients { group.addTask { _ = await client.run() } }
            do { try await body() } catch {
                for client in clients { await client.close() }
                throw error
            }
            for client in clients { await client.close() }
            try await group.waitForAll()
        }
    }

    func wait(_ client: WhisperClient, for events: AsyncStream<ClientEvent>, _ isIt: (ClientEvent) -> Bool) async {
        for await event in events where isIt(event) { return }
        Issue.record("the client stopped first")
    }

    func online(_ client: WhisperClient) async {
        let events = await client.events()
        await self.wait(client, for: events) { $0 == .connection(.online) }
    }

    /// Waits until a message of ours is where it should be.
    func settled(
        _ client: WhisperClient, _ events: AsyncStream<ClientEvent>, _ id: UUIDText, _ state: MessageState
    ) async {
        await self.wait(client, for: events) { event in
            if case .changed(let message) = event { message.id == id && message.state == state } else { false }
        }
    }

    @Test func aConversationGoesFromQueuedToRead() async throws {
        let (alice, bob) = (try self.client("alice", aliceWords), try self.client("bob", bobWords))
        try await self.running([alice, bob]) {
            await self.online(alice)
            await self.online(bob)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
            let (hers, his) = (await alice.events(), await bob.events())
            let sent = try await alice.send("hello", to: bobID)
            await self.wait(bob, for: his) { event in
                guard case .received(let message) = event else { return false }
                return message.content == .text("hello") && message.id == sent.id
            }
            await self.settled(alice, hers, sent.id, .delivered)
            // A stranger is told nothing.
            _ = try await bob.with { try $0.contacts.acceptRequest(of: aliceWords.id, $0) }
            try await bob.markRead(bob.store.messages.unread(with: aliceWords.id, limit: 9))
            await self.settled(alice, hers, sent.id, .read)
        }
        #expect(try alice.store.messages.messages(with: bobID, limit: 1).first?.state == .read)
        // The stranger who wrote first is pinned.
        #expect(try bob.store.contacts.contact(aliceWords.id)?.keys == IdentityKeys(aliceWords).publicKeys)
        #expect(self.server.waiting(for: bobID) == 0)
    }

    @Test func whatIsWrittenOfflineGoesInOrderAfterARestart() async throws {
        var ids: [UUIDText] = []
        do {
            let alice = try self.client("alice", aliceWords)
            _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
            try await self.running([alice]) {
                await self.online(alice)
                _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            }
        }
        do {
            let alice = try self.client("alice", aliceWords)
            for text in 1...20 { ids.append(try await alice.send("\(text)", to: bobID).id) }
            #expect(try alice.store.messages.unsettled().count == 20)
        }
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        try await self.running([alice]) { await self.settled(alice, events, ids.last!, .sent) }
        #expect(self.server.accepted == ids.map { "\($0)" })
        // The session was kept: one login for both lives.
        #expect(self.server.logins == 1)

        let bob = try self.client("bob", bobWords)
        let his = await bob.events()
        try await self.running([bob]) {
            for text in 1...20 {
                await self.wait(bob, for: his) { event in
                    guard case .received(let message) = event else { return false }
                    #expect(message.content == .text("\(text)"))
                    return true
                }
            }
        }
        #expect(self.server.waiting(for: bobID) == 0)
    }

    @Test func aLostAcceptanceIsAskedForAgainWithTheSameID() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            self.server.set { $0.losesAcceptances = 2 }
            let events = await alice.events()
            let sent = try await alice.send("once", to: bobID)
            await self.settled(alice, events, sent.id, .sent)
            #expect(self.server.accepted == ["\(sent.id)"])
            #expect(self.server.seen.filter { $0 == "send_message" }.count == 3)
            // By this time the server finds it again, for as long as it remembers.
            #expect(self.server.times == [sent, sent, sent].map(\.time.milliseconds))
        }
    }

    @Test func whatTheServerHasNotTakenInTimeIsSignedAnew() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            self.server.set {
                $0.refusals = [("INVALID_TIMESTAMP", nil), ("INVALID_TIMESTAMP", nil), ("INTERNAL_ERROR", nil)]
                $0.losesAcceptances = 1
            }
            let events = await alice.events()
            let sent = try await alice.send("late", to: bobID)
            await self.settled(alice, events, sent.id, .sent)
            let times = self.server.times
            try #require(times.count == 5)
            #expect(times[0] == sent.time.milliseconds)
            // Between the second and the third attempt lies a pause.
            #expect(times[2] > times[0])
            #expect(times[3] == times[2] && times[4] == times[2], "the same until it is refused again")
        }
    }

    @Test func refusalsAreRepeatedOrFinal() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            self.server.set {
                $0.refusals = [("INTERNAL_ERROR", nil), ("RATE_LIMITED", 20), ("INVALID_TIMESTAMP", nil)]
            }
            let events = await alice.events()
            let patient = try await alice.send("patient", to: bobID)
            await self.settled(alice, events, patient.id, .sent)
            self.server.set { $0.refusals = [("NOT_FOUND", nil)] }
            let refused = try await alice.send("refused", to: bobID)
            await self.settled(alice, events, refused.id, .failed(.noSuchPerson))
        }
    }

    @Test func whatWasGivenUpIsSentAgainWhenAskedForInItsOrder() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            self.server.set { $0.refusals = [("FORBIDDEN", nil), ("NOT_FOUND", nil)] }
            let events = await alice.events()
            let first = try await alice.send("first", to: bobID)
            let second = try await alice.send("second", to: bobID)
            await self.settled(alice, events, first.id, .failed(.forbidden))
            await self.settled(alice, events, second.id, .failed(.noSuchPerson))
            let again = try await alice.with { try $0.outbox.retry(in: .direct(bobID), $0) }
            #expect(again.map(\.id) == [first.id, second.id])
            #expect(again.map(\.state) == [.queued, .queued])
            await self.settled(alice, events, second.id, .sent)
            #expect(self.server.accepted == ["\(first.id)", "\(second.id)"])
            #expect(try await alice.with { try $0.outbox.retry(in: .direct(bobID), $0) }.isEmpty)
        }
    }

    @Test func whatIsCancelledIsNeverSent() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        do {
            let alice = try self.client("alice", aliceWords)
            let keys = IdentityKeys(bobWords).publicKeys
            _ = try alice.store.contacts.pin(
                keys, of: bobID, name: "Bob", isBanned: false, at: Timestamp(milliseconds: 1))
            let waiting = [try await alice.send("no", to: bobID), try await alice.send("no", to: bobID)]
            #expect(
                try await alice.with { try $0.outbox.cancel(in: .direct(bobID), $0) }.map(\.id) == waiting.map(\.id))
            #expect(try await alice.with { try $0.outbox.retry(in: .direct(bobID), $0) }.isEmpty)
        }
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        try await self.running([alice]) {
            let sent = try await alice.send("yes", to: bobID)
            await self.settled(alice, events, sent.id, .sent)
            #expect(self.server.accepted == ["\(sent.id)"])
        }
        let states = try alice.store.messages.messages(with: bobID, limit: 9).map(\.state)
        #expect(states == [.failed(.cancelled), .failed(.cancelled), .sent])
    }

    @Test func aDeadSessionIsReplacedInTheMiddleOfTraffic() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            self.server.forgetSessions()
            let events = await alice.events()
            let sent = try await alice.send("still here", to: bobID)
            await self.settled(alice, events, sent.id, .sent)
            #expect(self.server.logins == 2)
        }
    }

    @Test func theServerIsAwayAndComesBack() async throws {
        self.server.set { $0.isAway = true }
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        try await self.running([alice]) {
            await self.wait(alice, for: events) { event in
                guard case .connection(.away(let why, _)) = event else { return false }
                return why == "nobody listens"
            }
            self.server.set { $0.isAway = false }
            await self.wait(alice, for: events) { $0 == .connection(.online) }
            self.server.breakConnections(code: 1001, reason: "500")
            // A wait that is over before the connection is taken apart is not told.
            await self.wait(alice, for: events) { event in
                if case .connection(.away) = event { true } else { event == .connection(.connecting) }
            }
            await self.wait(alice, for: events) { $0 == .connection(.online) }
        }
    }

    @Test func anotherDeviceEndsThisOne() async throws {
        let alice = try self.client("alice", aliceWords)
        async let end = alice.run()
        await self.online(alice)
        self.server.breakConnections(code: 4001)
        #expect(await end == .replaced)
    }

    @Test func aHostileChallengeIsNotSigned() async throws {
        self.server.set { $0.challenge = Sodium.sha256([1]) }
        let alice = try self.client("alice", aliceWords)
        #expect(await alice.run() == .foreignChallenge)
        #expect(!self.server.seen.contains("register_proof"))
    }

    @Test func falseKeysAreRefusedLoudly() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        self.server.set { $0.falseKeys = ["\(bobID)": IdentityKeys(.random()).publicKeys] }
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        try await self.running([alice]) {
            await self.online(alice)
            await #expect(throws: ContactError.foreignKeys) {
                try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            }
            await self.wait(alice, for: events) { $0 == .alarm(.foreignKeys(of: bobID)) }
            await #expect(throws: ContactError.noSuchPerson) {
                try await alice.with { try await $0.contacts.add(carolID, name: nil, $0) }
            }
        }
        #expect(try alice.store.contacts.contacts().isEmpty)
    }

    /// A message of bob's to alice, or to a group of both.
    /// - Parameters:
    ///   - age: of its signed time.
    ///   - verifies: else the signature is of another time.
    func mail(
        _ text: String, id: UUIDText = .random(), groupID: String? = nil, age: Duration = .zero, verifies: Bool = true
    ) throws -> SealedMessage {
        let bob = IdentityKeys(bobWords)
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        var mail = try SealedMessage(
            Array(text.utf8), messageID: "\(id)", from: bobID, to: aliceWords.id,
            reader: IdentityKeys(aliceWords).publicKeys,
            timestamp: now - age, nonce: Sodium.random(24), keys: bob)
        if let groupID {
            mail.groupID = groupID
            mail.signature = base64(bob.sign(mail.canonical))
        }
        if !verifies { mail.timestamp += 1 }
        return mail
    }

    /// Mail that does not verify never will. Unacknowledged it would come again with every page, and wake its recipient
    /// for days.
    @Test func mailThatDoesNotVerifyIsAcknowledgedKeptApartAndToldOnce() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        self.server.set {
            $0.holdsMail = true
            // All in one page, so that all wait for the stranger's keys together.
            $0.pageSize = 10
        }
        let alice = try self.client("alice", aliceWords)
        let refused = try (0..<5).map { try self.mail("send money \($0)", verifies: false) }
        for message in refused { self.server.deliver(message) }
        let events = await alice.events()
        var alarms: [Alarm] = []
        func hear(until isLast: (ClientEvent) -> Bool) async {
            await self.wait(alice, for: events) { event in
                if case .alarm(let alarm) = event { alarms.append(alarm) }
                return isLast(event)
            }
        }
        let truth = try self.mail("here I am")
        try await self.running([alice]) {
            await hear { $0 == .caughtUp }
            self.server.set { $0.holdsMail = false }
            self.server.deliver(truth)
            await hear { event in
                if case .received(let message) = event { "\(message.id)" == truth.messageID } else { false }
            }
        }
        #expect(alarms == [.suspiciousMail(bobUnverified, count: 5)])
        #expect(Set(self.server.receipts) == Set((refused + [truth]).map { "delivered \($0.messageID)" }))
        #expect(self.server.waiting(for: aliceWords.id) == 0)
        #expect(try alice.store.messages.messages(with: bobID, limit: 9).map(\.content) == [.text("here I am")])
        #expect(try alice.store.messages.unreadCounts() == [bobID: 1])
        let quarantined = try alice.store.quarantined().map { try MessageReceived(payload: $0).envelope }
        #expect(quarantined.map { SealedMessage($0) } == refused)
        #expect(try alice.store.quarantineCounts() == [bobUnverified: 5])
    }

    /// Else whoever can send us anything could keep a message away by taking its id.
    @Test func aRefusedMessageDoesNotKeepATrueOneWithItsIDAway() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        let id = UUIDText.random()
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            let events = await alice.events()
            self.server.deliver(try self.mail("not mine", id: id, verifies: false))
            await self.wait(alice, for: events) { $0 == .alarm(.suspiciousMail(bobUnverified, count: 1)) }
            self.server.forgetAccepted()
            self.server.deliver(try self.mail("mine", id: id))
            await self.wait(alice, for: events) { event in
                if case .received(let message) = event { message.id == id } else { false }
            }
        }
        #expect(try alice.store.messages.messages(with: bobID, limit: 9).map(\.content) == [.text("mine")])
        #expect(try alice.store.quarantineCounts() == [bobUnverified: 1])
    }

    @Test func repeatedMailIsKeptOnceAndAcknowledgedAgain() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        self.server.set { $0.holdsMail = true }
        let alice = try self.client("alice", aliceWords)
        for number in 0..<5 { self.server.deliver(try self.mail("\(number)")) }
        self.server.set { $0.losesReceipts = true }
        let events = await alice.events()
        var received: [Message.Content] = []
        func caughtUp() async {
            await self.wait(alice, for: events) { event in
                if case .received(let message) = event { received.append(message.content) }
                return event == .caughtUp
            }
        }
        try await self.running([alice]) {
            await caughtUp()
            self.server.breakConnections()
            await caughtUp()
            self.server.set { $0.losesReceipts = false }
            self.server.breakConnections()
            await caughtUp()
        }
        #expect(received == (0..<5).map { .text("\($0)") })
        #expect(self.server.receipts.count == 15)
        #expect(try alice.store.messages.messages(with: bobID, limit: 50).count == 5)
        #expect(self.server.waiting(for: aliceWords.id) == 0)
    }

    @Test func textsAreCheckedBeforeTheyAreTaken() async throws {
        let alice = try self.client("alice", aliceWords)
        await #expect(throws: SendError.empty) { try await alice.send("", to: bobID) }
        await #expect(throws: SendError.unknownContact) { try await alice.send("x", to: bobID) }
        await #expect(throws: SendError.tooLong(bytes: 8_001)) {
            try await alice.send(String(repeating: "x", count: 8_001), to: bobID)
        }
    }
}

extension Mnemonic {
    /// The id of these words where nobody else has it.
    var id: WhisperID { IdentityKeys(self).publicKeys.id(counter: 0) }
}

extension WhisperClient {
    func send(
        _ text: String, to peer: WhisperID, replyTo: MessageReference? = nil, expires: Int64? = nil
    ) throws -> Message {
        try self.outbox.send(text, to: .direct(peer), replyTo: replyTo, expires: expires, self)
    }

    func change(_ target: MessageReference, with peer: WhisperID, _ kind: MessageChange.Kind) throws -> Message {
        try self.outbox.change(target, in: .direct(peer), kind, self)
    }

    func markRead(_ messages: [Message]) throws { try self.receipts.markRead(messages, self) }
}
