import LocalStack
import TestKit

/// One of a pair who write to each other while the cluster is being mistreated. Does what a good client does: keeps
/// several messages under way, repeats with the same ids what was refused, lost or not answered, acknowledges all that
/// arrives, comes back when its connection ends, and then reads its mailbox.
actor Correspondent {
    nonisolated let person: Person
    nonisolated let id: String
    private let token: String
    private let ledger: Ledger
    private let stack: LocalStack
    private var gateway: Int
    private var peer = ""
    private var random: SeededGenerator

    private var phone: Phone?
    private var connections = 0
    /// Sent and not acknowledged yet, in order.
    private var underWay: [(id: String, message: Fields, sentAt: ContinuousClock.Instant?)] = []
    private var nextAt: ContinuousClock.Instant = .now
    private var isWriting = true
    /// The page under way was asked for at this moment of the ledger; nil when none is.
    private var pageAskedAt: Int?
    private var fetchedAt: ContinuousClock.Instant = .now
    private(set) var accepted = 0
    private(set) var untold: Set<String> = []

    /// Messages that wait for their acknowledgement before it writes another.
    private static let underWayMax = 4
    /// How long it waits for an answer before it says the same again.
    private static let silenceMax = Duration.seconds(4)
    /// Between two looks at what there is to do.
    private static let look = Duration.milliseconds(5)
    /// Between two messages, on average.
    private static let pause = 10

    init(_ phone: Phone, gateway: Int, ledger: Ledger, stack: LocalStack, seed: UInt64) {
        self.person = phone.person
        self.id = phone.id
        self.token = phone.token
        self.gateway = gateway
        self.ledger = ledger
        self.stack = stack
        self.random = SeededGenerator(seed: seed)
    }

    func writes(to peer: Correspondent) { self.peer = peer.id }

    /// Writes no new messages; those under way are seen through.
    func stopWriting() { self.isWriting = false }

    /// Whether all it sent is accepted and its recipient's receipts are here.
    var isSettled: Bool { self.underWay.isEmpty && self.untold.isEmpty && self.phone != nil && self.pageAskedAt == nil }

    /// Until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            guard let client = try? await TestClient.connect(to: self.stack.endpoint(ofGateway: self.gateway)) else {
                // That one is down: try the other.
                self.gateway = 3 - self.gateway
                try? await Task.sleep(for: .milliseconds(50))
                continue
            }
            await self.serve(client)
            self.phone = nil
            self.pageAskedAt = nil
        }
    }

    private func serve(_ client: TestClient) async {
        self.connections += 1
        let phone = self.phone(on: client)
        self.phone = phone
        for index in self.underWay.indices { self.underWay[index].sentAt = nil }
        self.fetch(nil, phone)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.listen(phone) }
            group.addTask { await self.write(phone) }
            await group.next()
            client.cut()
            group.cancelAll()
        }
    }

    /// The session of before, on another connection.
    func phone(on client: TestClient) -> Phone {
        Phone(client: client, person: self.person, id: self.id, token: self.token)
    }

    // MARK: Writing

    /// The pause is the traffic's own pace; nothing waits for a condition here.
    private func write(_ phone: Phone) async {
        while !Task.isCancelled, phone.client.ending == nil {
            let now = ContinuousClock.now
            // An answer that does not come: the same question again.
            if self.pageAskedAt != nil, now - self.fetchedAt > Self.silenceMax { self.fetch(nil, phone) }
            for index in self.underWay.indices {
                let entry = self.underWay[index]
                if let sentAt = entry.sentAt, now - sentAt <= Self.silenceMax { continue }
                self.send(index, phone)
            }
            if self.isWriting, now >= self.nextAt, self.underWay.count < Self.underWayMax {
                self.nextAt = now + .milliseconds(Int.random(in: 0...2 * Self.pause, using: &self.random))
                let bytes = Int.random(in: 1...2_000, using: &self.random)
                let message = phone.message(to: self.peer, bytes: bytes)
                let id = message["messageId"]!.json.string!
                self.untold.insert(id)
                self.underWay.append((id, message, nil))
                self.send(self.underWay.count - 1, phone)
            }
            try? await Task.sleep(for: Self.look)
        }
    }

    private func send(_ index: Int, _ phone: Phone) {
        let entry = self.underWay[index]
        self.underWay[index].sentAt = .now
        self.ledger.sends(entry.id, from: self.id, to: self.peer, on: self.connections)
        phone.client.send("send_message", phone.privileges.with(entry.message), requestID: "m" + entry.id)
    }

    private func fetch(_ cursor: String?, _ phone: Phone) {
        let moment = self.ledger.now
        self.pageAskedAt = moment
        self.fetchedAt = .now
        var fields = phone.privileges
        fields["cursor"] = cursor
        // The answer says which question it belongs to, and so when that was asked.
        phone.client.send("fetch_pending", fields, requestID: "f\(moment)")
    }

    // MARK: Listening

    private func listen(_ phone: Phone) async {
        while let frame = await phone.client.next() { self.handle(frame, phone) }
    }

    private func handle(_ frame: ServerFrame, _ phone: Phone) {
        switch frame.type {
        case "message_accepted": self.wasAccepted(frame.payload.id)
        case "message_received": self.take(frame.payload, .live, phone)
        case "message_delivered":
            self.untold.remove(frame.payload.id)
            self.ledger.delivered(frame.payload.id)
        case "pending_messages":
            guard let moment = frame.requestID.flatMap({ Int($0.dropFirst()) }) else { break }
            for message in Page(frame: frame).messages { self.take(message, .page(askedAt: moment), phone) }
            guard moment == self.pageAskedAt else { break }
            self.pageAskedAt = nil
            if let cursor = Page(frame: frame).nextCursor { self.fetch(cursor, phone) }
        case "error" where frame.errorCode == "INTERNAL_ERROR": self.repeatSoon(frame.requestID ?? "", phone)
        case "error" where frame.errorCode == "AUTH_FAILED" && frame.requestID == nil:
            // A session that somebody took over; nobody did.
            self.ledger.remark("\(self.id) was told that its session was replaced")
        // The pairs write to each other, so they are peers; who is online is another suite's business.
        case "presence_update": break
        default: self.ledger.remark("\(self.id) got \(frame)")
        }
    }

    private func wasAccepted(_ id: String) {
        self.ledger.accepted(id)
        guard let index = self.underWay.firstIndex(where: { $0.id == id }) else { return }
        self.underWay.remove(at: index)
        self.accepted += 1
    }

    /// Not accepted, safe to retry with the same id.
    private func repeatSoon(_ requestID: String, _ phone: Phone) {
        if requestID == self.pageAskedAt.map({ "f\($0)" }) { return self.fetch(nil, phone) }
        if let index = self.underWay.firstIndex(where: { "m" + $0.id == requestID }) { self.underWay[index].sentAt = nil }
    }

    private func take(_ message: JSON, _ way: Ledger.Way, _ phone: Phone) {
        guard let from = message["from"]?.string else { return }
        self.ledger.arrived(message.id, from: from, at: self.id, way)
        phone.acknowledge(message.id, from: from)
    }
}

/// SplitMix64: the same numbers for the same seed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var z = self.state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }
}
