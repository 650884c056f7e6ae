import Contract
import Foundation
import Logging
import Synchronization
import Testing

@testable import WhisperClient

/// Two people next to each other, with a server in memory or without. No test sleeps: each waits for an event.
@Suite(.timeLimit(.minutes(20))) struct NearbyEngineTests {
    let folder: TemporaryFolder
    let server = FakeServer()
    let air = FakeAir()

    init() throws { self.folder = try TemporaryFolder() }

    /// A client whose id the server has given once.
    private func client(
        _ name: String, _ words: Mnemonic, _ prepare: (ClientStore) throws -> Void = { _ in }
    ) throws -> WhisperClient {
        let profile = try Profile.create(at: self.folder.path + "/" + name, mnemonic: words, server: .local)
        _ = self.server.enroll(IdentityKeys(words).publicKeys)
        try profile.store.settings.set(
            whisperID: words.id, session: StoredSession(token: "", expiresAt: Timestamp(milliseconds: 1)))
        try prepare(profile.store)
        return try WhisperClient(profile: profile, server: self.server, logger: Logger(label: "test"))
    }

    private func both() throws -> (alice: WhisperClient, bob: WhisperClient) {
        (try self.client("alice", aliceWords), try self.client("bob", bobWords))
    }

    private func pin(_ words: Mnemonic, at client: WhisperClient) throws {
        let keys = IdentityKeys(words).publicKeys
        let pinning = try client.store.contacts.pin(
            keys, of: words.id, name: nil, isBanned: false, at: Timestamp(milliseconds: 1))
        if case .pinned = pinning { return }
        Issue.record("not pinned")
    }

    private func wait(for events: AsyncStream<ClientEvent>, _ isIt: (ClientEvent) -> Bool) async {
        for await event in events where isIt(event) { return }
        Issue.record("the client stopped first")
    }

    private func wait(for events: AsyncStream<ClientEvent>, news isIt: (NearbyNews) -> Bool) async {
        await self.wait(for: events) { event in
            if case .passing(.nearby(let news)) = event { isIt(news) } else { false }
        }
    }

    private func settled(_ events: AsyncStream<ClientEvent>, _ id: UUIDText, _ state: MessageState) async {
        await self.wait(for: events) { event in
            if case .changed(let message) = event { message.id == id && message.state == state } else { false }
        }
    }

    private func came(_ events: AsyncStream<ClientEvent>, _ text: String) async {
        await self.wait(for: events) { event in
            if case .received(let message) = event { message.content == .text(text) } else { false }
        }
    }

    private func isKnown(_ news: NearbyNews) -> Bool { if case .known = news { true } else { false } }

    /// Both are on, connected, and know each other.
    /// - Returns: her radio.
    @discardableResult private func meet(_ alice: WhisperClient, _ bob: WhisperClient) async throws -> FakePhone {
        let (hers, his) = (await alice.events(), await bob.events())
        let radio = self.air.phone("a")
        try await alice.with { try $0.nearby.start(radio, title: "Alice", $0) }
        try await bob.with { try $0.nearby.start(self.air.phone("b"), title: "Bob", $0) }
        await self.wait(for: hers) { (news: NearbyNews) in if case .found = news { true } else { false } }
        try await alice.with { try $0.nearby.connect(NearbyPeer(name: "b")) }
        await self.wait(for: hers, news: self.isKnown)
        await self.wait(for: his, news: self.isKnown)
        return radio
    }

    private func running(_ clients: [WhisperClient], _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in clients {
                let events = await client.events()
                group.addTask { _ = await client.run() }
                await self.wait(for: events) { $0 == .connection(.online) }
            }
            do { try await body() } catch {
                for client in clients { await client.close() }
                throw error
            }
            for client in clients { await client.close() }
            try await group.waitForAll()
        }
    }

    @Test func twoWhoMeetChatWithoutAServer() async throws {
        self.server.set { $0.isAway = true }
        let (alice, bob) = try self.both()
        try await self.meet(alice, bob)
        let (hers, his) = (await alice.events(), await bob.events())
        await #expect(throws: SendError.unknownContact) { try await alice.send("x", to: bobID) }
        _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
        let sent = try await alice.send("hello", to: bobID)
        await self.wait(for: his) { event in
            if case .request(let contact) = event { contact.id == aliceWords.id && contact.isStranger } else { false }
        }
        await self.came(his, "hello")
        await self.settled(hers, sent.id, .delivered)
        // A stranger is told nothing.
        _ = try await bob.with { try $0.contacts.acceptRequest(of: aliceWords.id, $0) }
        try await bob.markRead(bob.store.messages.unread(with: aliceWords.id, limit: 9))
        await self.settled(hers, sent.id, .read)
        // Changes go the same way.
        let answer = try await bob.send("hello back", to: aliceWords.id)
        await self.came(hers, "hello back")
        await self.settled(his, answer.id, .delivered)
        _ = try await bob.change(
            MessageReference(id: answer.id, author: bobID), with: aliceWords.id, .edit("hello again"))
        await self.wait(for: hers) { event in
            if case .changed(let message) = event { message.content == .text("hello again") } else { false }
        }
        #expect(try bob.store.contacts.contact(aliceWords.id)?.isStranger == false)
        #expect(self.server.seen == [])
        // The marks are not owed to the server, too.
        #expect(try bob.store.messages.owedReceipts(limit: 9) == [])
        await alice.with { await $0.nearby.stop($0) }
        await bob.with { await $0.nearby.stop($0) }
    }

    @Test func whileTheyAreHereNothingGoesToTheServer() async throws {
        let (alice, bob) = try self.both()
        try self.pin(bobWords, at: alice)
        try await self.running([alice, bob]) {
            try await self.meet(alice, bob)
            let (hers, his) = (await alice.events(), await bob.events())
            for text in 1...20 { _ = try await alice.send("\(text)", to: bobID) }
            for text in 1...20 { await self.came(his, "\(text)") }
            let last = try alice.store.messages.messages(with: bobID, limit: 1)[0]
            await self.settled(hers, last.id, .delivered)
            _ = try await bob.with { try $0.contacts.acceptRequest(of: aliceWords.id, $0) }
            try await bob.markRead(bob.store.messages.unread(with: aliceWords.id, limit: 99))
            await self.settled(hers, last.id, .read)
            #expect(!self.server.seen.contains("send_message") && self.server.receipts == [])
            await alice.with { await $0.nearby.stop($0) }
            await bob.with { await $0.nearby.stop($0) }
        }
    }

    @Test(arguments: [FakeAir.Fate.fails, .swallowed, .arrives])
    func whatTheAirDoesNotSettleGoesByTheServerOnce(fate: FakeAir.Fate) async throws {
        let (alice, bob) = try self.both()
        try self.pin(bobWords, at: alice)
        try await self.running([alice, bob]) {
            try await self.meet(alice, bob)
            let (hers, his) = (await alice.events(), await bob.events())
            // The message is lost in one of two ways, or arrives and its receipt is lost.
            self.air.setFate { value in
                if FakeAir.isWord("message", value) { return fate }
                return FakeAir.isWord("receipt", value) ? .swallowed : .arrives
            }
            let sent = try await alice.send("once", to: bobID)
            if fate == .arrives { await self.came(his, "once") }
            if fate != .fails {
                await self.settled(hers, sent.id, .sending)
                try await bob.with { try $0.nearby.disconnect(NearbyPeer(name: "a")) }
            }
            if fate != .arrives { await self.came(his, "once") }
            await self.settled(hers, sent.id, .delivered)
            #expect(self.server.accepted == ["\(sent.id)"])
            #expect(self.server.times == [sent.time.milliseconds])
            let after = try await alice.send("after", to: bobID)
            self.air.setFate { _ in .arrives }
            await self.settled(hers, after.id, .delivered)
            #expect(
                try bob.store.messages.messages(with: aliceWords.id, limit: 9).map(\.content) == [
                    .text("once"), .text("after"),
                ])
            await alice.with { await $0.nearby.stop($0) }
            await bob.with { await $0.nearby.stop($0) }
        }
    }

    /// Nothing else happens then: the end of the pause sends it again.
    @Test func aReadMarkThatTheRadioLostIsSentAgain() async throws {
        let (alice, bob) = try self.both()
        try self.pin(bobWords, at: alice)
        try await self.meet(alice, bob)
        let (hers, his) = (await alice.events(), await bob.events())
        var sent: [Message] = []
        for text in 1...3 { sent.append(try await alice.send("\(text)", to: bobID)) }
        await self.came(his, "3")
        await self.settled(hers, sent[2].id, .delivered)
        let marks = Mutex(0)
        self.air.setFate { value in
            guard FakeAir.isWord("receipt", value) else { return .arrives }
            return marks.withLock { count in
                count += 1
                return count == 2 ? .fails : .arrives
            }
        }
        _ = try await bob.with { try $0.contacts.acceptRequest(of: aliceWords.id, $0) }
        try await bob.markRead(bob.store.messages.unread(with: aliceWords.id, limit: 9))
        await self.settled(hers, sent[1].id, .read)
        #expect(marks.withLock { $0 } == 4)
        await alice.with { await $0.nearby.stop($0) }
        await bob.with { await $0.nearby.stop($0) }
    }

    /// A relay drops a message, and forges its reader's receipt.
    @Test func aForgedReceiptSettlesNothing() async throws {
        let (alice, bob) = try self.both()
        try self.pin(bobWords, at: alice)
        let radio = try await self.meet(alice, bob)
        self.air.setFate { FakeAir.isWord("message", $0) ? .swallowed : .arrives }
        let sent = try await alice.send("hello", to: bobID)
        let hers = await alice.events()
        let receipt = NearbyReceipt(id: sent.id, from: bobID, to: aliceWords.id, .read)
        let forged = NearbyWord.bytes(of: receipt, signature: [UInt8](repeating: 1, count: 64))
        radio.tell(.received(NearbyPeer(name: "b"), .bytes(forged)))
        await self.wait(for: hers) { event in
            if case .changed(let message) = event { message.id == sent.id } else { false }
        }
        #expect(try alice.store.messages.outgoing(sent.id)?.state == .queued, "it is the server's turn")
        await alice.with { await $0.nearby.stop($0) }
        await bob.with { await $0.nearby.stop($0) }
    }

    @Test func whatComesTwiceIsStoredOnce() async throws {
        let (alice, bob) = try self.both()
        try self.pin(bobWords, at: alice)
        try await self.meet(alice, bob)
        self.air.setFate { _ in .arrivesTwice }
        let (hers, his) = (await alice.events(), await bob.events())
        _ = try await alice.send("one", to: bobID)
        let second = try await alice.send("two", to: bobID)
        await self.came(his, "one")
        await self.came(his, "two")
        await self.settled(hers, second.id, .delivered)
        #expect(try bob.store.messages.messages(with: aliceWords.id, limit: 9).count == 2)
        await alice.with { await $0.nearby.stop($0) }
        await bob.with { await $0.nearby.stop($0) }
    }

    @Test func whatWaitsForTheRadioGoesByTheServerWhenItIsOff() async throws {
        let (alice, bob) = try self.both()
        try self.pin(bobWords, at: alice)
        try await self.running([alice, bob]) {
            try await self.meet(alice, bob)
            self.air.setFate { FakeAir.isWord("message", $0) ? .swallowed : .arrives }
            let (hers, his) = (await alice.events(), await bob.events())
            let first = try await alice.send("first", to: bobID)
            let second = try await alice.send("second", to: bobID)
            await self.settled(hers, first.id, .sending)
            await alice.with { await $0.nearby.stop($0) }
            await self.came(his, "first")
            await self.came(his, "second")
            await self.settled(hers, second.id, .delivered)
            #expect(self.server.accepted == ["\(first.id)", "\(second.id)"])
            await bob.with { await $0.nearby.stop($0) }
        }
    }

    @Test func filesGoByTheServerAndTextsOvertakeThem() async throws {
        let (alice, bob) = try self.both()
        try self.pin(bobWords, at: alice)
        let path = self.folder.path + "/note"
        try Data("hello".utf8).write(to: URL(fileURLWithPath: path))
        try await self.running([alice, bob]) {
            try await self.meet(alice, bob)
            let (hers, his) = (await alice.events(), await bob.events())
            let file = try await alice.with {
                try await $0.transfers.send(file: .path(path), type: "text/plain", text: "see", in: .direct(bobID), $0)
            }
            await self.came(his, "see")
            await self.settled(hers, file.id, .delivered)
            let text = try await alice.send("seen?", to: bobID)
            await self.came(his, "seen?")
            await self.settled(hers, text.id, .delivered)
            #expect(self.server.accepted == ["\(file.id)"])
            await alice.with { await $0.nearby.stop($0) }
            await bob.with { await $0.nearby.stop($0) }
        }
    }

    /// The server may know it under its old time. The receiver would keep it apart as mail of long ago.
    @Test func whatHasWaitedForDaysIsSignedAnewForTheAir() async throws {
        let old = Message(
            id: .random(), peer: bobID, direction: .outgoing(.queued), content: .text("old"),
            time: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000) - 10 * 86_400_000))
        let alice = try self.client("alice", aliceWords) { store in
            let keys = IdentityKeys(bobWords).publicKeys
            _ = try store.contacts.pin(keys, of: bobID, name: nil, isBanned: false, at: Timestamp(milliseconds: 1))
            try store.messages.queue(old)
        }
        let bob = try self.client("bob", bobWords)
        let his = await bob.events()
        // He is told of the message as soon as they know each other.
        try await self.meet(alice, bob)
        await self.came(his, "old")
        #expect(try alice.store.changes.mail(old.id)?.signedAt == old.time)
        await alice.with { await $0.nearby.stop($0) }
        await bob.with { await $0.nearby.stop($0) }
    }

    @Test func toAndFromBlockedPeopleNothingGoes() async throws {
        let (alice, bob) = try self.both()
        try self.pin(bobWords, at: alice)
        try self.pin(aliceWords, at: bob)
        try await self.meet(alice, bob)
        let (hers, his) = (await alice.events(), await bob.events())
        func isOver(_ news: NearbyNews) -> Bool { if case .disconnected = news { true } else { false } }
        _ = try await alice.with { try $0.contacts.set(isBlocked: true, bobID, $0) }
        await self.wait(for: hers, news: isOver)
        await self.wait(for: his, news: isOver)
        let waits = try await bob.send("no", to: aliceWords.id)
        // He may connect again, and hears nothing of who she is but her first word.
        try await bob.with { try $0.nearby.connect(NearbyPeer(name: "a")) }
        await self.wait(for: his, news: isOver)
        #expect(await bob.with { $0.nearby.phones.phones.map(\.id) } == [nil])
        #expect(try bob.store.messages.outgoing(waits.id)?.state == .queued)
        #expect(try alice.store.messages.messages(with: bobID, limit: 9) == [])
        await alice.with { await $0.nearby.stop($0) }
        await bob.with { await $0.nearby.stop($0) }
    }

    @Test func otherKeysThanThePinnedOnesRaiseTheAlarm() async throws {
        let (alice, bob) = try self.both()
        let others = IdentityKeys(.random()).publicKeys
        _ = try alice.store.contacts.pin(others, of: bobID, name: nil, isBanned: false, at: Timestamp(milliseconds: 1))
        let (hers, his) = (await alice.events(), await bob.events())
        try await alice.with { try $0.nearby.start(self.air.phone("a"), title: "Alice", $0) }
        try await bob.with { try $0.nearby.start(self.air.phone("b"), title: "Bob", $0) }
        await self.wait(for: his) { (news: NearbyNews) in if case .found = news { true } else { false } }
        // A handshake may be too slow, and is begun again.
        var isAlarmed = false
        while !isAlarmed {
            try await bob.with { try $0.nearby.connect(NearbyPeer(name: "a")) }
            for await event in hers {
                isAlarmed = event == .alarm(.changedKeys(of: bobID))
                if isAlarmed { break }
                if case .passing(.nearby(.disconnected)) = event { break }
            }
            await self.wait(for: his) { (news: NearbyNews) in if case .disconnected = news { true } else { false } }
        }
        #expect(try alice.store.contacts.contact(bobID)?.keys == others)
        await alice.with { await $0.nearby.stop($0) }
        await bob.with { await $0.nearby.stop($0) }
    }

    /// Somebody who speaks our words by hand.
    private func stranger(
        _ say: (NearbyHandshake, FakePhone) async throws -> Void, words: Mnemonic, id: WhisperID,
        pinned: PublicKeys? = nil
    ) async throws -> (alice: WhisperClient, heardProof: Bool) {
        let alice = try self.client("alice", aliceWords) { store in
            guard let pinned else { return }
            _ = try store.contacts.pin(pinned, of: id, name: nil, isBanned: false, at: Timestamp(milliseconds: 1))
        }
        let hers = await alice.events()
        try await alice.with { try $0.nearby.start(self.air.phone("a"), title: "Alice", $0) }
        let mallory = self.air.phone("m")
        mallory.start(title: "Mallory")
        await self.wait(for: hers) { (news: NearbyNews) in if case .found = news { true } else { false } }
        mallory.connect(NearbyPeer(name: "a"))
        let handshake = NearbyHandshake(id: id, keys: IdentityKeys(words), nonce: Sodium.random(32))
        try await say(handshake, mallory)
        await self.wait(for: hers) { (news: NearbyNews) in if case .disconnected = news { true } else { false } }
        #expect(await alice.with { $0.nearby.phones.phones.map(\.id) } == [nil])
        await alice.with { await $0.nearby.stop($0) }
        mallory.stop()
        var heardProof = false
        for await event in mallory.events {
            if case .received(_, let value) = event, FakeAir.isWord("proof", value) { heardProof = true }
        }
        return (alice, heardProof)
    }

    @Test func keysThatAreNotTheIDsAreRefusedWithoutAnAlarm() async throws {
        let (alice, heardProof) = try await self.stranger(
            { handshake, phone in
                phone.send(.bytes(NearbyWord.bytes(of: handshake.hello)), to: NearbyPeer(name: "a"), token: 1)
            }, words: .random(), id: bobID)
        #expect(!heardProof)
        #expect(try alice.store.contacts.contact(bobID) == nil)
    }

    @Test func keysThatAreNotAContactsIDsRaiseNoAlarm() async throws {
        let (alice, heardProof) = try await self.stranger(
            { handshake, phone in
                phone.send(.bytes(NearbyWord.bytes(of: handshake.hello)), to: NearbyPeer(name: "a"), token: 1)
            }, words: .random(), id: bobID, pinned: IdentityKeys(bobWords).publicKeys)
        #expect(!heardProof)
        #expect(await alice.alarmed == [])
    }

    @Test func otherKeysWithoutTheirProofRaiseNoAlarm() async throws {
        let (alice, heardProof) = try await self.stranger(
            { handshake, phone in
                let air = NearbyPeer(name: "a")
                phone.send(.bytes(NearbyWord.bytes(of: handshake.hello)), to: air, token: 1)
                let noProof = NearbyWord.bytes(ofProof: [UInt8](repeating: 0, count: 64))
                phone.send(.bytes(noProof), to: air, token: 2)
            }, words: bobWords, id: bobID, pinned: IdentityKeys(.random()).publicKeys)
        #expect(!heardProof)
        #expect(await alice.alarmed == [])
    }

    @Test func mailBeforeTheProofIsRefused() async throws {
        let (alice, heardProof) = try await self.stranger(
            { handshake, phone in
                let sealed = try SealedMessage(
                    Array("hello".utf8), messageID: "\(UUIDText.random())", from: bobID, to: aliceWords.id,
                    reader: IdentityKeys(aliceWords).publicKeys, timestamp: Timestamp(milliseconds: 1),
                    nonce: Sodium.random(24), keys: IdentityKeys(bobWords))
                let air = NearbyPeer(name: "a")
                phone.send(.bytes(NearbyWord.bytes(of: handshake.hello)), to: air, token: 1)
                phone.send(.bytes(try NearbyWord.bytes(of: sealed, type: "text")), to: air, token: 2)
            }, words: bobWords, id: bobID)
        #expect(heardProof)
        #expect(try alice.store.contacts.contact(bobID) == nil)
    }

    /// Connects to her, and proves to be somebody.
    private func prove(_ phone: FakePhone, _ words: Mnemonic, to hers: AsyncStream<ClientEvent>) async throws {
        let there = NearbyPeer(name: "a")
        phone.connect(there)
        var handshake = NearbyHandshake(id: words.id, keys: IdentityKeys(words), nonce: Sodium.random(32))
        phone.send(.bytes(NearbyWord.bytes(of: handshake.hello)), to: there, token: 1)
        for await event in phone.events {
            guard case .received(_, let value) = event, FakeAir.isWord("hello", value), case .bytes(let bytes) = value
            else { continue }
            guard case .said = handshake.take(bytes) else { return #expect(Bool(false), "not the first word") }
            phone.send(.bytes(try #require(handshake.proof)), to: there, token: 2)
            break
        }
        await self.wait(for: hers, news: self.isKnown)
    }

    private func note(_ text: String, from words: Mnemonic, signedBy signer: Mnemonic) throws -> NearbyValue {
        let sealed = try SealedMessage(
            Array(text.utf8), messageID: "\(UUIDText.random())", from: words.id, to: aliceWords.id,
            reader: IdentityKeys(aliceWords).publicKeys,
            timestamp: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)),
            nonce: Sodium.random(24), keys: IdentityKeys(signer))
        return .bytes(try NearbyWord.bytes(of: sealed, type: "text"))
    }

    @Test func onlyWhoHasSignedBecomesAStrangerAndNotTooMany() async throws {
        let alice = try self.client("alice", aliceWords)
        let hers = await alice.events()
        try await alice.with { try $0.nearby.start(self.air.phone("a"), title: "Alice", $0) }
        for number in 0...NearbyLimits.strangersPerPeriodMax {
            let (phone, words) = (self.air.phone("p\(number)"), Mnemonic.random())
            phone.start(title: "P")
            try await self.prove(phone, words, to: hers)
            let there = NearbyPeer(name: "a")
            phone.send(try self.note("forged", from: words, signedBy: bobWords), to: there, token: 3)
            // The event of a later phone shows that Alice has processed the forged message.
            let bare = self.air.phone("bare\(number)", isBare: true)
            bare.start(title: "Bare \(number)")
            await self.wait(for: hers) { (news: NearbyNews) in
                if case .found(let phone) = news { phone.title == "Bare \(number)" } else { false }
            }
            #expect(try alice.store.contacts.contact(words.id) == nil)
            phone.send(try self.note("\(number)", from: words, signedBy: words), to: there, token: 4)
            if number < NearbyLimits.strangersPerPeriodMax { await self.came(hers, "\(number)") }
        }
        self.air.phone("last", isBare: true).start(title: "Last")
        await self.wait(for: hers) { (news: NearbyNews) in
            if case .found(let phone) = news { phone.title == "Last" } else { false }
        }
        #expect(try alice.store.contacts.contacts().count == NearbyLimits.strangersPerPeriodMax)
        await alice.with { await $0.nearby.stop($0) }
    }

    /// A phone with a proven identity speaks for no other, and messages of strangers are bounded.
    @Test func aPhoneSpeaksForItselfAndStrangersAreBounded() async throws {
        let alice = try self.client("alice", aliceWords)
        let hers = await alice.events()
        try await alice.with { try $0.nearby.start(self.air.phone("a"), title: "Alice", $0) }
        let (bob, there) = (self.air.phone("b"), NearbyPeer(name: "a"))
        bob.start(title: "Bob")
        try await self.prove(bob, bobWords, to: hers)
        func send(_ text: String, from: WhisperID = bobID, to: WhisperID = aliceWords.id) throws {
            let sealed = try SealedMessage(
                Array(text.utf8), messageID: "\(UUIDText.random())", from: from, to: to,
                reader: IdentityKeys(aliceWords).publicKeys,
                timestamp: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)),
                nonce: Sodium.random(24), keys: IdentityKeys(bobWords))
            bob.send(.bytes(try NearbyWord.bytes(of: sealed, type: "text")), to: there, token: 3)
        }
        try send("in another's name", from: carolID)
        try send("to another", to: carolID)
        for text in 1...(NearbyLimits.strangerMessagesMax + 5) { try send("\(text)") }
        await self.came(hers, "\(NearbyLimits.strangerMessagesMax)")
        // Another connection begins no other count.
        bob.disconnect(there)
        try await self.prove(bob, bobWords, to: hers)
        try send("again")
        let bare = self.air.phone("c", isBare: true)
        bare.start(title: "Carol")
        await self.wait(for: hers) { (news: NearbyNews) in
            if case .found(let phone) = news { phone.title == "Carol" } else { false }
        }
        let texts = try alice.store.messages.messages(with: bobID, limit: 99).map(\.content)
        #expect(texts == (1...NearbyLimits.strangerMessagesMax).map { .text("\($0)") })
        #expect(try alice.store.contacts.contact(carolID) == nil)
        await alice.with { await $0.nearby.stop($0) }
    }

    @Test func aBarePhoneReadsAndWritesPlainText() async throws {
        let alice = try self.client("alice", aliceWords)
        let hers = await alice.events()
        try await alice.with { try $0.nearby.start(self.air.phone("a"), title: "Alice", $0) }
        let bare = self.air.phone("bare", isBare: true)
        await #expect(throws: NearbyError.unknownPhone) {
            try await alice.with { try $0.nearby.send("x", to: bare.peer) }
        }
        bare.start(title: "Blue")
        await self.wait(for: hers) { (news: NearbyNews) in if case .found = news { true } else { false } }
        await #expect(throws: NearbyError.notConnected) {
            try await alice.with { try $0.nearby.send("x", to: bare.peer) }
        }
        try await alice.with { try $0.nearby.connect(bare.peer) }
        await self.wait(for: hers) { (news: NearbyNews) in
            if case .connected(let phone) = news { !phone.isOurs && phone.title == "Blue" } else { false }
        }
        let number = try await alice.with { try $0.nearby.send("hello", to: bare.peer) }
        await self.wait(for: hers) { (news: NearbyNews) in news == .sent(number, arrived: true) }
        bare.send(.text("hi"), to: NearbyPeer(name: "a"), token: 1)
        await self.wait(for: hers) { (news: NearbyNews) in
            if case .text(let phone, "hi") = news { phone.peer == bare.peer } else { false }
        }
        for await event in bare.events {
            if case .received(_, let value) = event {
                #expect(value == .text("hello"), "nobody tells a bare phone who we are")
                break
            }
        }
        #expect(try alice.store.contacts.contacts() == [])
        bare.stop()
        await self.wait(for: hers) { (news: NearbyNews) in if case .lost = news { true } else { false } }
        #expect(await alice.with { $0.nearby.phones.phones } == [])
        await alice.with { await $0.nearby.stop($0) }
        #expect(await alice.with { $0.nearby.phones.radio } == .off)
    }
}
