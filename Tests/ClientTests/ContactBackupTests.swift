import Contract
import Testing

@testable import WhisperClient

/// The sealed list and what the store makes of it.
@Suite struct ContactListTests {
    let folder: TemporaryFolder
    let alice = IdentityKeys(aliceWords)
    let bob = IdentityKeys(bobWords).publicKeys
    let dave = IdentityKeys(.random()).publicKeys
    let now = Timestamp(milliseconds: 9)

    init() throws { self.folder = try TemporaryFolder() }

    private func open() throws -> ClientStore { try ClientStore(path: self.folder.path + "/store.sqlite") }

    private func entry(_ keys: PublicKeys, of id: WhisperID, name: String?, addedAt: Int64 = 7) -> ContactList.Entry {
        ContactList.Entry(
            Contact(id: id, name: name, keys: keys, isBanned: false, addedAt: Timestamp(milliseconds: addedAt)),
            over: nil)
    }

    private func list(_ entries: ContactList.Entry...) -> ContactList { ContactList(exportedAt: 1, contacts: entries) }

    // MARK: Sealed

    @Test func theListIsSealedAndOpened() throws {
        let list = self.list(self.entry(self.bob, of: bobID, name: "Bob \u{1F980} \"/\""))
        let sealed = SealedContacts(list, nonce: Sodium.random(24), keys: self.alice)
        let received = try #require(SealedContacts(body: sealed.body))
        #expect(received == sealed)
        #expect(received.open(keys: self.alice) == list)
        #expect(received.open(keys: self.alice)?.contacts.first?.keys == self.bob)
    }

