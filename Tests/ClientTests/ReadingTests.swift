import Contract
import SQLite
import Synchronization
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

/// The conversation of a message, and the messages that count as read.
extension EngineTests {
    @Test func filesAreShownAndAskedForByPath() {
        #expect(
            ChatFile.type(of: "a/b.JPG") == "image/jpeg" && ChatFile.type(of: "a.b/c") == "application/octet-stream")
        #expect(ChatFile.absolute("a", in: "/b") == "/b/a" && ChatFile.absolute("/a", in: "/b") == "/a")
        var message = Message(
            id: .random(), peer: bobID, groupID: nil, direction: .incoming(isRead: false), content: .text("the map"),
            time: Timestamp(milliseconds: 1))
        #expect(shown(message) == "the map")
        let details = FileDetails(name: "a\u{202E}gnp.exe", type: "image/png", size: 1_250_000)
        message.attachment = Attachment(details: details, state: .offered)
        #expect(shown(message).hasSuffix("1.2 MB] the map") && !shown(message).contains("\u{202E}"))
        message.content = .text("")
        message.attachment = Attachment(
            details: FileDetails(name: nil, type: "x/y", size: 999), state: .failed(.gone))
        #expect(shown(message) == "[a file, 999 B: the server has it no more]")
        message.attachment = Attachment(
            details: FileDetails(name: nil, type: "x/y", size: 999, isUnsigned: true), state: .offered)
        #expect(shown(message) == "[a file, 999 B, not signed]")
        message.content = .deleted
        #expect(shown(message) == "(this message was deleted)")
    }
}

extension CoreClientTests {
    private static func mail(_ text: String, groupID: String? = nil) -> Message {
        Message(
            id: .random(), peer: bobID, groupID: groupID, direction: .incoming(isRead: false), content: .text(text),
            time: Timestamp(milliseconds: 6))
    }

    @Test func groupMailIsNoPartOfTheChatWithItsSender() async throws {
        let group = "\(GroupIDText.prefix)\(UUIDText.random())"
        let ann = try await self.hosts.offline("ann")
        let store = try ann.core.opened().profile.store
        _ = try store.keep(Self.mail("to all", groupID: group))
        _ = try store.keep(Self.mail("to you"))
        let bob = Contact(
            id: bobID, name: "Bob", keys: IdentityKeys(bobWords).publicKeys, isBanned: false,
            addedAt: Timestamp(milliseconds: 1))
        let client = try CoreClient.of(ann.core)
        let said = Mutex<[String]>([])
        let chat = LineChat(
            core: client, partner: .person(bob), linger: .zero, lines: ReadAhead(label: "test", waitingMax: 1) { nil },
            say: { line in said.withLock { $0.append(line) } })
        _ = try await chat.run()
        client.close()
        #expect(said.withLock { $0.filter { $0.contains("to you") } }.count == 1)
        #expect(try store.messages.messages(with: bobID, limit: 9).map(\.content) == [.text("to you")])
        #expect(try store.messages.unreadCounts() == [:])
        // It waits for whoever looks at the group.
        let unread = try store.messages.unread(limit: 9)
        #expect(unread.map(\.content) == [.text("to all")])
        #expect(unread.map(\.groupID) == [group])
        #expect(try store.messages.owedReceipts(limit: 9).count == 1)
        await ann.core.close()
    }

