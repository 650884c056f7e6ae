import Contract
import Foundation
import SQLite
import Testing

@testable import WhisperClient

@Suite struct SearchTests {
    let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    private func open() throws -> ClientStore {
        let store = try ClientStore(path: self.folder.path + "/store.sqlite")
        try store.settings.set(
            whisperID: aliceWords.id, session: StoredSession(token: "t", expiresAt: Timestamp(milliseconds: 1)))
        return store
    }

    @discardableResult
    private func add(
        _ content: Message.Content, to store: ClientStore, from peer: WhisperID = bobID, groupID: String? = nil
    ) throws -> UUIDText {
        let id = UUIDText.random()
        let message = Message(
            id: id, peer: peer, groupID: groupID, direction: .incoming(isRead: false), content: content,
            time: Timestamp(milliseconds: 6))
        #expect(try store.keep(message))
        return id
    }

    private func found(_ text: String, in store: ClientStore, with peer: WhisperID? = nil) throws -> [String] {
        try store.search(text, in: peer.map { .direct($0) }, limit: 9).map { found in
            if case .text(let text) = found.message.content { text } else { "?" }
        }
    }

    /// FTS5 compares its words with the texts.
    private func check(_ store: ClientStore) throws {
        try store.write {
            try $0.execute(sql: "INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")
        }
    }

    @Test func wordsAreFoundWithoutRegardToCaseAndAccents() throws {
        let store = try self.open()
        for text in ["Träume süß, Ångström", "traume und mehr", "Tee am Sonntag", "\u{1F44D}"] {
            try self.add(.text(text), to: store)
        }
        #expect(try self.found("TRAUME", in: store) == ["traume und mehr", "Träume süß, Ångström"])
        #expect(try self.found("ängstr", in: store) == ["Träume süß, Ångström"])
        #expect(try self.found("sonn tee", in: store) == [])
        #expect(try self.found("tee sonn", in: store) == ["Tee am Sonntag"])
        #expect(try self.found("\u{1F44D}", in: store) == [])
    }

    @Test func twoCharactersWithoutSpacesFindATextThatHasThem() throws {
        let store = try self.open()
        let texts = [
            "昨天我们喝了茶", "明日東京タワーへ行きましょう！", "내일 학교에서 만나요", "我用Whisper写信。好吗？", "茶", "喝x了",
            "𠮷野家で𠮷", "Tee",
        ]
        for text in texts { try self.add(.text(text), to: store) }
        for (words, found) in [
            ("喝了", [0]), ("我们喝", [0]), ("们我", []), ("昨天我们喝了茶", [0]), ("茶", [0, 4]), ("昨", [0]),
            ("東京", [1]), ("タワーへ", [1]), ("タワ 東京", [1]), ("しょ", [1]), ("う", [1]), ("へ行東", []),
            ("교에", [2]), ("학교", [2]), ("만나 내일", [2]), ("内", []),
            ("用Whis", [3]), ("用whisper写", [3]), ("WHISPER写信", [3]), ("信好", []), ("写 whisper", [3]), ("信 我", [3]),
            ("x了", [5]), ("喝x", [5]), ("野家", [6]), ("𠮷野", [6]), ("𠮷", [6]), ("で𠮷", [6]), ("。", []), ("tee", [7]),
        ] as [(String, [Int])] {
            #expect(try self.found(words, in: store) == found.reversed().map { texts[$0] }, "\(words)")
        }
        try self.check(store)
        try store.write { try $0.execute(sql: "UPDATE messages SET body = '水' WHERE body LIKE '%茶'") }
        #expect(try self.found("茶", in: store) == [])
        try self.check(store)
    }

    /// Nothing here can make the index read behind a text.
    @Test func anyTextIsTaken() throws {
        let store = try self.open()
        var random = SystemRandomNumberGenerator()
        let scalars = "ab 茶한か𠮷é\u{1F44D}\u{3000}。\"*".unicodeScalars.map(Character.init)
        for _ in 0..<300 {
            let text = String(
                (0..<Int.random(in: 0...9, using: &random)).map { _ in scalars.randomElement(using: &random)! })
            try self.add(.text(text), to: store)
            if text.contains(where: \.isLetter),
                let word = text.split(separator: " ").first(where: { $0.contains(where: \.isLetter) })
            {
                #expect(try self.found(String(word), in: store).contains(text), "\(text)")
            }
        }
        try self.check(store)
    }