    @Test func otherWordsAndChangesDoNotOpenIt() {
        var sealed = SealedContacts(self.list(), nonce: Sodium.random(24), keys: self.alice)
        #expect(sealed.open(keys: IdentityKeys(bobWords)) == nil)
        sealed.ciphertext[20] ^= 1
        #expect(sealed.open(keys: self.alice) == nil)
        sealed.ciphertext[20] ^= 1
        #expect(sealed.open(keys: self.alice) != nil)
        sealed.nonce.removeLast()
        #expect(sealed.open(keys: self.alice) == nil)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"version":1,"contacts":[]}"#, #"{"version":2,"exportedAt":1,"contacts":[]}"#,
        #"{"version":1,"exportedAt":1,"contacts":[{"whisperId":"bob","addedAt":1}]}"#,
        #"{"version":1,"exportedAt":1,"contacts":[{"addedAt":1}]}"#,
    ])
    func whatIsNoListIsRefused(json: String) {
        let nonce = Sodium.random(24)
        let ciphertext = Sodium.secretbox(Array(json.utf8), nonce: nonce, key: self.alice.contactsKey.bytes)
        #expect(SealedContacts(nonce: nonce, ciphertext: ciphertext).open(keys: self.alice) == nil)
    }

    @Test(arguments: ["", "{}", #"{"nonce":"AA==","ciphertext":"?"}"#]) func whatIsNoBodyIsRefused(body: String) {
        #expect(SealedContacts(body: Array(body.utf8)) == nil)
    }

    /// Spec §14.1 as it stands there, from a client that writes no keys, or more than we know.
    @Test func theFrozenSchemaIsRead() throws {
        let json = """
            {"version":1,"exportedAt":1730000000000,"future":{},"contacts":[{"whisperId":"\(bobID)","addedAt":1730000000000,
            "displayName":"Bob","notes":"n","isBlocked":false,"isPinned":true,"isMuted":false,"avatar":"x"}]}
            """
        let entry = try #require(ContactList(json: Array(json.utf8))?.contacts.first)
        #expect(entry.name == "Bob" && entry.notes == "n" && entry.isPinned == true)
        #expect(entry.keys == nil)
    }

    // MARK: Merged

    @Test func aBackupIsTakenInByAnEmptyStore() throws {
        let store = try self.open()
        let ownID = self.alice.publicKeys.id(counter: 0)
        let list = self.list(
            self.entry(self.bob, of: bobID, name: "Bob"), self.entry(self.alice.publicKeys, of: ownID, name: "me"))
        let added = try store.merge(list, tag: "\"1\"", ownID: ownID)
        #expect(added.map(\.id) == [bobID])
        let contact = try #require(try store.contacts.contact(bobID))
        #expect(contact.name == "Bob" && contact.keys == self.bob && contact.addedAt.milliseconds == 7)
        #expect(try store.contacts.contacts() == [contact])
        #expect(try store.settings.backupTag() == "\"1\"")
        // A contact from the backup makes no new backup pending.
        #expect(try store.settings.backupChanges() == 0)
        #expect(try store.merge(list, tag: "\"1\"", ownID: ownID).isEmpty)
    }

    @Test func foreignKeysAreNobodys() throws {
        let store = try self.open()
        let forged = self.entry(self.dave, of: bobID, name: "Bob")
        #expect(forged.keys == nil)
        #expect(try store.merge(self.list(forged), tag: "\"1\"", ownID: nil).isEmpty)
        #expect(try store.contacts.contacts().isEmpty)
        // The contact waits for keys that fit.
        #expect(try store.missingContacts() == [forged])
        _ = try store.contacts.pin(self.bob, of: bobID, name: "Bob", isBanned: false, at: self.now)
        #expect(try store.missingContacts().isEmpty)
    }

    @Test func mergingIsAUnionInWhichLocalNamesWin() throws {
        let store = try self.open()
        let (daveID, erin) = (self.dave.id(counter: 0), IdentityKeys(.random()).publicKeys)
        let erinID = erin.id(counter: 0)
        _ = try store.contacts.pin(self.bob, of: bobID, name: "Bob", isBanned: false, at: self.now)
        _ = try store.contacts.pin(self.dave, of: daveID, name: nil, isBanned: false, at: self.now)
        var robert = self.entry(self.bob, of: bobID, name: "Robert")
        robert.notes = "met in Rome"
        let backup = self.list(
            robert, self.entry(self.dave, of: daveID, name: "Dave"), self.entry(erin, of: erinID, name: "bob"))
        #expect(try store.merge(backup, tag: "\"2\"", ownID: nil).map(\.id) == [erinID])
        #expect(try store.contacts.contact(bobID)?.name == "Bob")
        #expect(try store.contacts.contact(daveID)?.name == "Dave")
        // Another contact has this name already. The keys are what counts.
        #expect(try store.contacts.contact(erinID)?.name == nil)

        let (list, changes) = try store.contactList(at: self.now)
        #expect(changes == 2)
        let names = Set(list.contacts.map { "\($0.whisperId) \($0.displayName ?? "-")" })
        #expect(names == ["\(bobID) Bob", "\(daveID) Dave", "\(erinID) bob"])
        // Fields that other clients wrote are not lost.
        #expect(list.contacts.first { $0.whisperId == "\(bobID)" }?.notes == "met in Rome")
        #expect(list.contacts.allSatisfy { $0.keys != nil })
    }

    @Test func whoHasNoKeysYetStaysInTheBackup() throws {
        let store = try self.open()
        var entry = self.entry(self.bob, of: bobID, name: "Bob")
        (entry.signPublicKey, entry.encPublicKey) = (nil, nil)
        _ = try store.merge(self.list(entry), tag: "\"1\"", ownID: nil)
        #expect(try store.missingContacts() == [entry])
        #expect(try store.contactList(at: self.now).list.contacts == [entry])
    }

    @Test func anIDIsNoName() {
        #expect(self.entry(self.bob, of: bobID, name: "wsp-aaaa-aaaa-aaaa").name == nil)
        #expect(self.entry(self.bob, of: bobID, name: "").name == nil)
    }

    // MARK: Owed

    /// Anybody can be one, and any number of them.
    @Test func strangersAreNotInTheBackupUntilTheyAreAddedOrAnswered() throws {
        let store = try self.open()
        func pin(_ keys: PublicKeys, of id: WhisperID, isStranger: Bool) throws {
            _ = try store.contacts.pin(keys, of: id, name: nil, isBanned: false, isStranger: isStranger, at: self.now)
        }
        func list() throws -> Set<String> { Set(try store.contactList(at: self.now).list.contacts.map(\.whisperId)) }
        let daveID = self.dave.id(counter: 0)
        try pin(self.bob, of: bobID, isStranger: true)
        try pin(self.dave, of: daveID, isStranger: true)
        #expect(try store.contacts.contacts().count == 2)
        #expect(try store.settings.backupChanges() == 0)
        #expect(try list() == [])
        // Added.
        try pin(self.bob, of: bobID, isStranger: false)
        #expect(try store.settings.backupChanges() == 1)
        #expect(try list() == ["\(bobID)"])
        // Answered.
        let answer = Message(
            id: .random(), peer: daveID, groupID: nil, direction: .outgoing(.queued), content: .text("hi"),
            time: self.now)
        try store.messages.queue(answer)
        #expect(try store.settings.backupChanges() == 2)
        #expect(try list() == ["\(bobID)", "\(daveID)"])
        // Nobody becomes one again.
        try pin(self.bob, of: bobID, isStranger: true)
        #expect(try store.contacts.contact(bobID)?.isStranger == false)
        #expect(try store.settings.backupChanges() == 2)
    }

    @Test func whoIsInTheBackupIsNoStranger() throws {
        let store = try self.open()
        _ = try store.contacts.pin(self.bob, of: bobID, name: nil, isBanned: false, isStranger: true, at: self.now)
        let list = self.list(self.entry(self.bob, of: bobID, name: "Bob"))
        #expect(try store.merge(list, tag: "\"1\"", ownID: nil).isEmpty)
        #expect(try store.contacts.contact(bobID)?.isStranger == false)
        #expect(try store.contacts.contact(bobID)?.name == "Bob")
    }

    @Test func whatIsOwedSurvivesARestart() throws {
        do {
            let store = try self.open()
            #expect(try store.settings.backupChanges() == 0)
            _ = try store.contacts.pin(self.bob, of: bobID, name: nil, isBanned: false, at: self.now)
            #expect(try store.settings.backupChanges() == 1)
            _ = try store.contacts.pin(self.bob, of: bobID, name: "Bob", isBanned: false, at: self.now)
            // Nothing new.
            _ = try store.contacts.pin(self.bob, of: bobID, name: "Bob", isBanned: true, at: self.now)
            _ = try store.contacts.pin(self.bob, of: bobID, name: nil, isBanned: false, at: self.now)
        }
        let store = try self.open()
        #expect(try store.settings.backupChanges() == 2)
        #expect(try store.settings.backupTag() == nil)
        // One change is made while the other two are on their way.
        let (_, changes) = try store.contactList(at: self.now)
        _ = try store.contacts.pin(self.bob, of: bobID, name: "Robert", isBanned: false, at: self.now)
        try store.settings.backedUp(changes, as: "\"1\"")
        #expect(try store.settings.backupChanges() == 3)
        try store.settings.backedUp(3, as: "\"2\"")
        let again = try self.open()
        #expect(try again.settings.backupChanges() == 0)
        #expect(try again.settings.backupTag() == "\"2\"")
        try again.settings.set(backupTag: nil)
        #expect(try again.settings.backupTag() == nil)
    }
}

