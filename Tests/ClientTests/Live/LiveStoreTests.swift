import Contract
import Foundation
import Testing

@testable import WhisperClient

@Suite struct LiveStoreTests {
    let folder: TemporaryFolder
    let keys = IdentityKeys(aliceWords)

    init() throws { self.folder = try TemporaryFolder() }

    private func open(_ keys: IdentityKeys? = nil) throws -> LiveStore {
        LiveStore(try ClientStore(path: self.folder.path + "/store.sqlite"), keys: keys ?? self.keys)
    }

    private static let time = Timestamp(milliseconds: 7)

    private static func conversation() -> OwnConversation {
        OwnConversation(
            keys: ConversationKeys(secret: SecretBytes(Sodium.random(32))), name: "talk", title: "Talk",
            whisperer: "Anna", admission: .passcode, passcode: "open sesame", transcriptDays: 7,
            linkSecret: SecretBytes(Sodium.random(16)), content: nil, lastLine: 0)
    }

    @Test func everythingSurvivesARestart() throws {
        let conversation = Self.conversation()
        let guest = GuestKeys(secret: SecretBytes([UInt8](0..<64)))
        let listener = KnownListener(
            id: .guest(guest.id), keys: guest.pair.publicKeys, name: "Bert", verdict: .removed,
            decidedAt: Timestamp(milliseconds: 5), generation: 3)
        let content = UUIDText.random()
        let link = ListenLink(
            origin: "https://chat.example", conversation: conversation.id, secret: conversation.linkSecret)
        let profile: UUIDText
        do {
            let store = try self.open()
            profile = try store.profile().id
            try store.add(conversation, at: Self.time)
            try store.set(content: content, lastLine: 12, of: conversation.id)
            try store.set(listener, of: conversation.id, at: Self.time)
            try store.set(
                HeardConversation(
                    link: link, title: "Talk", whisperer: "Anna", generation: 4,
                    listenedAt: Timestamp(milliseconds: 6)), at: Self.time)
        }
        let store = try self.open()
        let kept = try #require(try store.conversation(named: "TALK"))
        #expect(kept.id == conversation.id && kept.linkSecret.bytes == conversation.linkSecret.bytes)
        #expect(kept.passcode == "open sesame" && kept.admission == .passcode && kept.transcriptDays == 7)
        #expect(kept.content == content && kept.lastLine == 12)
        #expect(try store.listeners(of: conversation.id) == [listener])
        #expect(try store.heard().map(\.link.text) == [link.text])
        #expect(try store.heard().first?.generation == 4)
        #expect(try store.profile().id == profile)
    }

    /// The file alone discloses no secret: neither of a conversation, nor of a link, nor of the profile.
    @Test func theFileDisclosesNoSecret() throws {
        let conversation = Self.conversation()
        let store = try self.open()
        let profile = try store.profile()
        try store.add(conversation, at: Self.time)
        let link = ListenLink(
            origin: "https://chat.example", conversation: conversation.id, secret: conversation.linkSecret)
        try store.set(
            HeardConversation(
                link: link, title: "Talk", whisperer: "Anna", generation: 0, listenedAt: Timestamp(milliseconds: 6)),
            at: Self.time)
        let files = try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
            .compactMap { FileManager.default.contents(atPath: self.folder.path + "/" + $0) }
        let bytes = Data(files.joined())
        // The search itself finds what is there.
        #expect(bytes.range(of: Data("whisperer".utf8)) != nil)
        let secrets = [
            conversation.keys.secret.bytes, conversation.linkSecret.bytes, profile.secret.bytes,
            Array("open sesame".utf8),
        ]
        for secret in secrets {
            for form in [Data(secret), Data(Base64.encode(secret)), Data(Base64URL.encode(secret).utf8)] {
                #expect(bytes.range(of: form) == nil)
            }
        }
    }

    @Test func anotherIdentityOpensNothing() throws {
        do {
            let store = try self.open()
            try store.add(Self.conversation(), at: Self.time)
            _ = try store.profile()
        }
        let store = try self.open(IdentityKeys(bobWords))
        #expect(try store.conversations().isEmpty)
        #expect(throws: ClientStoreError.self) { try store.profile() }
    }

    /// A seal that was moved to another place does not open.
    @Test func sealsHoldInTheirPlaceOnly() {
        let seal = StoreSeal(key: self.keys.storeKey)
        let sealed = seal.seal([1, 2, 3], place: "a")
        #expect(seal.open(sealed, place: "a") == [1, 2, 3])
        #expect(seal.open(sealed, place: "b") == nil)
        #expect(seal.open(Array(sealed.dropLast()), place: "a") == nil && seal.open([], place: "a") == nil)
    }
}
