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
        #expect(try self.phone.defaultConversation()?.id == own.id)
        try self.hand(.whisper, from: self.phone, to: self.tablet)
        #expect(try self.verdicts(own) == [.blocked, .blocked])
    }

    /// Two documents at their bounds, twenty times: the goal is 20 ms for each, optimised.
    @Test func fullDocumentsAreMergedInTime() throws {
        var one = ProfileContents()
        for number in 0..<ProfileLimits.listenersSharedMax {
            let value = SharedListener(self.listener(.allowed, at: 1)).json(over: nil)
            one[["listeners", "c", "p\(number)"]] = ProfileRegister(value: value, time: Int64(number), device: "AA")
        }
        let text = one.text
        #expect(text.count < Limits.profileDocumentBytesMax)
        let took = try ContinuousClock().measure {
            let read = try #require(ProfileContents(text))
            #expect(ProfileMerge.merged(read, one) == one)
        }
        print("· read and merged \(text.count) bytes in \(took)")
    }
}