/// The backup and a server in memory.
extension EngineTests {
    /// Waits until the server has what the client has, and nothing else is to be written after a login.
    func backedUp(_ client: WhisperClient, _ events: AsyncStream<ClientEvent>) async throws {
        while try client.store.groups.owesGroupList() { try await Task.sleep(for: .milliseconds(2)) }
        while try client.store.settings.backupChanges() > 0 {
            await self.wait(client, for: events) { $0 == .backup(.written) }
        }
    }

    private func list(of id: WhisperID) throws -> ContactList {
        let body = try #require(self.server.backup(of: id))
        return try #require(SealedContacts(body: body)?.open(keys: IdentityKeys(aliceWords)))
    }

    /// Alice, as another device of hers would have written her list.
    private func setBackup(_ entries: ContactList.Entry...) {
        let list = ContactList(exportedAt: 1, contacts: entries)
        let sealed = SealedContacts(list, nonce: Sodium.random(24), keys: IdentityKeys(aliceWords))
        self.server.setBackup(sealed.body, of: aliceWords.id)
    }

    private func entry(_ words: Mnemonic, name: String, hasKeys: Bool = true) -> ContactList.Entry {
        let keys = IdentityKeys(words).publicKeys
        let contact = Contact(
            id: words.id, name: name, keys: keys, isBanned: false, addedAt: Timestamp(milliseconds: 7))
        var entry = ContactList.Entry(contact, over: nil)
        if !hasKeys { (entry.signPublicKey, entry.encPublicKey) = (nil, nil) }
        return entry
    }

