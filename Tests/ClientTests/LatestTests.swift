import Contract
import SQLite
import Testing

@testable import WhisperClient

@Suite struct LatestTests {
    let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private static let group = "grp-00000000-0000-4000-8000-000000000001"

    private func open() throws -> ClientStore { try ClientStore(path: self.folder.path + "/store.sqlite") }

    @discardableResult
    private func meet(_ store: ClientStore) throws -> WhisperID {
        let keys = IdentityKeys(.random()).publicKeys
        let id = keys.id(counter: 0)
        _ = try store.contacts.pin(keys, of: id, name: nil, isBanned: false, at: Timestamp(milliseconds: 1))
        return id
    }

    private func add(_ text: String, from peer: WhisperID, groupID: String? = nil, to store: ClientStore) throws {
        let message = Message(
            id: .random(), peer: peer, groupID: groupID, direction: .incoming(isRead: false), content: .text(text),
            time: Timestamp(milliseconds: 6))
        #expect(try store.keep(message))
    }

    private func listed(_ store: ClientStore) throws -> [String] {
        try store.latest(limit: 9).map { if case .text(let text) = $0.message.content { text } else { "?" } }
    }

    @Test func eachConversationIsListedByItsLatestMessage() throws {
        let store = try self.open()
        let (ann, bob) = (try self.meet(store), try self.meet(store))
        try self.add("ann 1", from: ann, to: store)
        try self.add("bob 1", from: bob, to: store)
        try self.add("all 1", from: ann, groupID: Self.group, to: store)
        #expect(try self.listed(store) == ["all 1", "bob 1", "ann 1"])
        try self.add("ann 2", from: ann, to: store)
        try self.add("all 2", from: bob, groupID: Self.group, to: store)
        #expect(try self.listed(store) == ["all 2", "ann 2", "bob 1"])
        // Nobody knows this one.
        try self.add("stranger", from: carolID, to: store)
        #expect(try self.listed(store) == ["all 2", "ann 2", "bob 1"])
    }

    @Test func whatIsClearedIsTheLatestNoMore() throws {
        let store = try self.open()
        let (ann, bob) = (try self.meet(store), try self.meet(store))
        for text in ["1", "2", "3"] {
            try self.add("ann \(text)", from: ann, to: store)
            try self.add("all \(text)", from: bob, groupID: Self.group, to: store)
        }
        // The last message goes first, here.
        let numbers = try store.latest(limit: 9).map(\.number)
        try store.write { database in
            for number in numbers {
                try database.execute(sql: "DELETE FROM messages WHERE number = ?", arguments: [number])
            }
        }
        #expect(try self.listed(store) == ["all 2", "ann 2"])
        #expect(try store.clear(.direct(ann), upTo: .max) == 2)
        #expect(try self.listed(store) == ["all 2"])
        #expect(try store.clear(.group(Self.group), upTo: .max) == 2)
        #expect(try self.listed(store) == [])
        try self.add("again", from: ann, to: store)
        #expect(try self.listed(store) == ["again"])
    }

    /// No list of chats looks into conversations that it does not show.
    @Test func aListReadsWhatItShows() throws {
        let plan = try self.open().read { database in
            try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + ClientStore.latestSQL, arguments: [Int64.max, 50])
                .map { $0["detail"] as String }
        }
        #expect(plan.first?.contains("latest_messages_order (number<?)") == true, "\(plan)")
        #expect(!plan.contains { $0.hasPrefix("SCAN") || $0.contains("TEMP B-TREE") }, "\(plan)")
    }

    /// A store of an earlier release has messages already.
    @Test func messagesOfBeforeAreListed() throws {
        do {
            let store = try self.open()
            let ann = try self.meet(store)
            try store.write { database in
                try database.execute(
                    sql: """
                        DROP TRIGGER latest_messages_insert; DROP TRIGGER latest_messages_delete;
                        DROP TABLE latest_messages;
                        DELETE FROM grdb_migrations WHERE identifier = 'latest messages'
                        """)
            }
            for text in ["ann 1", "ann 2"] { try self.add(text, from: ann, to: store) }
            try self.add("all", from: ann, groupID: Self.group, to: store)
            store.close()
        }
        #expect(try self.listed(try self.open()) == ["all", "ann 2"])
    }
}
