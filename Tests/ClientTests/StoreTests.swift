import Contract
import Foundation
import SQLite
import Testing

@testable import WhisperClient

let bobUnverified = Suspicion(sender: bobID, reason: .unverified)

@Suite struct StoreTests {
    let folder: TemporaryFolder
    let bob = IdentityKeys(bobWords).publicKeys

    init() throws { self.folder = try TemporaryFolder() }

    private func open() throws -> ClientStore { try ClientStore(path: self.folder.path + "/store.sqlite") }

    private func outgoing(_ text: String, id: UUIDText = .random()) -> Message {
        Message(
            id: id, peer: bobID, groupID: nil, direction: .outgoing(.queued), content: .text(text),
            time: Timestamp(milliseconds: 5))
    }

    private func incoming(_ text: String, id: UUIDText = .random()) -> Message {
        Message(
            id: id, peer: bobID, groupID: nil, direction: .incoming(isRead: false), content: .text(text),
            time: Timestamp(milliseconds: 6))
    }

    /// Later commands and programs run in other folders.
    @Test func theFileOfACertificateIsKeptWithItsFolder() throws {
        let store = try self.open()
        let here = FileManager.default.currentDirectoryPath
        for (path, kept) in [("authority.pem", here + "/authority.pem"), ("/root/a.pem", "/root/a.pem"), (nil, nil)] {
            try store.settings.set(authorityFile: path)
            #expect(try store.settings.authorityFile() == kept)
        }
    }

    /// While a page of mail is written, a verb reads what was committed before.
    @Test func readsBesideATransactionDoNotWait() throws {
        let store = try self.open()
        #expect(try store.keep(self.incoming("before")))
        try store.write { database in
            try MessageTable.insert(self.incoming("meanwhile"), in: database)
            #expect(try store.besideWrites.messages.unread(limit: 10).map(\.content) == [.text("before")])
        }
        #expect(try store.besideWrites.messages.unreadCount() == 2)
    }

