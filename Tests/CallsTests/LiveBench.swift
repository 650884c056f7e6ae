@testable import ConversationsCore
import ClusterContract
import Contract
import Participants
import TestKit
import Testing

/// A book of conversations that tests drive by frames, with keys of their own. Signatures are libsodium's.
struct LiveBench {
    static let start = Timestamp(milliseconds: 1_730_000_000_000)
    static let profile = UUIDText("5b0c7a5e-2f0d-4f6b-8d55-0c4b7d1f2a61")!

    /// An identity with a session.
    struct Device {
        let keys = Keys()
        let connection: LiveConnection

        init(_ number: UInt64, node: UInt64 = 1) {
            self.connection = LiveConnection(
                node: NodeID(value: node), connection: ConnectionID(value: number))
        }

        var id: WhisperID { WhisperID(self.keys.whisperID)! }

        var principal: Principal {
            .session(
                Session(
                    caller: Caller(identity: self.id, epoch: Epoch(value: 1)), device: .random(), platform: .ios,
                    tokenHash: Bytes32(Keys.random(32))!, expiresAt: LiveBench.start,
                    signPublicKey: Bytes32(self.keys.signPublicKey)!, isBanned: false))
        }
    }

    struct NotJoined: Error {}

    struct Listener {
        let keys = Keys()
        let connection: LiveConnection
        /// Names its address.
        let origin: UInt64

        init(_ number: UInt64, node: UInt64 = 2, origin: UInt64 = 0) {
            self.origin = origin
            self.connection = LiveConnection(
                node: NodeID(value: node), connection: ConnectionID(value: number))
        }

        var id: GuestID {
            GuestID.derived(signPublicKey: self.keys.signPublicKey, encPublicKey: self.keys.encPublicKey) {
                Keys.sha256($0)
            }
        }

        var principal: Principal {
            .guest(
                Guest(
                    id: self.id, epoch: Epoch(value: 1), tokenHash: Bytes32(Keys.random(32))!,
                    expiresAt: LiveBench.start, signPublicKey: Bytes32(self.keys.signPublicKey)!, isBanned: false))
        }
    }

    /// The conversation's keys and its link's proof.
    let keys = Keys()
    let proof = Keys.random(32)
    let phone = Device(1)
    let tablet = Device(2, node: 3)
    let stranger = Device(3)
    var book = LiveBook()
    var now = Self.start
    var members: Set<WhisperID>
    /// Its last member has not left it.
    var hasProfile = true
    var ended: Set<LiveFacts.Content> = []
    /// The greatest lines that are stored.
    var lastLines: [LiveFacts.Content: Int] = [:]
    /// Streams that have not ended, as the tables have them.
    var openOf: [WhisperID: Int] = [:]
    var openIn: [UUIDText: Int] = [:]
    var bounds = LiveRules.LiveBounds()
    var tellings: [LiveTelling] = []
    /// The lines of the last event that are to be stored.
    var lines: [LiveLine] = []
    /// Principals that auth does not know.
    var unknown: Set<PrincipalID> = []

    init() { self.members = [self.phone.id, self.tablet.id] }

    var id: ConversationID {
        ConversationID.derived(signPublicKey: self.keys.signPublicKey, encPublicKey: self.keys.encPublicKey) {
            Keys.sha256($0)
        }
    }

    var conversation: LiveMachine { self.book[self.id]! }

    // MARK: Driving

    mutating func rules(for principals: [PrincipalID] = [], _ body: (inout LiveRules) -> Void) {
        var accounts: [PrincipalID: AccountStatus] = [:]
        for principal in principals where !self.unknown.contains(principal) {
            accounts[principal] = AccountStatus(epoch: Epoch(value: 1), isBanned: false)
        }
        var facts = LiveFacts(
            accounts: accounts, members: self.hasProfile ? [Self.profile: self.members] : [:], ended: self.ended,
            lastLines: self.lastLines)
        (facts.openOf, facts.openIn) = (self.openOf, self.openIn)
        var rules = LiveRules(book: self.book, facts: facts, limits: self.bounds, at: self.now)
        body(&rules)
        (self.tellings, self.lines) = (rules.tellings, rules.lines)
        self.book = rules.book
        self.book.commit()
    }

    mutating func send(
        _ body: LiveFrame.Body, as principal: Principal, on connection: LiveConnection, from origin: UInt64 = 0
    ) -> Answer {
        var answer = Answer.done
        self.rules(for: [principal.id]) {
            answer = $0.received(
                LiveFrame(
                    body, from: principal, on: connection, requestID: "r", receivedAt: $0.time, origin: origin))
        }
        return answer
    }

    mutating func send(_ type: String, _ fields: Fields, as device: Device) throws -> Answer {
        self.send(try Self.body(type, fields), as: device.principal, on: device.connection)
    }

    mutating func send(_ type: String, _ fields: Fields, as listener: Listener) throws -> Answer {
        self.send(
            try Self.body(type, fields), as: listener.principal, on: listener.connection, from: listener.origin)
    }

