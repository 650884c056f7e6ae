import Contract
import Foundation
import SQLite
import Testing

@testable import WhisperClient

/// Marks, blocks, removals and requests in the store, and how they go through the backup.
@Suite struct PeopleTests {
    let folder: TemporaryFolder
    let bob = IdentityKeys(bobWords).publicKeys
    let now = Timestamp(milliseconds: 1_000)

    init() throws { self.folder = try TemporaryFolder() }

    private func open(_ name: String = "store") throws -> ClientStore {
        try ClientStore(path: self.folder.path + "/\(name).sqlite")
    }

    private func pin(_ store: ClientStore, isStranger: Bool = false, at time: Int64 = 1_000) throws {
        _ = try store.contacts.pin(
            self.bob, of: bobID, name: nil, isBanned: false, isStranger: isStranger, isNews: isStranger,
            at: Timestamp(milliseconds: time))
    }

    private func mail(_ text: String) -> Message {
        Message(
            id: .random(), peer: bobID, groupID: nil, direction: .incoming(isRead: false), content: .text(text),
            time: self.now)
    }

    private func changed(_ change: ContactChange) throws -> Contact {
        guard case .changed(let contact) = change else {
            Issue.record("\(change)")
            throw CancellationError()
        }
        return contact
    }

    // MARK: Drafts and chats

    @Test func draftsAreKeptForContactsUntilTheyAreEmptied() throws {
        do {
            let store = try self.open()
            #expect(try !store.set(draft: "x", in: .direct(bobID)))
            try self.pin(store)
            #expect(try store.set(draft: "It may", in: .direct(bobID)))
            #expect(try store.set(draft: "It may be", in: .direct(bobID)))
            store.close()
        }
        let store = try self.open()
        #expect(try store.draft(in: .direct(bobID)) == "It may be")
        #expect(try store.set(draft: "", in: .direct(bobID)))
        #expect(try store.draft(in: .direct(bobID)) == nil)
    }

    @Test func aChatIsClearedWithItsEventsAndWhatWaitsStays() throws {
        let store = try self.open()
        try self.pin(store)
        _ = try store.events.subscribe("bot")
        for number in 1...ClientLimits.clearedAtOnceMax + 1 { _ = try store.keep(self.mail("\(number)")) }
        var other = self.mail("for all")
        other.groupID = "grp-x"
        _ = try store.keep(other)
        let waiting = Message(
            id: .random(), peer: bobID, groupID: nil, direction: .outgoing(.queued), content: .text("waits"),
            time: self.now)
        try store.messages.queue(waiting)
        let last = self.mail("last")
        _ = try store.keep(last)
        let number = try #require(try store.messages.page(with: bobID, limit: 1).first?.number)
        #expect(try store.clear(.direct(bobID), upTo: number - 1) == ClientLimits.clearedAtOnceMax)
        #expect(try store.clear(.direct(bobID), upTo: number - 1) == 1)
        #expect(try store.clear(.direct(bobID), upTo: number - 1) == 0)
        #expect(try store.messages.messages(with: bobID, limit: 9).map(\.id) == [waiting.id, last.id])
        #expect(try store.messages.unread(limit: 9).map(\.id) == [other.id, last.id])
        let events = try store.events.events(after: 0, limit: 9)
        #expect(events.count == 3)
        #expect(try store.search("1", limit: 9).isEmpty)
    }

    @Test func chatsAreListedAPageAfterTheOther() throws {
        let store = try self.open()
        var people: [WhisperID] = []
        for _ in 1...3 {
            let keys = IdentityKeys(.random()).publicKeys
            let id = keys.id(counter: 0)
            _ = try store.contacts.pin(keys, of: id, name: nil, isBanned: false, at: self.now)
            var mail = self.mail("x")
            mail.peer = id
            _ = try store.keep(mail)
            people.insert(id, at: 0)
        }
        let first = try store.latest(limit: 2)
        let second = try store.latest(limit: 2, before: first.last?.number)
        #expect((first + second).map(\.message.peer) == people)
        #expect(first.count == 2)
    }

    // MARK: Marks