    @Test func theWordsBringTheContactsBack() async throws {
        // Three letters stand in ciphertext by chance.
        let name = "Bob the elder"
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let first = try self.client("first", aliceWords)
        let events = await first.events()
        try await self.running([first]) {
            await self.wait(first, for: events) { $0 == .restored(added: 0, missing: 0) }
            _ = try await first.with { try await $0.contacts.add(bobID, name: name, $0) }
            try await self.backedUp(first, events)
        }
        let written = try self.list(of: aliceWords.id)
        #expect(written.contacts.map(\.whisperId) == ["\(bobID)"])
        // Sealed: the server sees neither name nor id.
        let body = String(decoding: self.server.backup(of: aliceWords.id)!, as: UTF8.self)
        #expect(!body.contains(name) && !body.contains("\(bobID)"))

        let second = try self.client("second", aliceWords)
        let news = await second.events()
        try await self.running([second]) {
            await self.wait(second, for: news) { $0 == .restored(added: 1, missing: 0) }
        }
        #expect(try second.store.contacts.contacts() == first.store.contacts.contacts())
        #expect(self.server.backupsWritten == 1)
    }

    @Test func mailOfAStrangerOwesNothingToTheBackup() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        self.server.deliver(try self.mail("hello"))
        try await self.running([alice]) {
            await self.wait(alice, for: events) { event in
                if case .received = event { true } else { false }
            }
            #expect(try alice.store.contacts.contact(bobID)?.isStranger == true)
            #expect(try alice.store.settings.backupChanges() == 0)
            _ = try await alice.send("who are you?", to: bobID)
            try await self.backedUp(alice, events)
        }
        #expect(try self.list(of: aliceWords.id).contacts.map(\.whisperId) == ["\(bobID)"])
    }

    @Test func whatIsOwedIsWrittenInTheNextLife() async throws {
        do {
            let alice = try self.client("alice", aliceWords)
            let keys = IdentityKeys(bobWords).publicKeys
            _ = try alice.store.contacts.pin(
                keys, of: bobID, name: "Bob", isBanned: false, at: Timestamp(milliseconds: 1))
        }
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        try await self.running([alice]) { try await self.backedUp(alice, events) }
        #expect(try self.list(of: aliceWords.id).contacts.map(\.displayName) == ["Bob"])
    }

    @Test func whoeverLosesTheRaceMergesAndWritesAgain() async throws {
        let dave = Mnemonic.random()
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        try await self.running([alice]) {
            await self.wait(alice, for: events) { $0 == .restored(added: 0, missing: 0) }
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
            try await self.backedUp(alice, events)
            self.setBackup(self.entry(bobWords, name: "Robert"), self.entry(dave, name: "Dave"))
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bobby", $0) }
            try await self.backedUp(alice, events)
        }
        let names = try self.list(of: aliceWords.id).contacts.map(\.displayName)
        #expect(Set(names) == ["Bobby", "Dave"])
        #expect(Set(try alice.store.contacts.contacts().map(\.shownName)) == ["Bobby", "Dave"])
        #expect(self.server.backupsWritten == 3)
    }

    /// One device found no backup, had nothing to write and slept; the other wrote the first.
    @Test func thatThereWasNoBackupIsNotRemembered() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let dave = Mnemonic.random()
        do {
            let alice = try self.client("alice", aliceWords)
            let events = await alice.events()
            try await self.running([alice]) {
                await self.wait(alice, for: events) { $0 == .restored(added: 0, missing: 0) }
            }
        }
        self.setBackup(self.entry(dave, name: "Dave"))
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
            try await self.backedUp(alice, events)
        }
        #expect(Set(try self.list(of: aliceWords.id).contacts.map(\.displayName)) == ["Bob", "Dave"])
    }

    @Test func aLostAnswerAndALostBackupAreHealed() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        self.server.set { $0.losesBackupAnswers = 1 }
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
            try await self.backedUp(alice, events)
            self.server.setBackup(nil, of: aliceWords.id)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bobby", $0) }
            try await self.backedUp(alice, events)
        }
        #expect(try self.list(of: aliceWords.id).contacts.map(\.displayName) == ["Bobby"])
    }

    @Test func keysThatTheBackupLacksAreAskedForAndChecked() async throws {
        let (dave, erin) = (Mnemonic.random(), Mnemonic.random())
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        _ = self.server.enroll(IdentityKeys(dave).publicKeys)
        self.server.set { $0.falseKeys = ["\(dave.id)": IdentityKeys(.random()).publicKeys] }
        self.setBackup(
            self.entry(bobWords, name: "Bob", hasKeys: false), self.entry(dave, name: "Dave", hasKeys: false),
            self.entry(erin, name: "Erin", hasKeys: false))
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        try await self.running([alice]) {
            await self.wait(alice, for: events) { $0 == .restored(added: 1, missing: 2) }
            try await self.backedUp(alice, events)
        }
        #expect(try alice.store.contacts.contacts().map(\.shownName) == ["Bob"])
        // Nobody is lost for having no keys today.
        #expect(Set(try self.list(of: aliceWords.id).contacts.map(\.displayName)) == ["Bob", "Dave", "Erin"])
    }

    @Test func aBackupThatCannotBeReadIsReportedAndLeftAlone() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let foreign = SealedContacts(
            ContactList(exportedAt: 1, contacts: []), nonce: Sodium.random(24), keys: IdentityKeys(bobWords))
        self.server.setBackup(foreign.body, of: aliceWords.id)
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        try await self.running([alice]) {
            await self.wait(alice, for: events) { $0 == .backup(.unreadable) }
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
        }
        #expect(self.server.backup(of: aliceWords.id) == foreign.body)
        #expect(try alice.store.settings.backupChanges() == 1)
        #expect(try alice.store.contacts.contacts().map(\.shownName) == ["Bob"])
    }

    @Test func aListBeyondTheLimitIsReportedAndNotSent() async throws {
        let alice = try self.client("alice", aliceWords)
        let name = String(repeating: "x", count: Limits.backupBytesMax)
        let keys = IdentityKeys(bobWords).publicKeys
        _ = try alice.store.contacts.pin(keys, of: bobID, name: name, isBanned: false, at: Timestamp(milliseconds: 1))
        let events = await alice.events()
        try await self.running([alice]) {
            await self.wait(alice, for: events) { event in
                guard case .backup(.tooLarge(let bytes)) = event else { return false }
                return bytes > Limits.backupBytesMax
            }
        }
        #expect(self.server.backupsWritten == 0)
        #expect(try alice.store.settings.backupChanges() == 1)
    }
}
