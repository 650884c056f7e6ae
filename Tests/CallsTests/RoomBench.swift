import ClusterContract
import Contract
import Participants
import Telemetry
import TestKit
import Testing

@testable import RoomsCore

/// A book of rooms that tests drive by frames. Signatures are libsodium's.
struct RoomBench {
    typealias Device = LiveBench.Device
    typealias Guest = LiveBench.Listener

    let id = newUUID()
    let proof = Keys.random(32)
    let host = Device(1)
    let guest = Guest(2)
    var book = RoomBook()
    var signals = KeptSignals()
    var now = LiveBench.start
    var facts = RoomFacts()
    var effects: [RoomEffect] = []
    var misses: [UInt64] = []

    init() {
        var turn = TurnConfiguration(urls: ["turn:relay.example"], secret: Secret("s"))
        turn.ttl = .seconds(43_200)
        self.facts.relays.turn = turn
        let period = RelayPeriod(at: self.now, life: .seconds(43_200))
        self.facts.relays.identities = (period, [1])
        self.facts.relays.guests = (RelayPeriod(at: self.now, life: RoomLimits.guestTurnTTL), [2])
        self.facts.salt = Keys.random(16)
        self.refill()
    }

    /// Codes that nobody has.
    mutating func refill() {
        for digits in [6, 8, 10] {
            self.facts.freeCodes[digits] = (0..<4).map { _ in
                JoinCode((0..<digits).map { _ in "\(Int.random(in: 0...9))" }.joined())!
            }
        }
    }

    var room: RoomMachine! { self.book[UUIDText(self.id)!] }

    // MARK: Driving

    @discardableResult
    mutating func rules<Value>(for principals: [PrincipalID] = [], _ body: (inout RoomRules) -> Value) -> Value {
        for principal in principals {
            self.facts.accounts[principal] = AccountStatus(epoch: Epoch(value: 1), isBanned: false)
        }
        var rules = RoomRules(book: self.book, signals: self.signals, facts: self.facts, at: self.now)
        let value = body(&rules)
        (self.effects, self.misses) = (rules.effects, rules.misses)
        (self.book, self.signals) = (rules.book, rules.signals)
        self.book.commit()
        // As the tables would have it.
        for room in self.book.all { if let code = room.code { self.facts.codes[code.code] = room.id } }
        return value
    }

    mutating func send(
        _ type: String, _ fields: Fields, as principal: Principal, on connection: LiveConnection
    ) throws -> Answer {
        let definition = try #require(FrameCatalogue.definition(of: type))
        let json = Array(Person.versions.with(fields).json.text.utf8)
        let payload = try FrameDecoder.payload(bare: json, schema: definition.schema)
        let body = try #require(try RoomFrame.Body(type, payload))
        return self.rules(for: [principal.id]) {
            $0.received(RoomFrame(body, from: principal, on: connection, receivedAt: $0.time, origin: 7))
        }
    }

    mutating func send(_ type: String, _ fields: Fields, as device: Device) throws -> Answer {
        try self.send(type, fields, as: device.principal, on: device.connection)
    }

    mutating func send(_ type: String, _ fields: Fields, as guest: Guest) throws -> Answer {
        try self.send(type, fields, as: guest.principal, on: guest.connection)
    }

    // MARK: Frames

    var named: Fields { ["roomId": self.id] }

    func create(_ more: Fields = [:]) -> Fields {
        self.named.with(Self.members(of: self.host.keys)).with(more)
    }

    func join(_ keys: Keys, code: String, pin: String? = nil) -> Fields {
        Self.members(of: keys).with(["code": code]).with(pin.map { ["pin": $0] } ?? [:])
    }

    func join(_ keys: Keys, proof: [UInt8]? = nil) -> Fields {
        self.named.with(Self.members(of: keys)).with(proof.map { ["linkProof": $0.base64] } ?? [:])
    }

    static func members(of keys: Keys) -> Fields {
        ["signPublicKey": keys.signPublicKey.base64, "encPublicKey": keys.encPublicKey.base64]
    }

    func signal(
        _ kind: String, from: PrincipalID, to: PrincipalID, by keys: Keys, nonce: [UInt8] = Keys.random(12),
        ciphertext: [UInt8] = Keys.random(64)
    ) -> Fields {
        let (nonce, ciphertext) = (nonce.base64, ciphertext.base64)
        let lines = ["v1", "room_signal", self.id, "\(from)", "\(to)", "\(self.now.milliseconds)", nonce, ciphertext]
        let digest = Keys.sha256(Array(lines.map { $0 + "\n" }.joined().utf8))
        return self.named.with([
            "kind": kind, "to": "\(to)", "from": "\(from)", "timestamp": self.now.milliseconds, "nonce": nonce,
            "ciphertext": ciphertext, "sig": keys.sign(digest).base64,
        ])
    }

    // MARK: What was told

    func frames(_ type: String, on connection: LiveConnection) -> [JSON] {
        self.effects.compactMap { effect in
            guard case .frame(connection, let frame) = effect, frame.type == type else { return nil }
            return try? JSON(parsing: frame.payload)
        }
    }

    func events(_ connection: LiveConnection) -> [String] {
        self.frames("room_event", on: connection).compactMap { $0["event"]?.string }
    }

    var woken: [WhisperID] {
        self.effects.compactMap { if case .wake(let identity, _) = $0 { identity } else { nil } }
    }

    /// Created by the host, with a link.
    static func created(_ more: Fields = [:]) throws -> (RoomBench, code: String) {
        var bench = RoomBench()
        let fields = bench.create(["linkVerifier": Keys.sha256(bench.proof).base64]).with(more)
        let joined = try bench.send("room_create", fields, as: bench.host)
        try #require(joined.type == "room_joined")
        return (bench, joined.payload["code"]?.string ?? "")
    }

    /// With the guest, who came by code.
    static func accepted(_ more: Fields = [:]) throws -> (RoomBench, code: String) {
        var (bench, code) = try Self.created(more)
        let joined = try bench.send("room_join", bench.join(bench.guest.keys, code: code), as: bench.guest)
        try #require(joined.type == "room_joined")
        return (bench, code)
    }
}
