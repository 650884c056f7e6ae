import Contract
import Foundation
import TestKit
import WhisperClient
import WhisperCore

/// How much stands in the store of a core that is measured.
struct CoreShape: Sendable {
    /// Messages.
    var stored: Int
    /// People with whom they were exchanged, the same number with each.
    var people: Int { min(5_000, max(Self.writers, self.stored / 20)) }
    /// Messages that come in one drain.
    var drained: Int { min(10_000, self.stored / 10) }
    /// Messages that wait to be sent.
    var queued: Int { min(100_000, self.stored / 10) }

    /// People with keys that sign: drained mail comes from them in turn.
    static let writers = 20
    /// Messages of a page, which the core stores in one transaction.
    static let page = 100
}

/// The folder of an identity, as it is filled before something is measured.
struct CoreProfile {
    let folder: String
    /// `nil` for a plain store.
    let key: [UInt8]?
    let keys: IdentityKeys
    private(set) var people: [WhisperID] = []
    /// People who can sign.
    private(set) var writers: [(id: WhisperID, keys: IdentityKeys)] = []
    private var random = SeededGenerator(seed: 1)

    /// Seals what is measured. Nothing of it is anybody's.
    static let measuredKey = [UInt8](repeating: 7, count: 32)
    static let address = "ws://127.0.0.1:1"

    /// Where `writeMail` puts its pages.
    var mail: String { self.folder + "-mail" }
    var id: WhisperID { self.keys.publicKeys.id(counter: 0) }

    /// - Parameter kind: of the key. With `.passphrase` its bytes are one.
    init(_ folder: String, key: [UInt8]? = Self.measuredKey, kind: StoreKey.Kind = .raw) throws {
        let mnemonic = Mnemonic.random()
        self.folder = folder
        self.key = key
        self.keys = IdentityKeys(mnemonic)
        guard let server = ServerAddress(Self.address) else { throw CoreTrouble.noAddress }
        let profile = try Profile.create(
            at: folder, mnemonic: mnemonic, server: server, key: key.flatMap { StoreKey(kind, $0) })
        defer { profile.close() }
        try profile.store.settings.set(
            whisperID: self.keys.publicKeys.id(counter: 0),
            session: StoredSession(
                token: String(repeating: "A", count: 43), expiresAt: .now + .seconds(30 * 24 * 3_600)))
    }

    private func open<Value>(_ work: (ClientStore) throws -> Value) throws -> Value {
        let profile = try Profile.open(at: self.folder, key: self.key.flatMap { StoreKey(.raw, $0) })
        defer { profile.close() }
        return try work(profile.store)
    }

    /// Adds people, and as many messages with each of them.
    mutating func fill(_ shape: CoreShape) throws {
        for _ in 0..<CoreShape.writers {
            let keys = IdentityKeys(Mnemonic.random())
            self.writers.append((keys.publicKeys.id(counter: 0), keys))
        }
        var known = self.writers.map { ($0.id, $0.keys.publicKeys) }
        while known.count < shape.people {
            guard let sign = Bytes32(Keys.random(32)), let box = Bytes32(Keys.random(32)) else { break }
            let keys = PublicKeys(sign: sign, box: box)
            known.append((keys.id(counter: 0), keys))
        }
        self.people = known.map { $0.0 }
        let start = Timestamp.now - .seconds(shape.stored)
        try self.open { store in
            for (place, (id, keys)) in known.enumerated() {
                _ = try store.contacts.pin(keys, of: id, name: "person \(place)", isBanned: false, at: .now)
            }
            for first in stride(from: 0, to: shape.stored, by: Self.batch) {
                let places = first..<min(first + Self.batch, shape.stored)
                let arrivals = places.map { place in
                    Arrival.message(
                        self.message(place, of: shape, time: start + .seconds(place), isRead: place % 20 != 0))
                }
                _ = try store.messages.keep(arrivals, at: .now)
            }
        }
    }

    /// Messages of one transaction while a store is filled.
    private static let batch = 1_000

    private mutating func message(_ place: Int, of shape: CoreShape, time: Timestamp, isRead: Bool) -> Message {
        let isRare = place % max(1, shape.stored / 10) == 0
        return Message(
            id: .random(), peer: self.people[place % self.people.count], direction: .incoming(isRead: isRead),
            content: .text(self.words() + (isRare ? " \(Self.rareWord)" : "")), time: time)
    }

    // MARK: Words

    /// Stands in ten messages.
    static let rareWord = "quokka"
    /// Words of one to four syllables. They begin as differently as people's do: each is searched by its beginning.
    private static let vocabulary: [String] = {
        var random = SeededGenerator(seed: 2)
        let syllables = "bcdfghklmnprstvw".flatMap { consonant in "aeiou".map { "\(consonant)\($0)" } }
        var words: Set<String> = []
        while words.count < 5_000 {
            var word = ""
            for _ in 1...Int.random(in: 1...4, using: &random) { word += syllables.randomElement(using: &random) ?? "" }
            words.insert(word + (["", "n", "s", "r", "t"].randomElement(using: &random) ?? ""))
        }
        return words.sorted().shuffled(using: &random)
    }()

    /// A few words, of which some are frequent and most are not.
    mutating func words() -> String {
        (0..<Int.random(in: 4...12, using: &self.random)).map { _ in self.word() }.joined(separator: " ")
    }

    mutating func word() -> String {
        let rank = pow(Double(Self.vocabulary.count), Double.random(in: 0..<1, using: &self.random))
        return Self.vocabulary[Int(rank) - 1]
    }

    mutating func person() -> WhisperID { self.people.randomElement(using: &self.random) ?? self.id }

    // MARK: Mail

    /// Writes pages of mail that writers have sealed and signed for this identity, each into a file.
    /// - Returns: the files.
    mutating func writeMail(pages: Int) throws -> [String] {
        try FileManager.default.createDirectory(atPath: self.mail, withIntermediateDirectories: true)
        return try (0..<pages).map { page in
            let messages = try (0..<CoreShape.page).map { place in
                let writer = self.writers[(page * CoreShape.page + place) % self.writers.count]
                let message = try SealedMessage(
                    Array(self.words().utf8), messageID: "\(UUIDText.random())", from: writer.id, to: self.id,
                    reader: self.keys.publicKeys, timestamp: .now, nonce: Keys.random(Limits.nonceBytes),
                    keys: writer.keys)
                return Self.payload(message)
            }
            let file = "\(self.mail)/\(page)"
            try messages.joined(separator: ",").write(toFile: file, atomically: false, encoding: .utf8)
            return file
        }
    }

    private static func payload(_ message: SealedMessage) -> String {
        #"{"messageId":"\#(message.messageID)","from":"\#(message.from)","to":"\#(message.to)","msgType":"text","#
            + #""timestamp":\#(message.timestamp),"nonce":"\#(message.nonce)","ciphertext":"\#(message.ciphertext)","#
            + #""sig":"\#(message.signature)"}"#
    }

    /// Leaves messages to people in turn, as if they had been written without a connection.
    mutating func queue(_ count: Int) throws {
        let readers = self.writers
        try self.open { store in
            for place in 0..<count {
                try store.messages.queue(
                    Message(
                        id: .random(), peer: readers[place % readers.count].id, direction: .outgoing(.queued),
                        content: .text(self.words()), time: .now))
            }
        }
    }
}

enum CoreTrouble: Error {
    case noAddress
    /// The core's answer.
    case refused(String)
    case noEvent(String)
}