    @Test func contactsAreChangedAndTheChangeIsOwed() throws {
        let store = try self.open()
        let update = ContactUpdate(name: "Bob", notes: "met in Rome", isPinned: true, isMuted: true)
        #expect(try store.contacts.update(bobID, update) == .unknown)
        try self.pin(store, isStranger: true)
        #expect(try store.contacts.update(bobID, update) == .unknown)
        try self.pin(store)
        let owed = try store.settings.backupChanges()
        let contact = try self.changed(try store.contacts.update(bobID, update))
        #expect(contact.name == "Bob" && contact.notes == "met in Rome" && contact.isPinned && contact.isMuted)
        #expect(try store.settings.backupChanges() == owed + 1)
        #expect(try store.contacts.update(bobID, update) == .same(contact))
        #expect(try store.settings.backupChanges() == owed + 1)
        // Omitted fields stay.
        let unpinned = try self.changed(try store.contacts.update(bobID, ContactUpdate(isPinned: false)))
        #expect(unpinned.notes == "met in Rome" && !unpinned.isPinned && unpinned.isMuted)
        let bare = try self.changed(try store.contacts.update(bobID, ContactUpdate(name: "", notes: "")))
        #expect(bare.name == nil && bare.notes == nil)
        let entry = try #require(try store.contactList(at: self.now).list.contacts.first)
        #expect(entry.isMuted == true && entry.isPinned == false && entry.notes == nil)
        let other = IdentityKeys(aliceWords).publicKeys
        _ = try store.contacts.pin(other, of: aliceWords.id, name: "Ann", isBanned: false, at: self.now)
        #expect(try store.contacts.update(bobID, ContactUpdate(name: "ann")) == .nameTaken)
    }

    @Test func marksGoThroughTheBackupAndTheLatestChangeOfEachStays() throws {
        let (one, other) = (try self.open("one"), try self.open("other"))
        func write(_ store: ClientStore) throws -> ContactList {
            let (list, changes) = try store.contactList(at: self.now)
            try store.settings.backedUp(changes, as: "\"1\"", list)
            return list
        }
        try self.pin(one)
        _ = try one.contacts.update(bobID, ContactUpdate(notes: "n", isPinned: true))
        _ = try other.merge(try write(one), tag: "\"1\"", ownID: nil)
        #expect(try other.contacts.contact(bobID)?.isPinned == true && other.contacts.contact(bobID)?.notes == "n")
        #expect(try other.settings.backupChanges() == 0)
        // Each device changes another mark; the second to write merges first.
        _ = try other.contacts.update(bobID, ContactUpdate(isPinned: false))
        _ = try other.contacts.set(isBlocked: true, bobID)
        _ = try one.contacts.update(bobID, ContactUpdate(isMuted: true))
        _ = try one.merge(try write(other), tag: "\"2\"", ownID: nil)
        _ = try other.merge(try write(one), tag: "\"3\"", ownID: nil)
        for store in [one, other] {
            let contact = try #require(try store.contacts.contact(bobID))
            #expect(!contact.isPinned && contact.isMuted && contact.isBlocked && contact.notes == "n")
        }
    }