    /// Only what is asked again may be taken back by a power cut.
    @Test func onlyAnAcceptanceDoesNotWaitForTheDisk() throws {
        let store = try self.open()
        func level(_ database: Database) throws -> Int? { try Int.fetchOne(database, sql: "PRAGMA synchronous") }
        let (normal, full) = (1, 2)
        #expect(try store.write(waits: false, level) == normal)
        #expect(throws: ClientStoreError.self) {
            try store.write(waits: false) { _ in throw ClientStoreError.failed("by the test") }
        }
        #expect(try store.write(level) == full)
    }

    @Test func everythingSurvivesARestart() throws {
        let (waiting, underWay, done) = (self.outgoing("a"), self.outgoing("b"), self.outgoing("c"))
        let mail = self.incoming("d")
        let session = StoredSession(token: "t", expiresAt: Timestamp(milliseconds: 99))
        let device: UUIDText
        do {
            let store = try self.open()
            device = try store.settings.deviceID()
            try store.settings.set(whisperID: carolID, session: session)
            _ = try store.contacts.pin(
                self.bob, of: bobID, name: "Bob", isBanned: false, at: Timestamp(milliseconds: 1))
            for message in [waiting, underWay, done] { try store.messages.queue(message) }
            try store.messages.set(.sending, of: underWay.id, attempts: 3)
            #expect(try store.messages.advance(done.id, .accepted)?.state == .sent)
            #expect(try store.keep(mail))
            try store.messages.markRead([mail])
        }
        let store = try self.open()
        #expect(try store.settings.deviceID() == device)
        #expect(device.isVersion4)
        #expect(try store.settings.whisperID() == carolID)
        #expect(try store.settings.session() == session)
        #expect(try store.contacts.contact(bobID)?.keys == self.bob)
        #expect(
            try store.messages.unsettled() == [
                UnsettledMessage(id: waiting.id, to: bobID, attempts: 0),
                UnsettledMessage(id: underWay.id, to: bobID, attempts: 3),
            ])
        // A message under way when the process died is queued again.
        #expect(try store.messages.messages(with: bobID, limit: 10).map(\.state) == [.queued, .queued, .sent, nil])
        #expect(try !store.keep(mail))
        #expect(try store.messages.owedReceipts(limit: 10) == [OwedReceipt(id: mail.id, to: bobID)])
        #expect(try store.messages.owedReceipts(limit: 10, except: [carolID]).count == 1)
        #expect(try store.messages.owedReceipts(limit: 10, except: [carolID, bobID]).isEmpty)
        try store.messages.receiptsArrived([OwedReceipt(id: mail.id, to: bobID)])
        #expect(try store.messages.owedReceipts(limit: 10).isEmpty)
        try store.messages.owesRead(mail.id)
        #expect(try store.messages.owedReceipts(limit: 10).count == 1)
    }

    @Test func aMessageIsKeptOnceInEitherSpelling() throws {
        let store = try self.open()
        let lower = UUIDText("9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10")!
        let upper = UUIDText("9B2A1F64-0F7C-4E51-9D0C-3C7D1D2B7A10")!
        #expect(try store.keep(self.incoming("a", id: upper)))
        #expect(try !store.keep(self.incoming("a", id: lower)))
        #expect(try store.isRemembered(lower, in: "\(bobID)"))
        #expect(try !store.isRemembered(lower, in: "\(carolID)"))
        // Receipts repeat the spelling of the sender.
        #expect("\(try store.messages.messages(with: bobID, limit: 1)[0].id)" == "\(upper)")
    }

    /// The store keeps what it is given, and does not look into it.
    private func unverified(_ ciphertext: String = "c") -> [UInt8] {
        Array(#"{"messageId":"\#(UUIDText.random())","ciphertext":"\#(ciphertext)"}"#.utf8)
    }

    @Test func whatIsKeptApartIsNoMessageAndIsCountedOnce() throws {
        let store = try self.open()
        let id = UUIDText.random()
        let message = self.unverified()
        for _ in 0..<2 { try store.quarantine(message, id: id, bobUnverified) }
        #expect(try store.quarantined() == [message])
        #expect(try store.quarantineCounts() == [bobUnverified: 1])
        #expect(try store.messages.messages(with: bobID, limit: 9).isEmpty)
        #expect(try !store.isRemembered(id, in: "\(bobID)"))
    }

    @Test func whatIsKeptApartIsBoundedInNumberAndInBytes() throws {
        let store = try self.open()
        func add(_ message: [UInt8]) throws {
            try store.quarantine(message, id: .random(), bobUnverified)
        }
        let small = (0..<ClientLimits.quarantinedMax + 2).map { _ in self.unverified() }
        for message in small { try add(message) }
        #expect(try store.quarantined() == Array(small.dropFirst(2)))
        let large = (0..<9).map { _ in self.unverified(String(repeating: "c", count: 500_000)) }
        for message in large { try add(message) }
        #expect(try store.quarantined() == Array(large.dropFirst()))
        // Dropped mail stays counted.
        #expect(try store.quarantineCounts() == [bobUnverified: small.count + large.count])
        // Mail larger than the whole bound is not kept, but counted.
        try add(self.unverified(String(repeating: "c", count: ClientLimits.quarantinedBytesMax)))
        #expect(try store.quarantined().isEmpty)
    }

    @Test func ourIDsAndTheirsDoNotMix() throws {
        let store = try self.open()
        let id = UUIDText.random()
        try store.messages.queue(self.outgoing("mine", id: id))
        #expect(try store.keep(self.incoming("theirs", id: id)))
        #expect(try store.messages.advance(id, .read)?.content == .text("mine"))
        #expect(try store.messages.messages(with: bobID, limit: 10).count == 2)
    }

    @Test func pinnedKeysNeverChange() throws {
        let store = try self.open()
        let other = IdentityKeys(aliceWords).publicKeys
        let now = Timestamp(milliseconds: 1)
        guard case .pinned(let first) = try store.contacts.pin(self.bob, of: bobID, name: nil, isBanned: false, at: now)
        else {
            Issue.record("not pinned")
            return
        }
        #expect(
            try store.contacts.pin(other, of: bobID, name: "Mallory", isBanned: false, at: now) == .changedKeys(first))
        #expect(try store.contacts.contact(bobID) == first)
        guard
            case .pinned(let named) = try store.contacts.pin(self.bob, of: bobID, name: "Bob", isBanned: false, at: now)
        else {
            Issue.record("not renamed")
            return
        }
        #expect(named.name == "Bob")
        #expect(try store.contacts.pin(other, of: carolID, name: "bob", isBanned: false, at: now) == .nameTaken)
    }

    @Test func rememberedIDsAreBounded() throws {
        let store = try self.open()
        try store.database.write { database in
            for _ in 0..<ClientLimits.rememberedIDsMax {
                try database.execute(
                    sql: "INSERT INTO remembered_ids (conversation, id_key) VALUES (?, ?)",
                    arguments: ["\(bobID)", "\(UUIDText.random())"])
            }
        }
        for _ in 0..<3 { #expect(try store.keep(self.incoming("x"))) }
        let count = try store.database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM remembered_ids") }
        #expect(count == ClientLimits.rememberedIDsMax)
    }

    /// In a full conversation one more message reads one remembered id, and forgets it.
    @Test func aMessageDoesNotReadAllRememberedIDs() throws {
        let store = try self.open()
        let trace = try StatementTrace(store)
        func keep() throws -> [String] {
            trace.statements = []
            #expect(try store.keep(self.incoming("x")))
            let own = trace.statements.filter { !$0.hasPrefix("--") && !$0.hasPrefix("INSERT") }
            return own.filter { $0.contains("remembered_") }
        }
        let count = "SELECT count FROM remembered_counts WHERE conversation = '\(bobID)'"
        #expect(try keep() == [count])
        try store.database.write { database in
            for _ in 1..<ClientLimits.rememberedIDsMax {
                try database.execute(
                    sql: "INSERT INTO remembered_ids (conversation, id_key) VALUES (?, ?)",
                    arguments: ["\(bobID)", "\(UUIDText.random())"])
            }
        }
        let full = try keep()
        #expect(full.count == 2 && full.first == count)
        let forgetting = try #require(full.last)
        #expect(forgetting.hasPrefix("DELETE") && forgetting.contains("LIMIT 1)"))
        let plan = try store.database.write { database in
            try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + forgetting).map { $0["detail"] as String }
        }
        #expect(plan.allSatisfy { !$0.hasPrefix("SCAN") && !$0.contains("TEMP B-TREE") }, "\(plan)")
        #expect(plan.contains { $0.contains("remembered_ids_order") }, "\(plan)")
    }

    @Test func aProfileIsPrivateAndForOneProcess() throws {
        let folder = self.folder.path + "/profile"
        #expect(throws: ProfileError.missing) { try Profile.open(at: folder) }
        do {
            let profile = try Profile.create(at: folder, mnemonic: aliceWords, server: .local)
            #expect(profile.keys.publicKeys == IdentityKeys(aliceWords).publicKeys)
            #expect(throws: ProfileError.exists) { try Profile.create(at: folder, mnemonic: bobWords, server: .local) }
            #expect(throws: ProfileError.inUse(by: Int(getpid()))) { try Profile.open(at: folder) }
            for file in ["phrase", "whisper.sqlite"] {
                let mode = try FileManager.default.attributesOfItem(atPath: folder + "/" + file)[.posixPermissions]
                #expect(mode as? Int == 0o600)
            }
            withExtendedLifetime(profile) {}
        }
        let again = try Profile.open(at: folder)
        #expect(again.keys.publicKeys == IdentityKeys(aliceWords).publicKeys)
        #expect(try again.store.settings.server() == .local)
    }
}

@Suite struct ServerAddressTests {
    @Test(arguments: [
        ("ws://127.0.0.1:8080", "ws://127.0.0.1:8080"), ("https://chat.example/ws", "wss://chat.example"),
        ("WSS://a.b:444/x?y", "wss://a.b:444"), ("http://[::1]:8080", "ws://[::1]:8080"), ("ws://host", "ws://host"),
    ])
    func addressesAreRead(text: String, shown: String) {
        #expect(ServerAddress(text).map { "\($0)" } == shown)
    }

    @Test(arguments: ["", "host:80", "ftp://a", "ws://", "ws://a:0", "ws://a:99999", "ws://u@h", "ws://a:x"])
    func nonsenseIsRefused(text: String) {
        #expect(ServerAddress(text) == nil)
    }
}
