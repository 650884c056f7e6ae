import Contract
import GRDB
import Synchronization
import Testing

@testable import WhisperClient
@testable import WhisperTerminal

/// What belongs to which conversation, and what counts as seen.
extension EngineTests {
    private static let group = "grp-9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"

    @Test func filesAreShownAndAskedForByPath() {
        #expect(FileOrder("/file a b.png") == .send(path: "a b.png"))
        #expect(FileOrder("/save  /tmp/x ") == .save(path: "/tmp/x"))
        for line in ["/file", "/file ", "/files x", "x /file y", "/save"] { #expect(FileOrder(line) == nil, "\(line)") }
        #expect(
            FileOrder.type(of: "a/b.JPG") == "image/jpeg" && FileOrder.type(of: "a.b/c") == "application/octet-stream")
        #expect(FileOrder.absolute("a", in: "/b") == "/b/a" && FileOrder.absolute("/a", in: "/b") == "/a")
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
        message.content = .deleted
        #expect(shown(message) == "(this message was deleted)")
    }

    @Test func groupMailIsNoPartOfTheChatWithItsSender() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        self.server.deliver(try self.mail("to all", groupID: Self.group))
        self.server.deliver(try self.mail("to you"))
        try await self.running([alice]) {
            await self.wait(alice, for: events) { $0 == .caughtUp }
            let bob = try #require(try alice.store.contact(bobID))
            let said = Mutex<[String]>([])
            let chat = LineChat(
                client: alice, peer: bob, linger: .zero, lines: ReadAhead(label: "test", waitingMax: 1) { nil },
                say: { line in said.withLock { $0.append(line) } })
            _ = try await chat.run()
            #expect(said.withLock { $0.filter { $0.contains("to you") } }.count == 1)
        }
        #expect(try alice.store.messages(with: bobID, limit: 9).map(\.content) == [.text("to you")])
        #expect(try alice.store.unreadCounts() == [:])
        // It waits for whoever looks at the group.
        let unread = try alice.store.unread(limit: 9)
        #expect(unread.map(\.content) == [.text("to all")])
        #expect(unread.map(\.groupID) == [Self.group])
        #expect(self.server.receipts.filter { $0.hasPrefix("read") }.count <= 1)
    }

    @Test func theInboxMarksOnlyWhatItShows() async throws {
        let alice = try self.client("alice", aliceWords)
        let mail = (1...5).map { number in
            Message(
                id: .random(), peer: bobID, groupID: nil, direction: .incoming(isRead: false),
                content: .text("text \(number)"), time: Timestamp(milliseconds: 6))
        }
        for message in mail { _ = try alice.store.keep(message) }
        let inbox = Inbox(client: alice, store: alice.store, shownMax: 2)
        func shown(isPeeking: Bool = false) async throws -> String {
            var lines: [String] = []
            _ = try await inbox.show(isPeeking: isPeeking) { lines.append($0) }
            return lines.joined(separator: "\n")
        }
        #expect(try await shown(isPeeking: true).contains("text 1"))
        #expect(try alice.store.owedReceipts(limit: 9).isEmpty)
        let first = try await shown()
        #expect(first.contains("text 2") && !first.contains("text 3") && first.contains("3 more unread"))
        #expect(try alice.store.owedReceipts(limit: 9).map(\.id) == mail.prefix(2).map(\.id))
        #expect(try alice.store.unreadCount() == 3)
        #expect(try await shown().contains("text 4"))
        let last = try await shown()
        #expect(last.contains("text 5") && !last.contains("more"))
        #expect(try await shown() == "Nothing new.")
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
        let message = try #require(try alice.store.messages(with: bobID, limit: 1).first)
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
        #expect(try alice.store.messages(with: bobID, limit: 9).map(\.content) == [.text("late")])
        #expect(try alice.store.quarantineCounts() == [suspicion: 1])
        #expect(try alice.store.quarantined().count == 1)
        #expect(Set(self.server.receipts) == ["delivered \(replayed.messageID)", "delivered \(late.messageID)"])
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
            _ = try await alice.addContact(bobID, name: "Bob")
            try await self.backedUp(alice, events)
            for number in 0..<40 { self.server.deliver(try self.mail("\(number)", verifies: number != 7)) }
            let commits = CommitCounter(alice.store)
            self.server.breakConnections()
            await self.wait(alice, for: events) { $0 == .caughtUp }
            #expect(commits.count == 2)
        }
        #expect(try alice.store.messages(with: bobID, limit: 50).count == 39)
    }

    /// One when it is written, one when the server has it.
    @Test func aMessageOfOursIsTwoCommits() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.addContact(bobID, name: "Bob")
            let events = await alice.events()
            try await self.backedUp(alice, events)
            let commits = CommitCounter(alice.store)
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
        let queries = Mutex<[String]>([])
        try store.database.write { database in
            database.trace { event in
                guard case .statement(let statement) = event else { return }
                queries.withLock { $0.append(statement.expandedSQL) }
            }
        }
        _ = try store.messages(with: bobID, limit: 30)
        _ = try store.unread(limit: 30)
        _ = try store.unread(with: bobID, limit: 30)
        _ = try store.unreadCounts()
        _ = try store.owedReceipts(limit: 30)
        _ = try store.unsettled()
        try store.database.write { database in
            database.trace(options: [])
            let selects = queries.withLock { $0.filter { $0.hasPrefix("SELECT") && $0.contains("messages") } }
            #expect(selects.count == 6)
            for sql in selects {
                let plan = try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql).map { $0["detail"] as String }
                #expect(plan.allSatisfy { !$0.contains("TEMP B-TREE") }, "\(sql): \(plan)")
                #expect(plan.allSatisfy { $0.contains("INDEX") }, "\(sql): \(plan)")
            }
        }
    }
}
