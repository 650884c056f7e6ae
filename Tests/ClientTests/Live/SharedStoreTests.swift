import Contract
import Foundation
import Testing

@testable import WhisperClient

/// Devices of a profile hand each other changes through documents, without a server in between.
@Suite struct SharedStoreTests {
    let folder: TemporaryFolder
    private let phone: LiveStore
    private let tablet: LiveStore
    private let guest = GuestKeys(secret: SecretBytes([UInt8](0..<64)))
    private static let start = Timestamp(milliseconds: 1_730_000_000_000)

    init() throws {
        self.folder = try TemporaryFolder()
        self.phone = LiveStore(
            try ClientStore(path: self.folder.path + "/phone.sqlite"), keys: IdentityKeys(aliceWords))
        self.tablet = LiveStore(
            try ClientStore(path: self.folder.path + "/tablet.sqlite"), keys: IdentityKeys(bobWords))
        for device in [self.phone, self.tablet] { _ = try device.store.set([.hostWritesProfile: false]) }
    }

    private static func time(_ seconds: Int64) -> Timestamp { Self.start + .seconds(seconds) }

    /// One device has written, and the other reads.
    @discardableResult
    private func hand(
        _ name: ProfileDocumentName, from one: LiveStore, to other: LiveStore, at second: Int64 = 100
    ) throws -> ProfileNews {
        let written = try #require(try one.documentToWrite(name, at: Self.time(second)))
        let contents = try #require(ProfileContents(written.document.contents.text))
        return try other.take(contents, as: name, version: written.document.version + 1, at: Self.time(second))
    }

    private func listener(_ verdict: KnownListener.Verdict, at second: Int64) -> KnownListener {
        KnownListener(
            id: .guest(self.guest.id), keys: self.guest.pair.publicKeys, name: "Bert", verdict: verdict,
            decidedAt: Self.time(second), generation: 1)
    }

    private func talk() throws -> OwnConversation {
        let own = OwnConversation(drawn: "talk", title: "Talk", of: "Ann", isUsed: true)
        try self.phone.add(own, at: Self.time(0))
        try self.hand(.whisper, from: self.phone, to: self.tablet)
        return own
    }

    private func verdicts(_ own: OwnConversation) throws -> [KnownListener.Verdict] {
        try [self.phone, self.tablet].flatMap { try $0.listeners(of: own.id).map(\.verdict) }
    }

    private func exchange() throws {
        for _ in 0..<2 {
            try self.hand(.whisper, from: self.phone, to: self.tablet)
            try self.hand(.whisper, from: self.tablet, to: self.phone)
        }
    }

    /// Only a person who knows that somebody is blocked lets them in again.
    @Test func lettingInOnOneDeviceDoesNotUndoABlockOnTheOther() throws {
        let own = try self.talk()
        try self.phone.set(self.listener(.blocked, at: 1), of: own.id, at: Self.time(1))
        try self.tablet.set(self.listener(.allowed, at: 9), of: own.id, at: Self.time(9))
        try self.exchange()
        #expect(try self.verdicts(own) == [.blocked, .blocked])
        try self.tablet.set(self.listener(.allowed, at: 20), of: own.id, at: Self.time(20))
        try self.exchange()
        #expect(try self.verdicts(own) == [.allowed, .allowed])
        try self.phone.set(self.listener(.removed, at: 30), of: own.id, at: Self.time(30))
        try self.exchange()
        #expect(try self.verdicts(own) == [.removed, .removed])
    }

    /// Neither stream nor generation goes along: another device begins another stream.
    @Test func streamsStayWithTheirDevice() throws {
        let own = try self.talk()
        try self.phone.set(content: .random(), lastLine: 12, of: own.id)
        try self.phone.set(generation: 4, of: own.id)
        try self.exchange()
        let shared = try #require(try self.tablet.conversation(own.id))
        #expect(shared.content == nil && shared.lastLine == 0 && shared.generation == 1)
        #expect(shared.keys.secret.bytes == own.keys.secret.bytes && shared.linkSecret.bytes == own.linkSecret.bytes)
        #expect(try self.phone.conversation(own.id)?.lastLine == 12)
    }