    /// A stranger is shown as one, and learns nothing before the person here has decided.
    @Test(arguments: ["accept", "reject", "block", "answer"])
    func aStrangerLearnsNothingBeforeTheRequestIsTaken(decision: String) async throws {
        let ann = try await self.hosts.offline("ann")
        let store = try ann.core.opened().profile.store
        _ = try store.contacts.pin(
            IdentityKeys(bobWords).publicKeys, of: bobID, name: nil, isBanned: false, isStranger: true,
            at: Timestamp(milliseconds: 1))
        let mail = Self.mail("hi, it is me")
        _ = try store.keep(mail)
        let client = try CoreClient.of(ann.core)
        var lines: [String] = []
        _ = try await Inbox(core: client).show(isPeeking: false) { lines.append($0) }
        #expect(lines.first?.hasPrefix("? ") == true && lines.first?.contains("(a stranger)") == true, "\(lines)")
        for order in ["accept", "reject", "block"] {
            #expect(lines.last?.contains("`whisper \(order) \(bobID)`") == true, "\(lines)")
        }
        #expect(try store.messages.unreadCount() == 0)
        #expect(try store.messages.owedReceipts(limit: 9).isEmpty)
        // Nor by an answer to a receipt that was never sent.
        try store.messages.owesRead(mail.id)
        #expect(try store.messages.owedReceipts(limit: 9).isEmpty)
        switch decision {
        case "accept": try await client.accept(bobID)
        case "reject": try await client.reject(bobID)
        case "block": try await client.set(isBlocked: true, bobID)
        default: _ = try await client.send("who?", to: .direct(bobID))
        }
        let isTold = decision == "accept" || decision == "answer"
        #expect(try store.messages.owedReceipts(limit: 9).map(\.id) == (isTold ? [mail.id] : []))
        client.close()
        await ann.core.close()
    }

    @Test func theInboxMarksOnlyWhatItShows() async throws {
        let ann = try await self.hosts.offline("ann")
        let store = try ann.core.opened().profile.store
        let mail = (1...5).map { Self.mail("text \($0)") }
        for message in mail { _ = try store.keep(message) }
        let client = try CoreClient.of(ann.core)
        let inbox = Inbox(core: client, shownMax: 2)
        func shown(isPeeking: Bool = false) async throws -> String {
            var lines: [String] = []
            _ = try await inbox.show(isPeeking: isPeeking) { lines.append($0) }
            return lines.joined(separator: "\n")
        }
        #expect(try await shown(isPeeking: true).contains("text 1"))
        #expect(try store.messages.owedReceipts(limit: 9).isEmpty)
        let first = try await shown()
        #expect(first.contains("text 2") && !first.contains("text 3") && first.contains("3 more unread"))
        #expect(try store.messages.owedReceipts(limit: 9).map(\.id) == mail.prefix(2).map(\.id))
        #expect(try await client.owesReadMarks())
        #expect(try store.messages.unreadCount() == 3)
        #expect(try await shown().contains("text 4"))
        let last = try await shown()
        #expect(last.contains("text 5") && !last.contains("more"))
        #expect(try await shown() == "Nothing new.")
        client.close()
        await ann.core.close()
    }

    /// More than one answer holds.
    @Test func unreadMailIsListedPageByPage() async throws {
        let ann = try await self.hosts.offline("ann")
        let store = try ann.core.opened().profile.store
        let group = "\(GroupIDText.prefix)\(UUIDText.random())"
        let count = CoreLimits.listMax + 5
        for number in 1...count {
            _ = try store.keep(Self.mail("\(number)", groupID: number.isMultiple(of: 5) ? group : nil))
        }
        let client = try CoreClient.of(ann.core)
        let (all, total) = try await client.unread(limit: count + 1)
        #expect(all.map(\.message.content) == (1...count).map { .text("\($0)") } && total == count)
        #expect(all.map(\.number) == all.map(\.number).sorted())
        let direct = try await client.unread(in: .direct(bobID), limit: count).messages
        #expect(direct.count == count - count / 5 && direct.allSatisfy { $0.message.isDirect })
        let first = try await client.unread(in: .direct(bobID), limit: 3).messages
        #expect(first.map(\.message.content) == ["1", "2", "3"].map { .text($0) })
        // Messages that were not shown stay unread.
        try await client.markRead(Array(all.prefix(7)))
        #expect(try await client.unread(limit: 1).messages.first?.message.content == .text("8"))
        client.close()
        await ann.core.close()
    }
}