    static func body(_ type: String, _ fields: Fields) throws -> LiveFrame.Body {
        let definition = try #require(FrameCatalogue.definition(of: type))
        let json = Array(Person.versions.with(fields).json.text.utf8)
        let payload = try FrameDecoder.payload(bare: json, schema: definition.schema)
        return try #require(try LiveFrame.Body(type, payload))
    }

    // MARK: Frames

    var named: Fields { ["conversationId": "\(self.id)"] }

    func create(_ change: (inout Fields) -> Void = { _ in }) -> Fields {
        var fields = self.named.with([
            "profileId": "\(Self.profile)", "signPublicKey": self.keys.signPublicKey.base64,
            "encPublicKey": self.keys.encPublicKey.base64, "linkVerifier": Keys.sha256(self.proof).base64,
            "transcriptDays": 0, "from": "\(self.phone.id)", "timestamp": self.now.milliseconds,
            "nonce": Keys.random(12).base64, "ciphertext": Keys.random(64).base64,
        ])
        change(&fields)
        return self.signed(fields, as: "live_create", about: "\(Self.profile)", by: self.keys)
    }

    func knock(_ listener: Listener, _ change: (inout Fields) -> Void = { _ in }) -> Fields {
        var fields = self.named.with([
            "linkProof": self.proof.base64, "signPublicKey": listener.keys.signPublicKey.base64,
            "encPublicKey": listener.keys.encPublicKey.base64, "from": "\(listener.id)",
            "timestamp": self.now.milliseconds, "nonce": Keys.random(12).base64,
            "ciphertext": Keys.random(64).base64,
        ])
        change(&fields)
        return self.signed(fields, as: "live_knock", about: "\(self.id)", by: listener.keys)
    }

    func grant(_ listeners: [PrincipalID], generation: Int = 1, by keys: Keys? = nil) -> Fields {
        let grants = listeners.map { listener -> JSON in
            let fields: Fields = [
                "from": "\(self.phone.id)", "timestamp": self.now.milliseconds, "nonce": Keys.random(12).base64,
                "ciphertext": Keys.random(64).base64, "to": "\(listener)",
            ]
            let signed = self.signed(fields, as: "live_grant", about: "\(listener)", by: keys ?? self.keys)
            return signed.without("from", "timestamp").json
        }
        return self.named.with([
            "from": "\(self.phone.id)", "generation": generation, "timestamp": self.now.milliseconds,
            "grants": JSON.array(grants),
        ])
    }

    func refuse(_ listener: PrincipalID, _ reason: String = "removed") -> Fields {
        self.signed(
            self.named.with([
                "to": "\(listener)", "reason": reason, "from": "\(self.phone.id)",
                "timestamp": self.now.milliseconds, "nonce": Keys.random(12).base64,
                "ciphertext": Keys.random(64).base64,
            ]), as: "live_refuse", about: "\(listener)", by: self.keys)
    }

    /// Canonical bytes of spec §3.5 with the lines of contract §14.5, written down once more.
    private func signed(_ fields: Fields, as type: String, about: String, by keys: Keys) -> Fields {
        func text(_ name: String) -> String { fields[name]?.json.string ?? fields[name]?.json.text ?? "" }
        let lines =
            ["v1", type, "\(self.id)", text("from"), about, text("timestamp"), text("nonce"), text("ciphertext")]
        let digest = Keys.sha256(Array(lines.map { $0 + "\n" }.joined().utf8))
        return fields.with(["sig": keys.sign(digest).base64])
    }

    // MARK: What was told

    func frames(_ type: String, to reader: LiveTelling.Reader) -> [JSON] {
        self.tellings.compactMap { telling in
            guard case .frame(reader, type, let payload) = telling else { return nil }
            return try? JSON(parsing: payload)
        }
    }

    func events(for connection: LiveConnection) -> [LiveEvent] {
        self.tellings.compactMap { if case .event(connection, let event) = $0 { event } else { nil } }
    }

    /// Created by the phone.
    static func created(_ change: (inout Fields) -> Void = { _ in }) throws -> LiveBench {
        var bench = LiveBench()
        try #require(try bench.send("live_create", bench.create(change), as: bench.phone).type == "live_conversation")
        return bench
    }

    /// With a listener that is admitted and has joined.
    static func joined() throws -> (LiveBench, Listener) {
        var bench = try Self.created()
        let listener = Listener(9)
        try #require(try bench.send("live_knock", bench.knock(listener), as: listener).type == "live_waiting")
        try #require(
            try bench.send("live_grant", bench.grant([.guest(listener.id)]), as: bench.phone).type == "live_granted")
        guard case .done = try bench.send("live_join", bench.named, as: listener) else {
            throw NotJoined()
        }
        return (bench, listener)
    }
}

extension Answer {
    var type: String? { if case .reply(let type, _) = self { type } else { nil } }
    var payload: JSON {
        if case .reply(_, let payload) = self { (try? JSON(parsing: payload)) ?? .null } else { .null }
    }
    var code: ErrorCode? { if case .refused(let refusal) = self { refusal.code } else { nil } }
}