    @Test func twoConversationsOfOneNameAreTold() throws {
        for (store, title) in [(self.phone, "Phone"), (self.tablet, "Tablet")] {
            try store.add(OwnConversation(drawn: "News", title: title, of: "Ann", isUsed: true), at: Self.time(0))
        }
        try self.exchange()
        let names = try [self.phone, self.tablet].map { try $0.conversations().map { "\($0.id) \($0.name)" }.sorted() }
        #expect(names[0] == names[1])
        #expect(try self.phone.conversations().map(\.name) == ["News", "News 2"])
        // Names that change places.
        var (one, other) = (try self.phone.conversations()[0], try self.phone.conversations()[1])
        (one.name, other.name) = (other.name, "x")
        try self.phone.update(other, at: Self.time(200))
        try self.phone.update(one, at: Self.time(201))
        other.name = "News"
        try self.phone.update(other, at: Self.time(202))
        try self.exchange()
        for store in [self.phone, self.tablet] {
            #expect(try store.conversation(one.id)?.name == "News 2")
            #expect(try store.conversation(other.id)?.name == "News")
        }
    }

    @Test func whatBreaksTheRulesIsLeftOut() throws {
        let own = try self.talk()
        var contents = ProfileContents()
        func set(_ path: [String], _ json: String) {
            contents[path] = ProfileRegister(value: Array(json.utf8), time: Self.time(50).milliseconds, device: "AA")
        }
        // The keys of one conversation under the id of another.
        let other = OwnConversation(drawn: "other", of: "Ann")
        let json = String(decoding: SharedConversation(own).json(over: nil), as: UTF8.self)
        set(["conversations", "\(other.id)"], json)
        set(["conversations", "\(own.id)"], json.replacing(#""title":"Talk""#, with: #""title":"a\u0007b""#))
        set(["conversations", "x"], json)
        set(["listeners", "\(own.id)", "WSP-AAAA-AAAA-AAAA"], "{}")
        let listener = String(decoding: SharedListener(self.listener(.allowed, at: 1)).json(over: nil), as: UTF8.self)
        set(["listeners", "\(own.id)", "WSP-AAAA-AAAA-AAAA"], listener)
        let news = try self.tablet.take(contents, as: .whisper, version: 9, at: Self.time(60))
        #expect(news.leftOut == 4)
        #expect(try self.tablet.conversations().map(\.title) == ["Talk"])
        #expect(try self.tablet.listeners(of: own.id).isEmpty)
    }

    @Test func aDeletedConversationGoesWithItsListeners() throws {
        let own = try self.talk()
        try self.phone.set(self.listener(.allowed, at: 1), of: own.id, at: Self.time(1))
        try self.exchange()
        try self.tablet.remove(own.id, at: Self.time(5))
        try self.exchange()
        #expect(try self.verdicts(own).isEmpty)
        #expect(try self.phone.conversation(own.id) == nil && self.tablet.conversation(own.id) == nil)
    }

    /// Grants stay with their device; the later visit counts, whoever made it.
    @Test func whatWasListenedToIsKnownToAll() throws {
        let link = ListenLink(
            origin: "https://chat.example", conversation: OwnConversation(drawn: "x", of: "Bob").id,
            secret: SecretBytes([UInt8](0..<16)))
        func visit(_ second: Int64, title: String = "Talk", generation: Int = 0) -> HeardConversation {
            HeardConversation(
                link: link, title: title, whisperer: "Bob", generation: generation, listenedAt: Self.time(second))
        }
        try self.tablet.set(visit(500, generation: 7), at: Self.time(500))
        try self.phone.set(visit(400, title: "Later title"), at: Self.time(600))
        try self.hand(.listen, from: self.phone, to: self.tablet, at: 700)
        let heard = try #require(try self.tablet.heard().first)
        #expect(heard.generation == 7 && heard.title == "Later title" && heard.listenedAt == Self.time(500))
        // A visit soon after the last is nothing to write about.
        let owed = try self.phone.owedDocuments()
        try self.phone.set(visit(900, title: "Later title"), at: Self.time(900))
        #expect(try self.phone.owedDocuments() == owed)
        try self.phone.set(visit(1_100, title: "Later title"), at: Self.time(1_100))
        #expect(try self.phone.owedDocuments() != owed)
    }

    /// A merged document is owed only if the server lacks something of it.
    @Test func whatTheServerHasIsNotOwed() throws {
        let own = try self.talk()
        #expect(try self.tablet.owedDocuments().isEmpty)
        let written = try #require(try self.phone.documentToWrite(.whisper, at: Self.time(100))).document
        // A change while the writing is under way.
        try self.phone.setDefault(own.id, at: Self.time(100))
        try self.phone.written(.whisper, changes: written.changes, as: 1)
        #expect(try self.phone.owedDocuments() == [.whisper: 1] && self.phone.mergedVersion(.whisper) == 1)
        try self.hand(.whisper, from: self.phone, to: self.tablet)
        try self.hand(.whisper, from: self.tablet, to: self.phone)
        #expect(try self.phone.owedDocuments().isEmpty && self.tablet.owedDocuments().isEmpty)
        #expect(try self.tablet.defaultConversation()?.id == own.id)
    }

    @Test func aStoreOfBeforeIsNotedOnce() throws {
        let own = try self.talk()
        try self.phone.set(self.listener(.blocked, at: 1), of: own.id, at: Self.time(1))
        _ = try self.phone.profile()
        try self.phone.store.write { try $0.execute(sql: "DELETE FROM profile_documents") }
        try self.phone.noteTables(at: Self.time(3))
        let owed = try self.phone.owedDocuments()
        try self.phone.noteTables(at: Self.time(4))
        #expect(try self.phone.owedDocuments() == owed && owed[.whisper] != nil)
        try self.phone.setProfileShared(isFirst: true)
        #expect(try self.phone.defaultConversation()?.id == own.id)
        try self.hand(.whisper, from: self.phone, to: self.tablet)
        #expect(try self.verdicts(own) == [.blocked, .blocked])
    }

    /// Two documents at their bounds, in which every second listener differs. The goal is 20 ms, optimised.
    @Test func fullDocumentsAreMergedInTime() throws {
        func full(_ device: String, later: Int) throws -> [UInt8] {
            var contents = ProfileContents()
            for number in 0..<ProfileLimits.listenersSharedMax {
                let verdict: KnownListener.Verdict = number % 2 == later ? .removed : .allowed
                let value = SharedListener(self.listener(verdict, at: Int64(number))).json(over: nil)
                let time = Int64(number % 2 == later ? 2 : 1)
                contents[["listeners", "c", "p\(number)"]] = ProfileRegister(value: value, time: time, device: device)
            }
            return contents.text
        }
        let (phone, tablet) = (try full("AA", later: 0), try full("BB", later: 1))
        #expect(phone.count < Limits.profileDocumentBytesMax)
        var merged = ProfileContents()
        let took = try ContinuousClock().measure {
            merged = ProfileMerge.merged(try #require(ProfileContents(phone)), try #require(ProfileContents(tablet)))
        }
        let registers = merged.registers()
        #expect(registers.count == ProfileLimits.listenersSharedMax)
        #expect(
            registers.allSatisfy { $0.register.time == 2 && $0.register.device == ($0.path[2].isEven ? "AA" : "BB") })
        print("· read and merged two documents of \(phone.count) bytes in \(took)")
    }

    // MARK: Bounds

    /// Two devices bring more favorites than a document holds: each keeps its own, and they write only so long as it changes
    /// the document.
    @Test func favoritesBeyondTheBoundStayOnTheirDevice() throws {
        func add(_ count: Int, to store: LiveStore, from second: Int64) throws {
            for number in 0..<count {
                try store.change(.favorites, at: Self.time(second + Int64(number))) {
                    let favorite = Favorite(name: "\(second) \(number)", text: "x", place: 0)
                    $0.set(["favorites", "\(UUIDText.random())"], to: favorite)
                }
            }
        }
        let (half, most) = (150, ProfileLimits.favoritesMax)
        try add(half, to: self.phone, from: 0)
        try add(half, to: self.tablet, from: 1_000)
        var versions: [Int64] = [0, 0]
        var isFull = false
        for round in 1...4 {
            let stores = round % 2 == 1 ? [self.tablet, self.phone] : [self.phone, self.tablet]
            guard let written = try stores[0].documentToWrite(.favorites, at: Self.time(2_000)) else { continue }
            isFull = isFull || written.isFull
            let contents = try #require(ProfileContents(written.document.contents.text))
            #expect(contents.values(below: ["favorites"]).count <= most)
            versions[0] += 1
            try stores[0].written(.favorites, changes: written.document.changes, as: versions[0])
            isFull =
                try stores[1].take(contents, as: .favorites, version: versions[0], at: Self.time(2_000)).isFull
                || isFull
        }
        #expect(isFull)
        #expect(try self.phone.favorites().count == 2 * half && self.tablet.favorites().count == most)
        #expect(try self.phone.owedDocuments().isEmpty && self.tablet.owedDocuments().isEmpty)
        // With room again, the others get theirs.
        for (id, favorite) in try self.tablet.favorites() where favorite.name.hasPrefix("1000") {
            try self.tablet.change(.favorites, at: Self.time(3_000)) { $0.remove(["favorites", "\(id)"]) }
        }
        for _ in 0..<2 {
            try self.hand(.favorites, from: self.tablet, to: self.phone, at: 3_001)
            try self.hand(.favorites, from: self.phone, to: self.tablet, at: 3_001)
        }
        for store in [self.phone, self.tablet] { #expect(try store.favorites().count == half) }
    }

    @Test func peopleAreToldOnceADayThatADocumentIsFull() throws {
        let day = ProfileLimits.toldFullEvery.components.seconds
        let told = try [0, 1, day - 1, day, day + 1].map { try self.phone.tellsFull(.whisper, at: Self.time($0)) }
        #expect(told == [true, false, false, true, false])
        #expect(try self.phone.tellsFull(.listen, at: Self.time(1)))
    }

    // MARK: Stores of earlier releases

    /// The person goes back to an earlier release, changes a title there, and comes again. Meanwhile the tablet has changed
    /// other things, which the phone's older values must not displace.
    @Test func anEarlierReleaseInBetweenMakesNothingNew() throws {
        let own = try self.talk()
        var other = OwnConversation(drawn: "news", title: "News", of: "Ann", isUsed: true)
        try self.phone.add(other, at: Self.time(1))
        let deleted = OwnConversation(drawn: "old", title: "Old", of: "Ann", isUsed: true)
        try self.phone.add(deleted, at: Self.time(1))
        var listener = self.listener(.allowed, at: 2)
        listener.profileKey = Bytes32([UInt8](repeating: 7, count: 32))
        try self.phone.set(listener, of: own.id, at: Self.time(2))
        let unused = OwnConversation(drawn: "unused", of: "Ann")
        try self.phone.add(unused, at: Self.time(3))
        _ = try self.phone.profile()
        try self.exchange()
        let before = try self.phone.store.read { try self.phone.documents.contents(.whisper, in: $0) }

        try self.phone.store.write { database in
            try database.execute(sql: ProfileTable.undo.sql)
            try database.run(
                sql: "DELETE FROM grdb_migrations WHERE identifier = ?", arguments: [ProfileTable.undo.migration])
            #expect(try !database.tableExists("profile_documents"))
            // As the earlier release does it.
            let title = "UPDATE live_conversations SET title = 'By the earlier release' WHERE id = ?"
            try database.run(sql: title, arguments: ["\(own.id)"])
            try database.run(sql: "DELETE FROM live_conversations WHERE id = ?", arguments: ["\(deleted.id)"])
        }
        self.phone.store.close()
        other.title = "By the tablet"
        try self.tablet.update(other, at: Self.time(50))
        try self.tablet.set(self.listener(.blocked, at: 51), of: own.id, at: Self.time(51))

        let phone = LiveStore(try ClientStore(path: self.folder.path + "/phone.sqlite"), keys: IdentityKeys(aliceWords))
        try phone.noteTables(at: Self.time(90))
        let after = try phone.store.read { try phone.documents.contents(.whisper, in: $0) }
        let changed = after.registers().filter { before[$0.path] != $0.register }.map { $0.path[1] }
        #expect(Set(changed) == ["\(own.id)", "\(deleted.id)"], "\(changed)")
        #expect(try phone.listeners(of: own.id).first?.profileKey == listener.profileKey)
        #expect(try phone.conversation(unused.id)?.isUsed == false)
        try phone.noteTables(at: Self.time(91))
        for _ in 0..<2 {
            try self.hand(.whisper, from: phone, to: self.tablet)
            try self.hand(.whisper, from: self.tablet, to: phone)
        }
        for store in [phone, self.tablet] {
            #expect(try store.conversation(own.id)?.title == "By the earlier release")
            #expect(try store.conversation(other.id)?.title == "By the tablet")
            #expect(try store.conversation(deleted.id) == nil)
            #expect(try store.listeners(of: own.id).map(\.verdict) == [.blocked])
        }
    }

    /// In the earlier release the person joined another profile: what was owed to the one of before is nothing of it.
    @Test func anotherProfileJoinedByAnEarlierReleaseBeginsAnew() throws {
        _ = try self.phone.profile()
        let own = OwnConversation(drawn: "talk", title: "Talk", of: "Ann", isUsed: true)
        try self.phone.add(own, at: Self.time(5))
        try self.phone.store.write { database in
            try database.execute(sql: ProfileTable.undo.sql)
            try database.run(
                sql: "DELETE FROM grdb_migrations WHERE identifier = ?", arguments: [ProfileTable.undo.migration])
            try self.phone.set(profile: .random(), secret: SecretBytes([UInt8](0..<32)), in: database)
        }
        self.phone.store.close()
        let phone = LiveStore(try ClientStore(path: self.folder.path + "/phone.sqlite"), keys: IdentityKeys(aliceWords))
        try phone.noteTables(at: Self.time(90))
        let register = try phone.store.read {
            try phone.documents.contents(.whisper, in: $0)[["conversations", "\(own.id)"]]
        }
        #expect(register?.time == 1)
        #expect(try phone.owedDocuments()[.whisper] != nil)
    }

    // MARK: Whose conversations they are

    /// A conversation that only came here stands in nobody's way; one in which somebody stands, or was whispered in here, does.
    @Test func whatOnlyCameHereIsUntouched() throws {
        let own = try self.talk()
        #expect(try self.phone.isInUse() && !self.tablet.isInUse())
        var renamed = own
        renamed.title = "Renamed"
        try self.phone.update(renamed, at: Self.time(1))
        try self.exchange()
        #expect(try !self.tablet.isInUse())
        try self.phone.set(self.listener(.allowed, at: 2), of: own.id, at: Self.time(2))
        try self.exchange()
        #expect(try self.tablet.isInUse())
        let standard = try self.tablet.drawDefault()
        try self.tablet.join(.random(), secret: SecretBytes([UInt8](0..<32)))
        // Somebody stands in the one; the other is forgotten if it is another.
        #expect(try self.tablet.conversation(own.id) != nil && standard.id == own.id)
        let received = OwnConversation(drawn: "came", title: "Came", of: "Ann", isUsed: false)
        try self.tablet.add(received, at: Self.time(3))
        try self.tablet.use(received.id, at: Self.time(4))
        try self.tablet.join(.random(), secret: SecretBytes([UInt8](1..<33)))
        #expect(try self.tablet.conversation(received.id) != nil)
    }

    /// Sending somebody away on one device, who was blocked, takes the block back on none.
    @Test func onlyLettingInTakesABlockBack() throws {
        let own = try self.talk()
        try self.phone.set(self.listener(.blocked, at: 1), of: own.id, at: Self.time(1))
        try self.phone.set(self.listener(.removed, at: 2), of: own.id, at: Self.time(2))
        #expect(try self.phone.listeners(of: own.id).map(\.verdict) == [.blocked])
        try self.exchange()
        #expect(try self.verdicts(own) == [.blocked, .blocked])
    }

    // MARK: What other devices have seen

    @Test func aDeviceKnowsThatAnotherHasSeenALaterDocument() throws {
        let (phone, tablet) = (WhisperID("WSP-AAAA-AAAA-AAAA")!, WhisperID("WSP-BBBB-BBBB-BBBB")!)
        let profile = try self.phone.profile().id
        for (store, id) in [(self.phone, phone), (self.tablet, tablet)] {
            try store.store.write { try SettingsTable.set("whisperId", to: "\(id)", in: $0) }
        }
        #expect(try self.phone.note(SeenDocument(version: 7, counter: 7), as: .favorites, of: profile))
        #expect(try self.tablet.note(SeenDocument(version: 6, counter: 6), as: .favorites, of: profile))
        try self.phone.noteSeen(of: profile, at: Self.time(0))
        // Not with each writing.
        #expect(try self.phone.note(SeenDocument(version: 8, counter: 8), as: .favorites, of: profile))
        try self.phone.noteSeen(of: profile, at: Self.time(599))
        try self.hand(.user, from: self.phone, to: self.tablet)
        #expect(try self.tablet.behind([phone, tablet], of: profile) == [.favorites])
        // Somebody who was taken out says nothing more.
        #expect(try self.tablet.behind([tablet], of: profile).isEmpty)
        #expect(try self.tablet.note(SeenDocument(version: 7, counter: 7), as: .favorites, of: profile))
        #expect(try self.tablet.behind([phone, tablet], of: profile).isEmpty)
        try self.phone.noteSeen(of: profile, at: Self.time(600))
        try self.hand(.user, from: self.phone, to: self.tablet)
        #expect(try self.tablet.behind([phone, tablet], of: profile) == [.favorites])
        // A repaired document is later than all that were seen.
        try self.tablet.repair(.favorites, over: SeenDocument(version: 3, counter: 2), of: profile)
        #expect(try self.tablet.seenDocument(.favorites, of: profile) == SeenDocument(version: 3, counter: 8))
        #expect(try self.tablet.mergedVersion(.favorites) == 3 && self.tablet.owedDocuments()[.favorites] == 1)
        #expect(try self.tablet.behind([phone, tablet], of: profile).isEmpty)
    }
}

extension String {
    /// The number at the end of a name is even.
    fileprivate var isEven: Bool { self.last.map { "02468".contains($0) } ?? false }
}