    /// A client that knew no marks has kept what others wrote of them.
    @Test func marksOfAnEarlierReleaseCountFromNowOn() throws {
        do {
            let store = try self.open()
            try self.pin(store)
            var entry = ContactList.Entry(try #require(try store.contacts.contact(bobID)), over: nil)
            (entry.isBlocked, entry.notes) = (true, "n")
            try store.write { database in
                try ClientStore.keep(entry, of: bobID, in: database)
                for column in ["notes", "is_pinned", "is_muted", "is_blocked"] {
                    try database.execute(sql: "ALTER TABLE contacts DROP COLUMN \(column)")
                }
                try database.execute(
                    sql: "DROP TABLE removed_contacts; DELETE FROM grdb_migrations WHERE identifier = 'marks'")
            }
            store.close()
        }
        let contact = try #require(try self.open().contacts.contact(bobID))
        #expect(contact.isBlocked && contact.notes == "n" && !contact.isPinned)
    }

    // MARK: Removals

    @Test func whoWasRemovedIsNotBroughtBackByAnOldBackup() throws {
        let store = try self.open()
        try self.pin(store)
        let old = try store.contactList(at: self.now).list
        #expect(try store.contacts.remove(bobID, at: Timestamp(milliseconds: 500)))
        #expect(try !store.contacts.remove(bobID, at: self.now))
        let owed = try store.settings.backupChanges()
        #expect(try store.merge(old, tag: "\"1\"", ownID: nil).isEmpty)
        #expect(try store.contacts.contact(bobID) == nil && store.missingContacts().isEmpty)
        #expect(try store.settings.backupChanges() == owed + 1, "the backup is to forget them")
        let (list, _) = try store.contactList(at: self.now)
        #expect(list.contacts.isEmpty)
        #expect(list.removed == [ContactList.Removal(whisperId: "\(bobID)", removedAt: 1_000)])
        #expect(ContactList(json: list.json) == list)
        // Another device removes them too, unless they were added there later.
        let (other, later) = (try self.open("other"), try self.open("later"))
        try self.pin(other, at: 900)
        try self.pin(later, at: 1_001)
        for store in [other, later] { _ = try store.merge(list, tag: "\"2\"", ownID: nil) }
        #expect(try other.contacts.contact(bobID) == nil)
        #expect(try later.contacts.contact(bobID) != nil)
        // Added again, whatever the clock says.
        try self.pin(store, at: 7)
        #expect(try store.contacts.removals().isEmpty)
        let again = try store.contactList(at: self.now).list
        #expect(again.removed == nil && again.contacts.first?.addedAt == 1_001)
        #expect(try other.merge(again, tag: "\"3\"", ownID: nil).map(\.id) == [bobID])
        #expect(try other.contacts.removals().isEmpty)
    }

    @Test func removalsAreBounded() throws {
        let store = try self.open()
        let removals = (0...ClientLimits.removedContactsMax).map { number in
            let key = Sodium.sha256(Array("\(number)".utf8))
            let id = WhisperID.derived(
                signPublicKey: self.bob.sign.bytes, encPublicKey: key, counter: 0, sha256: Sodium.sha256)
            return ContactList.Removal(whisperId: "\(id)", removedAt: Int64(number))
        }
        var list = ContactList(exportedAt: 1, contacts: [])
        list.removed = removals
        _ = try store.merge(list, tag: "\"1\"", ownID: nil)
        #expect(try store.contacts.removals().count == ClientLimits.removedContactsMax)
        #expect(try store.contacts.removals().values.min() == 1)
    }

    // MARK: Requests

    @Test func aStrangerIsARequestUntilItIsTakenOrRejected() throws {
        let store = try self.open()
        _ = try store.events.subscribe("bot")
        #expect(try store.contacts.acceptRequest(of: bobID) == .unknown)
        try self.pin(store, isStranger: true)
        _ = try store.keep(self.mail("hello"))
        #expect(try store.contacts.strangers(after: nil, limit: 9).map(\.id) == [bobID])
        #expect(try store.contacts.strangers(after: bobID, limit: 9).isEmpty)
        guard case .event(.request(let stranger), _)? = try store.events.events(after: 0, limit: 1).first else {
            Issue.record("no request")
            return
        }
        #expect(stranger.id == bobID && stranger.isStranger)
        #expect(try !store.contacts.remove(bobID, at: self.now))
        #expect(try store.contacts.rejectRequest(of: bobID))
        #expect(try store.contacts.contact(bobID) == nil && store.messages.messages(with: bobID, limit: 9).isEmpty)
        #expect(try store.events.events(after: 0, limit: 9).isEmpty)
        #expect(try store.settings.backupChanges() == 0 && store.contacts.removals().isEmpty)
        #expect(try !store.contacts.rejectRequest(of: bobID))

        try self.pin(store, isStranger: true)
        #expect(try self.changed(try store.contacts.acceptRequest(of: bobID)).isStranger == false)
        #expect(try store.settings.backupChanges() == 1)
        #expect(try !store.contacts.rejectRequest(of: bobID))
        guard case .event(.contact(let contact), _)? = try store.events.events(after: 0, limit: 9).last else {
            Issue.record("no contact")
            return
        }
        #expect(!contact.isStranger)
    }

    @Test func ofABlockedStrangerTheBlockIsKept() throws {
        let store = try self.open()
        try self.pin(store, isStranger: true)
        #expect(try store.contacts.set(isBlocked: false, bobID) == .unknown)
        let contact = try self.changed(try store.contacts.set(isBlocked: true, bobID))
        #expect(contact.isBlocked && !contact.isStranger)
        #expect(try store.contactList(at: self.now).list.contacts.first?.isBlocked == true)
        try self.pin(store, isStranger: true)
        #expect(try store.contacts.contact(bobID)?.isBlocked == true)
    }

    // MARK: Safety

    @Test func bothSidesSeeOneNumberAndForeignKeysAnother() {
        let alice = IdentityKeys(aliceWords).publicKeys
        let number = SafetyNumber.text(alice, self.bob)
        #expect(number == SafetyNumber.text(self.bob, alice))
        #expect(number.count == 71 && number.split(separator: " ").count == SafetyNumber.groups)
        let foreign = IdentityKeys(.random()).publicKeys
        #expect(number != SafetyNumber.text(alice, PublicKeys(sign: self.bob.sign, box: foreign.box)))
        #expect(number != SafetyNumber.text(alice, PublicKeys(sign: foreign.sign, box: self.bob.box)))
    }
}

/// People and a server in memory.
extension EngineTests {
    @Test func mailOfBlockedPeopleIsAcknowledgedAndDropped() async throws {
        let dave = Mnemonic.random()
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        _ = self.server.enroll(IdentityKeys(dave).publicKeys)
        let alice = try self.client("alice", aliceWords)
        let events = await alice.events()
        func came(_ text: String) -> (ClientEvent) -> Bool {
            { event in if case .received(let message) = event { message.content == .text(text) } else { false } }
        }
        try await self.running([alice]) {
            await self.online(alice)
            _ = try await alice.with { try await $0.contacts.add(bobID, name: "Bob", $0) }
            guard case .changed = try await alice.with({ try $0.contacts.set(isBlocked: true, bobID, $0) }) else {
                Issue.record("not blocked")
                return
            }
            await #expect(throws: SendError.blockedContact) { try await alice.send("x", to: bobID) }
            for mail in [try self.mail("one"), try self.mail("two", verifies: false)] { self.server.deliver(mail) }
            // Mail behind the two shows that they were processed.
            let other = try SealedMessage(
                Array("behind".utf8), messageID: "\(UUIDText.random())", from: dave.id, to: aliceWords.id,
                reader: IdentityKeys(aliceWords).publicKeys,
                timestamp: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)),
                nonce: Sodium.random(24), keys: IdentityKeys(dave))
            self.server.deliver(other)
            await self.wait(alice, for: events, came("behind"))
            _ = try await alice.with { try $0.contacts.set(isBlocked: false, bobID, $0) }
            self.server.deliver(try self.mail("three"))
            await self.wait(alice, for: events, came("three"))
        }
        #expect(self.server.waiting(for: aliceWords.id) == 0)
        #expect(try alice.store.messages.messages(with: bobID, limit: 9).map(\.content) == [.text("three")])
        #expect(try alice.store.quarantineCounts().isEmpty)
    }

    @Test func whoIsRemovedIsGivenUpAndIsAStrangerAfterwards() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        let keys = IdentityKeys(bobWords).publicKeys
        _ = try alice.store.contacts.pin(keys, of: bobID, name: "Bob", isBanned: false, at: Timestamp(milliseconds: 1))
        let waiting = try await alice.send("waits", to: bobID)
        #expect(try await alice.with { try $0.contacts.remove(bobID, $0) })
        #expect(try alice.store.messages.outgoing(waiting.id)?.state == .failed(.cancelled))
        #expect(try alice.store.messages.unsettled().isEmpty)
        await #expect(throws: SendError.unknownContact) { try await alice.send("x", to: bobID) }
        self.server.deliver(try self.mail("again"))
        let events = await alice.events()
        try await self.running([alice]) {
            await self.wait(alice, for: events) { event in
                if case .request(let stranger) = event { stranger.id == bobID && stranger.isStranger } else { false }
            }
            await self.wait(alice, for: events) { event in if case .received = event { true } else { false } }
        }
        #expect(self.server.accepted.count == 1, "what waited was not sent")
    }
}