/// The outer fields of a message are the server's word.
extension EngineTests {
    @Test func whatWasOpenedIsKeptWhateverTheServerCallsIt() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        self.server.deliver(try self.mail("run"), msgType: "file")
        try await self.running([alice]) { await self.wait(alice, for: events) { $0 == .caughtUp } }
        let message = try #require(try alice.store.messages.messages(with: bobID, limit: 1).first)
        #expect(message.content == .other(kind: "file", body: Array("run".utf8)))
        #expect(shown(message.content) == "(file) run")
    }

    @Test(arguments: [[], [0xFF], [UInt8](repeating: 0x61, count: ClientLimits.textBytesMax + 1)])
    func whatIsNoTextIsNotShown(body: [UInt8]) {
        #expect(shown(.other(kind: "image", body: body)) == "(image; this client shows text only)")
    }
}

/// A hostile server can repeat any message that was ever signed, to a device that remembers none.
extension EngineTests {
    @Test func mailOlderThanTheServerKeepsItIsNotShownAsNew() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        self.server.set {
            $0.holdsMail = true
            $0.pageSize = 10
        }
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        let replayed = try self.mail("meet me at noon", age: ClientLimits.mailAgeMax + .seconds(1))
        let late = try self.mail("late", age: ClientLimits.mailAgeMax - .seconds(600))
        for message in [replayed, late] { self.server.deliver(message) }
        var alarms: [Alarm] = []
        try await self.running([alice]) {
            await self.wait(alice, for: events) { event in
                if case .alarm(let alarm) = event { alarms.append(alarm) }
                return event == .caughtUp
            }
        }
        let suspicion = Suspicion(sender: bobID, reason: .stale)
        #expect(alarms == [.suspiciousMail(suspicion, count: 1)])
        #expect(try alice.store.messages.messages(with: bobID, limit: 9).map(\.content) == [.text("late")])
        #expect(try alice.store.quarantineCounts() == [suspicion: 1])
        #expect(try alice.store.quarantined().count == 1)
        // Nobody here can see the other one.
        #expect(self.server.receipts == ["delivered \(late.messageID)"])
    }

    /// Until the clock is right, nothing is said of the message: its sender would take it for read soon.
    @Test func mailThatAWrongClockKeptApartComesBack() async throws {
        let clock = try await self.keptApart()
        let alice = try self.client("alice", aliceWords, wallClock: { clock.now })
        #expect(self.server.receipts.isEmpty)
        #expect(try alice.store.messages.messages(with: bobID, limit: 9).isEmpty)
        // The server has it no more: an earlier release has said that it came.
        self.server.state.withLock { $0.mail = [:] }
        let events = await alice.events()
        try await self.running([alice]) {
            await self.wait(alice, for: events) { $0 == .caughtUp }
            clock.setRight()
            await alice.learn(serverTime: .now)
            await self.wait(alice, for: events) { if case .received = $0 { true } else { false } }
        }
        try self.isTaken(alice)
    }

    @Test func mailThatAWrongClockKeptApartComesBackAtTheNextStart() async throws {
        let clock = try await self.keptApart()
        self.server.state.withLock { $0.mail = [:] }
        clock.setRight()
        let alice = try self.client("alice", aliceWords, wallClock: { clock.now })
        let events = await alice.events()
        try await self.running([alice]) {
            await self.wait(alice, for: events) { if case .received = $0 { true } else { false } }
        }
        try self.isTaken(alice)
    }

    /// Alice has a message of bob's that looks too old by her clock, which is 100 days ahead.
    private func keptApart() async throws -> TestClock {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let clock = TestClock()
        let alice = try self.client("alice", aliceWords, wallClock: { clock.now })
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
            let events = await alice.events()
            self.server.deliver(try self.mail("here I am"))
            await self.wait(alice, for: events) { event in
                if case .alarm(.suspiciousMail(_, count: 1)) = event { true } else { false }
            }
        }
        return clock
    }

    private func isTaken(_ client: WhisperClient) throws {
        #expect(try client.store.messages.messages(with: bobID, limit: 9).map(\.content) == [.text("here I am")])
        #expect(try client.store.quarantined().isEmpty)
        #expect(try client.store.quarantineCounts().isEmpty)
    }
}