    @Test func nothingThatIsTypedIsAnOperator() throws {
        let store = try self.open()
        try self.add(.text("say \"NOT now\" OR body: NEAR(x) it's -5 * 3"), to: store)
        try self.add(.text("else"), to: store)
        for text in ["\"not", "not NOW\"", "body:", "NEAR(x)", "it's", "-5", "* 3", "\"\"", "OR else"] {
            let count = text == "\"\"" || text == "OR else" ? 0 : 1
            #expect(try self.found(text, in: store).count == count, "\(text)")
        }
        let many = Array(repeating: "say", count: 10_000).joined(separator: " ")
        #expect(try self.found(many, in: store).count == 1)
    }

    @Test func whatIsEditedOrDeletedIsNotFoundByItsOldWords() throws {
        let store = try self.open()
        let (edited, deleted) = (try self.add(.text("tea"), to: store), try self.add(.text("tea"), to: store))
        func change(_ kind: MessageChange.Kind, of id: UUIDText) throws {
            let change = MessageChange(
                target: MessageReference(id: id, author: bobID), kind: kind,
                revision: Revision(time: 1, id: .random()))
            _ = try store.messages.keep([.change(change, from: bobID, groupID: nil)], at: Timestamp(milliseconds: 1))
        }
        try change(.edit("coffee"), of: edited)
        try change(.delete, of: deleted)
        #expect(try self.found("tea", in: store) == [])
        #expect(try self.found("coffee", in: store) == ["coffee"])
        try self.check(store)
        try store.write { try $0.execute(sql: "DELETE FROM messages") }
        #expect(try self.found("coffee", in: store) == [])
        try self.check(store)
    }

    @Test func otherMailHasNoWords() throws {
        let store = try self.open()
        try self.add(.other(kind: "image", body: Array("tea".utf8)), to: store)
        try self.add(.unreadable, to: store)
        #expect(try self.found("tea", in: store) == [])
        try self.check(store)
    }

    @Test func aChatIsSearchedAloneAndAPageAfterTheOther() throws {
        let store = try self.open()
        for number in 1...5 { try self.add(.text("tea \(number)"), to: store) }
        try self.add(.text("tea of another"), to: store, from: carolID)
        try self.add(.text("tea for all"), to: store, groupID: "grp-x")
        #expect(try self.found("tea", in: store).count == 7)
        #expect(try self.found("tea", in: store, with: carolID) == ["tea of another"])
        var pages: [[Int64]] = []
        var cursor: Int64?
        repeat {
            let page = try store.search("tea", in: .direct(bobID), before: cursor, limit: 2)
            pages.append(page.map(\.number))
            cursor = page.last?.number
        } while cursor != nil
        #expect(pages == [[5, 4], [3, 2], [1], []])
    }

    /// A store of an earlier release has texts already, and none of their words.
    @Test func textsOfBeforeAreFound() throws {
        do {
            let store = try self.open()
            try store.write { database in
                for trigger in ["insert", "update", "delete"] {
                    try database.execute(sql: "DROP TRIGGER messages_fts_\(trigger)")
                }
                try database.execute(
                    sql: """
                        DROP TABLE messages_fts; DROP VIEW message_texts;
                        DELETE FROM grdb_migrations WHERE identifier IN ('search', 'words', 'word beginnings')
                        """)
            }
            try self.add(.text("long ago"), to: store)
            try self.add(.text("昨天我们喝了茶"), to: store)
            try self.add(.other(kind: "file", body: [0xFF]), to: store)
            store.close()
        }
        let store = try self.open()
        #expect(try self.found("ago", in: store) == ["long ago"])
        #expect(try self.found("喝了", in: store) == ["昨天我们喝了茶"])
        try self.check(store)
    }
}
