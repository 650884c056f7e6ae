import Contract
import FoundationEssentials

/// A value of a register. Each release knows some of its members and keeps the others.
protocol ProfileValue: Codable {
    associatedtype CodingKeys: CaseIterable, CodingKey
}

extension ProfileValue {
    /// - Returns: `nil` if a member is missing or of another type.
    init?(_ json: [UInt8]) {
        guard let value = try? JSONDecoder().decode(Self.self, from: Data(json)) else { return nil }
        self = value
    }

    /// - Parameter known: the value that stands there. Members that this release does not know stay.
    func json(over known: [UInt8]?) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        // Our own plain values: encoding them cannot fail.
        guard case .object(let own)? = JSONText(try! Array(encoder.encode(self))) else { return [] }
        var members = Dictionary(uniqueKeysWithValues: own.names.map { ($0, own[$0] ?? []) })
        if case .object(let others)? = known.flatMap({ JSONText($0) }) {
            let ours = Set(CodingKeys.allCases.map(\.stringValue))
            for name in others.names where !ours.contains(name) { members[name] = others[name] }
        }
        var json = JSONWriter()
        for (name, text) in members.sorted(by: { $0.key < $1.key }) { json.add(name) { $0 += text } }
        return json.finished()
    }
}

/// A conversation of our own, in the document `whisper`. Stream and lines stay on their device.
struct SharedConversation: ProfileValue, Equatable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case name, title, whisperer, admission, passcode, transcriptDays, convSecret, linkSecret
    }

    var name: String
    var title: String
    var whisperer: String
    var admission: Admission
    var passcode: String?
    var transcriptDays: Int
    var convSecret: Data
    var linkSecret: Data

    init(_ own: OwnConversation) {
        (self.name, self.title, self.whisperer) = (own.name, own.title, own.whisperer)
        (self.admission, self.passcode, self.transcriptDays) = (own.admission, own.passcode, own.transcriptDays)
        self.convSecret = Data(own.keys.secret.bytes)
        self.linkSecret = Data(own.linkSecret.bytes)
    }

    /// - Returns: `nil` if the secret is of another conversation, or a field breaks the rules of the contract.
    func conversation(_ id: ConversationID) -> OwnConversation? {
        guard self.convSecret.count == LiveLimits.secretBytes, self.linkSecret.count == LiveLimits.linkSecretBytes,
            [self.name, self.title, self.whisperer].allSatisfy(isName), self.passcode.map(isName) ?? true,
            LiveLimits.transcriptDays.contains(Int64(self.transcriptDays))
        else { return nil }
        let keys = ConversationKeys(secret: SecretBytes(Array(self.convSecret)))
        guard keys.id == id else { return nil }
        return OwnConversation(
            keys: keys, name: self.name, title: self.title, whisperer: self.whisperer, admission: self.admission,
            passcode: self.passcode, transcriptDays: self.transcriptDays,
            linkSecret: SecretBytes(Array(self.linkSecret)), content: nil, lastLine: 0, isUsed: false)
    }
}

/// The decision about a listener, in the document `whisper`. That somebody is blocked has a register of its own.
struct SharedListener: ProfileValue {
    enum CodingKeys: String, CodingKey, CaseIterable { case name, sign, enc, profileKey, verdict, at, generation }

    enum Verdict: String, Codable { case allowed, removed }

    var name: String
    var sign: Data
    var enc: Data
    var profileKey: Data?
    var verdict: Verdict
    var at: Int64
    var generation: Int

    init(_ known: KnownListener) {
        self.name = known.name
        self.sign = Data(known.keys.sign.bytes)
        self.enc = Data(known.keys.box.bytes)
        self.profileKey = known.profileKey.map { Data($0.bytes) }
        self.verdict = known.verdict == .allowed ? .allowed : .removed
        self.at = known.decidedAt.milliseconds
        self.generation = known.generation
    }

    /// - Returns: `nil` if the keys are not the listener's.
    func listener(_ id: PrincipalID, isBlocked: Bool) -> KnownListener? {
        guard let sign = Bytes32(Array(self.sign)), let box = Bytes32(Array(self.enc)),
            ProfileLimits.generations.contains(self.generation)
        else {
            return nil
        }
        let keys = PublicKeys(sign: sign, box: box)
        guard keys.belong(to: id) else { return nil }
        let verdict: KnownListener.Verdict = isBlocked ? .blocked : self.verdict == .allowed ? .allowed : .removed
        return KnownListener(
            id: id, keys: keys, name: self.name, verdict: verdict, decidedAt: Timestamp(milliseconds: self.at),
            generation: self.generation, profileKey: self.profileKey.flatMap { Bytes32(Array($0)) })
    }
}

/// A conversation of somebody else, in the document `listen`.
struct SharedHeard: ProfileValue {
    enum CodingKeys: String, CodingKey, CaseIterable { case title, whisperer, link, lastListened }

    var title: String
    var whisperer: String
    var link: String
    var lastListened: Int64

    init(_ heard: HeardConversation) {
        (self.title, self.whisperer, self.link) = (heard.title, heard.whisperer, heard.link.text)
        self.lastListened = heard.listenedAt.milliseconds
    }

    /// Each device has grants of its own: another one's generation is not known here.
    func heard(_ id: ConversationID) -> HeardConversation? {
        guard let link = ListenLink(self.link), link.conversation == id, isName(self.title), isName(self.whisperer),
            ProfileLimits.times.contains(self.lastListened)
        else {
            return nil
        }
        return HeardConversation(
            link: link, title: self.title, whisperer: self.whisperer, generation: 0,
            listenedAt: Timestamp(milliseconds: self.lastListened))
    }

    func isVisit(after before: SharedHeard) -> Bool {
        self.title == before.title && self.whisperer == before.whisperer && self.link == before.link
            && self.lastListened < before.lastListened + ProfileLimits.visitsNotedEvery.milliseconds
    }
}

/// A device of the profile, in the document `user`. Only the device itself writes it.
struct SharedDevice: ProfileValue, Equatable {
    enum CodingKeys: String, CodingKey, CaseIterable { case name, seen }

    var name: String?
    /// The counters of the other documents that it has seen (`SeenDocument`).
    var seen: [String: Int64]?
}

/// A text to say with one press, in the document `favorites`.
package struct Favorite: ProfileValue, Equatable, Sendable {
    enum CodingKeys: String, CodingKey, CaseIterable { case name, text, place }

    package var name: String
    package var text: String
    /// Favorites are shown by it, the least first.
    package var place: Int64

    package init(name: String, text: String, place: Int64) {
        (self.name, self.text, self.place) = (name, text, place)
    }
}