/// A clock that is 100 days ahead, until it is set right.
private final class TestClock: Sendable {
    private let ahead = Mutex(Duration.seconds(100 * 86_400))

    var now: Timestamp { .now + self.ahead.withLock { $0 } }
    func setRight() { self.ahead.withLock { $0 = .zero } }
}

/// Clients of the frozen text say nothing of a file in the sealed message.
extension EngineTests {
    @Test func aFileThatNoSignatureCoversIsMarked() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let pointer = try FilePointer(
            FileDetails(name: nil, type: "image/png", size: 84), .random(), objectKey: "att/x.bin",
            reader: IdentityKeys(aliceWords).publicKeys, keys: IdentityKeys(bobWords))
        let attachment = String(decoding: FileExchange.encode(pointer), as: UTF8.self)
        let alice = try self.client("alice", aliceWords)
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
            let events = await alice.events()
            self.server.deliver(try self.mail("a picture"), msgType: "image", attachment: attachment)
            await self.wait(alice, for: events) { event in
                if case .received(let message) = event { message.attachment?.details.isUnsigned == true } else { false }
            }
        }
        let message = try #require(try alice.store.messages.messages(with: bobID, limit: 1).first)
        #expect(message.attachment?.details.isUnsigned == true && message.attachment?.state == .offered)
        var json = JSONWriter()
        Shapes.write(try #require(message.attachment), &json)
        #expect(String(decoding: json.finished(), as: UTF8.self).contains(#""isUnsigned":true"#))
    }
}

/// A commit waits for the disk.
extension EngineTests {
    @Test func aPageOfMailIsOneCommit() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        self.server.set {
            $0.holdsMail = true
            $0.pageSize = 20
        }
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        try await self.running([alice]) {
            await self.wait(alice, for: events) { $0 == .caughtUp }
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
            try await self.backedUp(alice, events)
            for number in 0..<40 { self.server.deliver(try self.mail("\(number)", verifies: number != 7)) }
            let commits = try CommitCounter(alice.store)
            self.server.breakConnections()
            await self.wait(alice, for: events) { $0 == .caughtUp }
            #expect(commits.count == 2)
        }
        #expect(try alice.store.messages.messages(with: bobID, limit: 50).count == 39)
    }

    /// One when it is written, one when the server has it.
    @Test func aMessageOfOursIsTwoCommits() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
            let events = await alice.events()
            try await self.backedUp(alice, events)
            let commits = try CommitCounter(alice.store)
            let sent = try await alice.send("hello", to: bobID)
            await self.settled(alice, events, sent.id, .sent)
            #expect(commits.count == 2)
        }
    }
}

/// How the store finds what it is asked for.
@Suite struct QueryPlanTests {
    let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    /// SQLite says so in the plan of a query that collects rows and then sorts them.
    @Test func noListOfMessagesIsSorted() throws {
        let store = try ClientStore(path: self.folder.path + "/store.sqlite")
        let trace = try StatementTrace(store)
        _ = try store.messages.messages(with: bobID, limit: 30)
        _ = try store.messages.unread(limit: 30)
        _ = try store.messages.unread(with: bobID, limit: 30)
        _ = try store.messages.unreadCounts()
        _ = try store.messages.owedReceipts(limit: 30)
        _ = try store.messages.unsettled()
        try store.database.write { database throws in
            let selects = trace.statements.filter { $0.hasPrefix("SELECT") && $0.contains("messages") }
            #expect(selects.count == 6)
            for sql in selects {
                let plan = try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql).map { $0["detail"] as String }
                #expect(plan.allSatisfy { !$0.contains("TEMP B-TREE") }, "\(sql): \(plan)")
                #expect(plan.allSatisfy { $0.contains("INDEX") }, "\(sql): \(plan)")
            }
        }
    }
}
