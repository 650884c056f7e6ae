import Contract
import Foundation
import Logging
import Synchronization
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Messages that disappear on both sides, with their words, events and copies in the files.
@Suite(.timeLimit(.minutes(20))) struct DisappearingTests {
    private let kit: EngineTests

    init() throws { self.kit = try EngineTests() }

    /// A clock that a test sets.
    private final class Hands: Sendable {
        private let ahead = Mutex(Duration.zero)

        var now: Timestamp { .now + self.ahead.withLock { $0 } }
        func forward(_ seconds: Int64) { self.ahead.withLock { $0 += .seconds(seconds) } }
    }

    // MARK: Bodies

    @Test func bodiesSayWhenTheyDisappear() {
        let id = UUIDText.random()
        for expires in [nil, 30, 2_419_200] as [Int64?] {
            let body = MessageBody.text("hello", .init(expires: expires))
            #expect(MessageBody(body.bytes, id: id) == (expires == nil ? nil : body))
        }
        // A time out of bounds is none: the message is shown and stays.
        for wrong in [0, 29, 2_419_201, -1] as [Int64] {
            let bytes = Array("hello\0{\"expires\":\(wrong)}".utf8)
            #expect(MessageBody(bytes, id: id) == .text("hello", .init()))
        }
        let timer = MessageBody.timer(ChatTimer(seconds: 86_400, revision: Revision(time: 7, id: id)))
        #expect(MessageBody(timer.bytes, id: id) == timer)
        #expect(MessageBody(Array("x\0{\"timer\":{\"seconds\":29,\"at\":7}}".utf8), id: id) == nil)
        // A client that does not know timers shows the sentence in front.
        #expect(
            String(decoding: timer.bytes.prefix { $0 != 0 }, as: UTF8.self) == "New messages disappear after 1 day.")
        let sentences: [Int64: String] = [0: "New messages stay.", 90: "New messages disappear after 90 seconds."]
        for (seconds, sentence) in sentences {
            #expect(ChatTimer.sentence(seconds: seconds) == sentence)
        }
    }

    @Test func aClockThatIsSetBackLengthensNothing() {
        var time = SteadyTime()
        let (start, wall) = (ContinuousClock.now, Timestamp(milliseconds: 1_000_000))
        #expect(time.now(wall, at: start) == wall)
        #expect(time.now(wall - .seconds(3_600), at: start + .seconds(60)) == wall + .seconds(60))
        #expect(time.now(wall + .seconds(90), at: start + .seconds(61)) == wall + .seconds(90))
        time.learned(wall, at: start + .seconds(62))
        #expect(time.now(wall, at: start + .seconds(63)) == wall + .seconds(1))
    }

    // MARK: Two people

    @Test func aMessageDisappearsOnBothSides() async throws {
        let (hers, his) = (Hands(), Hands())
        let alice = try self.kit.client("alice", aliceWords, wallClock: { hers.now })
        let bob = try self.kit.client("bob", bobWords, wallClock: { his.now })
        try await self.kit.running([alice, bob]) {
            await self.kit.online(alice)
            await self.kit.online(bob)
            for (client, other) in [(alice, bobID), (bob, aliceWords.id)] {
                _ = try await client.with { try await $0.contacts.add(other, name: nil, $0) }
            }
            let (herNews, hisNews) = (await alice.events(), await bob.events())
            let state = try await alice.with { try $0.disappearing.set(60, in: .direct(bobID), $0) }
            #expect(state.timer == 60)
            await self.kit.wait(bob, for: hisNews) {
                $0 == .passing(.timer(.direct(aliceWords.id), by: aliceWords.id, seconds: 60))
            }
            let sent = try await alice.send("xylophone in the cellar", to: bobID)
            #expect(sent.expires == 60)
            await self.kit.settled(alice, herNews, sent.id, .delivered)
            #expect(try alice.store.messages.outgoing(sent.id)?.expiresAt != nil)
            #expect(try bob.store.messages.messages(with: aliceWords.id, limit: 9).map(\.expires) == [60])
            #expect(Self.isInFiles("lophone", of: alice) && Self.isInFiles("xylophone", of: bob))
        }

        // Without a connection, whose server would tell the true time. A minute after it was sent it is gone here. It was not read there.
        let (herNews, hisNews) = (await alice.events(), await bob.events())
        hers.forward(61)
        his.forward(61)
        for client in [alice, bob] { await client.with { $0.disappearing.look($0) } }
        await self.kit.wait(alice, for: herNews) { Self.isExpired($0, in: .direct(bobID)) }
        #expect(try alice.store.messages.messages(with: bobID, limit: 9).isEmpty)
        #expect(try alice.store.search("xylophone", limit: 9).isEmpty)
        let unread = try bob.store.messages.unread(with: aliceWords.id, limit: 9)
        #expect(unread.count == 1)
        // A minute after it was read it is gone there.
        try await bob.markRead(unread)
        await bob.with { $0.disappearing.look($0) }
        let due = try #require(try bob.store.messages.messages(with: aliceWords.id, limit: 9).first?.expiresAt)
        #expect(due > his.now + .seconds(50))
        his.forward(61)
        await bob.with { $0.disappearing.look($0) }
        await self.kit.wait(bob, for: hisNews) { Self.isExpired($0, in: .direct(aliceWords.id)) }
        #expect(try bob.store.search("xylophone", limit: 9).isEmpty)
        try await self.erased("lophone", of: alice)
        try await self.erased("lophone", of: bob)
        // The id stays known: a repetition brings nothing back.
        #expect(try bob.store.isRemembered(unread[0].id, in: "\(aliceWords.id)"))
    }

    /// Both keep a sealed copy to show, and a copy of the store from before a migration.
    @Test func aFileDisappearsWithItsCopiesOnBothSides() async throws {
        let (hers, his) = (Hands(), Hands())
        let home = self.kit.folder.path + "/alice"
        let profile = try Profile.create(at: home, mnemonic: aliceWords, server: .local)
        let alice = try WhisperClient(
            profile: profile, server: self.kit.server, logger: Logger(label: "test"), wallClock: { hers.now })
        let bob = try self.kit.client("bob", bobWords, wallClock: { his.now })
        let clients = [alice, bob]
        let thumbnail = Array("xylophone".utf8)
        func sealed(_ client: WhisperClient) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: client.store.transferFolder)
        }
        func before(_ client: WhisperClient) -> String {
            ClientStore.copyBeforeMigration(of: StoreFiles.folder(of: client.store.transferFolder) + "/whisper.sqlite")
        }
        try await self.kit.running(clients) {
            for client in clients { await self.kit.online(client) }
            for (client, other) in [(alice, bobID), (bob, aliceWords.id)] {
                _ = try await client.with { try await $0.contacts.add(other, name: nil, $0) }
            }
            let (herNews, hisNews) = (await alice.events(), await bob.events())
            _ = try await alice.with { try $0.disappearing.set(30, in: .direct(bobID), $0) }
            let given = try await profile.files.begin(bytes: 1_000)
            try await profile.files.add(Sodium.random(1_000), to: given)
            try await profile.files.finish(given)
            let sent = try await alice.with {
                try await $0.transfers.send(
                    file: .given(given), name: "tea.jpg", type: "image/jpeg", thumbnail: thumbnail,
                    in: .direct(bobID), $0)
            }
            #expect(sent.expires == 30)
            await self.kit.settled(alice, herNews, sent.id, .delivered)
            _ = try await bob.with { try $0.transfers.fetch(of: sent.id, from: aliceWords.id, to: nil, $0) }
            await self.kit.wait(bob, for: hisNews) { event in
                if case .changed(let message) = event { message.attachment?.state == .kept } else { false }
            }
            try await bob.markRead(try bob.store.messages.unread(with: aliceWords.id, limit: 9))
            for client in clients {
                #expect(try sealed(client).count == 1 && Self.isInFiles(base64(thumbnail), of: client))
                try Data("xylophone".utf8).write(to: URL(fileURLWithPath: before(client)))
            }
        }

        hers.forward(31)
        his.forward(31)
        for (client, other) in [(alice, bobID), (bob, aliceWords.id)] {
            let news = await client.events()
            await client.with { $0.disappearing.look($0) }
            await self.kit.wait(client, for: news) { Self.isExpired($0, in: .direct(other)) }
            try await self.erased(base64(thumbnail), of: client)
            #expect(try sealed(client).isEmpty && !FileManager.default.fileExists(atPath: before(client)))
        }
    }

    @Test func whatWasDueWhileNobodyLivedDisappearsAtTheStart() async throws {
        let hands = Hands()
        do {
            let alice = try self.kit.client("alice", aliceWords, wallClock: { hands.now })
            _ = self.kit.server.enroll(IdentityKeys(bobWords).publicKeys)
            try await self.kit.running([alice]) {
                await self.kit.online(alice)
                _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
                let news = await alice.events()
                let sent = try await alice.send("xylophone", to: bobID, expires: 30)
                await self.kit.settled(alice, news, sent.id, .sent)
            }
        }
        hands.forward(31)
        // Nothing reads it any more, whether the client lives or not.
        let alice = try self.kit.client("alice", aliceWords, wallClock: { hands.now })
        #expect(try alice.store.messages.messages(with: bobID, limit: 9).isEmpty)
        await alice.with { $0.disappearing.look($0) }
        try await self.erased("lophone", of: alice)
    }

    /// A clock that is far ahead, before the server has told its time, takes nothing that nobody has read; a clock that was set back
    /// keeps nothing: the latest time of the server counts.
    @Test func aWrongClockNeitherTakesNorKeeps() async throws {
        let (hands, start) = (Hands(), Timestamp.now)
        do {
            let alice = try self.kit.client("alice", aliceWords, wallClock: { hands.now })
            _ = try alice.store.contacts.pin(
                IdentityKeys(bobWords).publicKeys, of: bobID, name: nil, isBanned: false, at: .now)
            for isRead in [false, true] {
                var message = Message(
                    id: .random(), peer: bobID, direction: .incoming(isRead: isRead), content: .text("x"), time: .now)
                message.expires = 30
                _ = try alice.store.messages.keep([.message(message)], at: hands.now)
            }
            await alice.with { $0.disappearing.look($0) }
        }
        hands.forward(31_536_000)
        do {
            let alice = try self.kit.client("alice", aliceWords, wallClock: { hands.now })
            #expect(
                try alice.store.messages.messages(with: bobID, limit: 9).map(\.direction) == [.incoming(isRead: false)])
            // By the server it is an hour later.
            await alice.with { $0.learn(serverTime: start + .seconds(3_600)) }
        }
        hands.forward(-31_536_000 - 3_600)
        let alice = try self.kit.client("alice", aliceWords, wallClock: { hands.now })
        let unread = try alice.store.messages.messages(with: bobID, limit: 9)
        try await alice.markRead(unread)
        let due = try alice.store.messages.messages(with: bobID, limit: 9).map(\.expiresAt)
        #expect(due.count == 1 && due[0].map { $0 >= start + .seconds(3_630) } == true)
    }

    /// A message that waits for the server has no clock yet, and an edit of one that is gone tells nobody its text.
    @Test func whatWaitsStaysAndChangesOfWhatIsGoneAreDropped() async throws {
        let hands = Hands()
        let alice = try self.kit.client("alice", aliceWords, wallClock: { hands.now })
        _ = self.kit.server.enroll(IdentityKeys(bobWords).publicKeys)
        var gone: UUIDText?
        try await self.kit.running([alice]) {
            await self.kit.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            let news = await alice.events()
            let sent = try await alice.send("first", to: bobID, expires: 30)
            await self.kit.settled(alice, news, sent.id, .sent)
            gone = sent.id
        }
        let target = MessageReference(id: try #require(gone), author: aliceWords.id)
        _ = try await alice.change(target, with: bobID, .edit("xylophone"))
        let waiting = try await alice.send("second", to: bobID, expires: 30)
        let news = await alice.events()
        hands.forward(31)
        await alice.with { $0.disappearing.look($0) }
        await self.kit.wait(alice, for: news) { Self.isExpired($0, in: .direct(bobID)) }
        #expect(try alice.store.messages.messages(with: bobID, limit: 9).map(\.id) == [waiting.id])
        #expect(try alice.store.messages.unsettled().map(\.id) == [waiting.id])
        try await self.erased("lophone", of: alice)
    }

    @Test func aMessageThatIsNeverReadGoesWhenItIsOld() async throws {
        let hands = Hands()
        let alice = try self.kit.client("alice", aliceWords, wallClock: { hands.now })
        _ = try alice.store.contacts.pin(
            IdentityKeys(bobWords).publicKeys, of: bobID, name: nil, isBanned: false, at: .now)
        var message = Message(
            id: .random(), peer: bobID, direction: .incoming(isRead: false), content: .text("old"), time: hands.now)
        message.expires = 30
        _ = try alice.store.messages.keep([.message(message)], at: hands.now)
        let news = await alice.events()
        let latest = message.time + ClientLimits.mailAgeMax + .seconds(30)
        #expect(try alice.store.messages.messages(with: bobID, limit: 9).first?.expiresAt == latest)
        hands.forward(ClientLimits.mailAgeMax.components.seconds + 31)
        await alice.with { $0.learn(serverTime: hands.now) }
        await self.kit.wait(alice, for: news) { Self.isExpired($0, in: .direct(bobID)) }
    }

    // MARK: Timers

    @Test func theLaterOfTwoTimersStaysInAnyOrder() throws {
        let timers = (0..<4).map { place in
            ChatTimer(seconds: 60 * Int64(place), revision: Revision(time: Int64(place / 2), id: .random()))
        }
        let latest = timers.max { $0.revision < $1.revision }
        for order in Self.orders(timers) {
            let folder = try TemporaryFolder()
            let profile = try Profile.create(at: folder.path + "/a", mnemonic: aliceWords, server: .local)
            let store = profile.store
            _ = try store.contacts.pin(
                IdentityKeys(bobWords).publicKeys, of: bobID, name: nil, isBanned: false, at: .now)
            for timer in order + order {
                _ = try store.messages.keep([.timer(timer, from: bobID, groupID: nil)], at: .now)
            }
            let kept = try store.read { try DisappearingTable.timer(of: .direct(bobID), in: $0) }
            #expect(kept == latest)
            profile.close()
        }
    }

    private static func orders(_ timers: [ChatTimer]) -> [[ChatTimer]] {
        guard !timers.isEmpty else { return [[]] }
        return timers.indices.flatMap { place in
            var rest = timers
            let first = rest.remove(at: place)
            return Self.orders(rest).map { [first] + $0 }
        }
    }

    /// One from the future would hold against all later ones, and one from the end of time could not be followed by any.
    @Test func aTimerFromTheFutureIsNotTaken() async throws {
        let (alice, bob) = (try self.kit.client("alice", aliceWords), try self.kit.client("bob", bobWords))
        try await self.kit.running([alice, bob]) {
            await self.kit.online(alice)
            await self.kit.online(bob)
            for (client, other) in [(alice, bobID), (bob, aliceWords.id)] {
                _ = try await client.with { try await $0.contacts.add(other, name: nil, $0) }
            }
            let news = await alice.events()
            let (place, id) = (Conversation.direct(aliceWords.id), UUIDText.random())
            let future = Timestamp(milliseconds: .max - 1)
            #expect(try bob.store.disappearing.queue(60, id: id, in: place, at: future) == .success(true))
            try await bob.with { try $0.outbox.queued(id, in: place, $0) }
            _ = try await bob.send("behind it", to: aliceWords.id, expires: 30)
            await self.kit.wait(alice, for: news) { event in
                if case .received(let message) = event { message.content == .text("behind it") } else { false }
            }
            #expect(try alice.store.disappearing.seconds(in: .direct(bobID)) == nil)
        }
    }

    /// Each change stands in the history, once, whoever has made it; and goes with what is cleared.
    @Test func changesOfATimerAreNotesOfTheHistory() async throws {
        let kit = try CoreTests()
        let (cores, ids, group) = try await kit.three()
        let (ann, bob) = (cores[0], cores[1])
        func send(_ text: String) async throws {
            try await kit.perform(ann, #"message_send {"to":"\#(group)","text":"\#(text)"}"#)
            _ = try await kit.next(bob, "messageReceived")
        }
        for seconds in [60, 60, 0] {
            try await kit.perform(ann, #"chat_timer {"chat":"\#(group)","seconds":\#(seconds)}"#)
            try await send("after \(seconds)")
        }
        try await kit.perform(ann, #"chat_timer {"chat":"\#(group)","seconds":3600}"#)
        _ = try await kit.next(bob, "timerChanged") { $0["seconds"]?.integer == 3_600 }
        for core in [ann, bob] {
            func page(_ parameters: String) async throws -> JSON {
                try await kit.perform(core, #"chat_get {"chat":"\#(group)"\#(parameters)}"#)
            }
            let all = try await page("")
            #expect(all["timer"]?.integer == 3_600 && all["keepers"] == nil)
            let numbers = all["messages"]?.elements.compactMap { $0["number"]?.integer } ?? []
            try #require(numbers.count == 3)
            let notes = (all["notes"]?.elements ?? []).filter { $0["kind"]?.string == "timer" }
            #expect(notes.map { $0["seconds"]?.integer } == [60, 0, 3_600])
            #expect(notes.allSatisfy { $0["from"]?.string == ids[0] })
            // Behind the message that was here before: none, the second, the last.
            let places = notes.map { $0["number"]?.integer ?? -1 }
            #expect(places[0] < numbers[0] && places[1...] == numbers[1...])
            // Pages that meet have each note once.
            let latest = try await page(#","limit":1"#)["notes"]?.elements.map { $0["seconds"]?.integer }
            let middle = try await page(#","limit":1,"before":\#(numbers[2])"#)["notes"]?.elements
            let oldest = try await page(#","limit":1,"before":\#(numbers[1])"#)["notes"]?.elements.filter {
                $0["kind"]?.string == "timer"
            }
            #expect(latest == [3_600] && middle?.map { $0["seconds"]?.integer } == [0])
            #expect(oldest?.map { $0["seconds"]?.integer } == [60])
            try await kit.perform(core, #"chat_clear {"chat":"\#(group)","upTo":\#(numbers[1])}"#)
            #expect(try await page("")["notes"]?.elements.map { $0["seconds"]?.integer } == [3_600])
        }
        await kit.close(cores)
    }

    /// Somebody who got our timer a day ago and gives their messages no time keeps ours, too. It is said once, and taken back by a
    /// message with a time.
    @Test func anAppThatDoesNotKnowTimersIsFoundOut() async throws {
        let hands = Hands()
        let alice = try self.kit.client("alice", aliceWords, wallClock: { hands.now })
        _ = try alice.store.contacts.pin(
            IdentityKeys(bobWords).publicKeys, of: bobID, name: nil, isBanned: false, at: .now)
        let place = Conversation.direct(bobID)
        func came(_ expires: Int64? = nil) throws -> [[WhisperID]] {
            var message = Message(
                id: .random(), peer: bobID, direction: .incoming(isRead: true), content: .text("x"), time: hands.now)
            message.expires = expires
            return try alice.store.messages.keep([.message(message)], at: hands.now).compactMap {
                if case .passing(.chat(let state)) = $0 { state.keepers } else { nil }
            }
        }
        let id = UUIDText.random()
        #expect(try alice.store.disappearing.queue(60, id: id, in: place, at: hands.now) == .success(true))
        // Before it was delivered, nothing is known; nor of another message's receipt, nor within the day.
        hands.forward(200_000)
        try alice.store.disappearing.got(.random(), by: bobID, at: hands.now)
        #expect(try came() == [])
        try alice.store.disappearing.got(id, by: bobID, at: hands.now)
        hands.forward(86_399)
        #expect(try came() == [])
        hands.forward(2)
        #expect(try came() == [[bobID]] && came() == [])
        #expect(try alice.store.chatState(of: place).keepers == [bobID])
        // Another timer does not make the app another one. A message with a time does.
        #expect(try alice.store.disappearing.queue(90, id: .random(), in: place, at: hands.now) == .success(true))
        #expect(try alice.store.chatState(of: place).keepers == [bobID])
        #expect(try came(90) == [[]] && came() == [])
        #expect(try alice.store.disappearing.queue(0, id: .random(), in: place, at: hands.now) == .success(true))
        hands.forward(200_000)
        #expect(try came() == [])
    }

    @Test func strangersSetNoTimer() async throws {
        let alice = try self.kit.client("alice", aliceWords)
        _ = try alice.store.contacts.pin(
            IdentityKeys(bobWords).publicKeys, of: bobID, name: nil, isBanned: false, isStranger: true, at: .now)
        let timer = ChatTimer(seconds: 60, revision: Revision(time: 1, id: .random()))
        #expect(try alice.store.messages.keep([.timer(timer, from: bobID, groupID: nil)], at: .now).isEmpty)
        #expect(try alice.store.disappearing.seconds(in: .direct(bobID)) == nil)
    }

    @Test func ofAGroupItsOwnerAndAdminsSetTheTimer() async throws {
        let kit = try CoreTests()
        let (cores, ids, group) = try await kit.three()
        #expect(try await kit.refusal(cores[2], #"chat_timer {"chat":"\#(group)","seconds":60}"#) == "forbidden")
        #expect(
            try await kit.refusal(cores[0], #"chat_timer {"chat":"\#(group)","seconds":29}"#) == "invalidField seconds")
        let state = try await kit.perform(cores[0], #"chat_timer {"chat":"\#(group)","seconds":60}"#)
        #expect(state["timer"]?.integer == 60)
        for core in cores[1...] {
            let news = try await kit.next(core, "timerChanged").event
            #expect(news["chat"]?.string == group && news["from"]?.string == ids[0] && news["seconds"]?.integer == 60)
        }
        let message = try await kit.perform(cores[1], #"message_send {"to":"\#(group)","text":"hello"}"#)["message"]
        #expect(message?["expires"]?.integer == 60)
        // A frame that a member's own client would not send is not taken either.
        let hostile = ChatTimer(seconds: 0, revision: Revision(time: .max, id: .random()))
        let store = try cores[1].opened().store
        let carol = try #require(WhisperID(ids[2]))
        #expect(try store.messages.keep([.timer(hostile, from: carol, groupID: group)], at: .now).isEmpty)
        #expect(try store.disappearing.seconds(in: .group(group)) == 60)
        await kit.close(cores)
    }

    // MARK: Files

    /// Any deletion, not only a timer's, leaves no word in the store's files, log and index included (secrecy §11.4).
    @Test(arguments: ["delete", "edit", "clear"])
    func aDeletedTextIsInNoFile(way: String) async throws {
        let alice = try self.kit.client("alice", aliceWords)
        _ = self.kit.server.enroll(IdentityKeys(bobWords).publicKeys)
        try await self.kit.running([alice]) {
            await self.kit.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: nil, $0) }
            let news = await alice.events()
            for text in ["before", "xylophone in the cellar", "after"] {
                let sent = try await alice.send(text, to: bobID)
                await self.kit.settled(alice, news, sent.id, .sent)
            }
            let messages = try alice.store.messages.messages(with: bobID, limit: 9)
            let target = MessageReference(id: messages[1].id, author: aliceWords.id)
            #expect(Self.isInFiles("lophone", of: alice))
            switch way {
            case "delete": _ = try await alice.change(target, with: bobID, .delete)
            case "edit": _ = try await alice.change(target, with: bobID, .edit("other"))
            default: _ = try await alice.with { try await $0.chats.clear(.direct(bobID), upTo: .max, $0) }
            }
            try await self.erased("lophone", of: alice)
            if way != "clear" { #expect(try alice.store.search("before", limit: 9).count == 1) }
        }
    }

    /// Waits until nothing is owed, as the client itself does it.
    private func erased(_ word: String, of client: WhisperClient) async throws {
        while try client.store.erasure.owed() != nil { try await Task.sleep(for: .milliseconds(5)) }
        #expect(!Self.isInFiles(word, of: client))
    }

    private static func isInFiles(_ word: String, of client: WhisperClient) -> Bool {
        let folder = StoreFiles.folder(of: client.store.transferFolder)
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return names.contains { name in
            let bytes = FileManager.default.contents(atPath: folder + "/" + name)
            return bytes?.range(of: Data(word.utf8)) != nil
        }
    }

    private static func isExpired(_ event: ClientEvent, in place: Conversation) -> Bool {
        if case .passing(.expired(place, let numbers)) = event { !numbers.isEmpty } else { false }
    }
}
