import Contract
import NIOCore

/// One conversation of the measurement: a whisperer that types, and where its listeners are.
final class LiveConversation {
    let frames: LiveFrames
    let whisperer: Client
    let listeners: [Client]
    /// Packets typed so far.
    private(set) var typed = 0
    /// Nanoseconds of `NIODeadline` at which each packet was due.
    private(set) var dueAt: [UInt64] = []
    /// What each listener should hear next, in the order of `listeners`.
    private var expected: [Int]
    private var joined = 0
    private var called = 0
    private var packets: [[UInt8]] = []
    private var seqAt = 0

    /// Packets are numbered from here, so that all numbers have the same width. Gaps are allowed (contract §14.9).
    private static let firstSeq = 1_000_000_000
    static let seqDigits = 10
    /// A snapshot stands behind so many diffs (contract §14.9).
    private static let snapshotEvery = 32

    init(_ frames: LiveFrames, whisperer: Client, listeners: [Client]) {
        self.frames = frames
        self.whisperer = whisperer
        self.listeners = listeners
        self.expected = Array(repeating: 0, count: listeners.count)
    }

    var hasEverybody: Bool { self.joined == self.listeners.count }

    func join() { self.joined += 1 }

    /// Whoever comes next, if there is somebody.
    func nextListener() -> Client? {
        guard self.called < self.listeners.count else { return nil }
        defer { self.called += 1 }
        return self.listeners[self.called]
    }

    /// Packets are made beforehand: their seals hold chance, and only the number changes.
    func prepare(payload: Int) {
        self.packets = ["snapshot", "diff"].map { kind in
            Array(self.packet(kind, ciphertext: base64(SigningKeys.random(payload + LiveLimits.tagBytes))).utf8)
        }
        self.seqAt = self.head.utf8.count
    }

    private var head: String {
        #"{"type":"live_packet","payload":{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"\#(self.whisperer.token)","#
            + #""conversationId":"\#(self.frames.id)","epoch":1,"seq":"#
    }

    private func packet(_ kind: String, ciphertext: String) -> String {
        self.head + String(Self.firstSeq) + #","kind":"\#(kind)","line":0,"generation":1,"nonce":""#
            + base64(SigningKeys.random(LiveLimits.nonceBytes)) + #"","ciphertext":"\#(ciphertext)"}}"#
    }

    func type(dueAt time: UInt64, on fleet: isolated Fleet) {
        let packet = self.packets[self.typed % Self.snapshotEvery == 0 ? 0 : 1]
        var rest = Self.firstSeq + self.typed
        self.typed += 1
        self.dueAt.append(time)
        fleet.write(to: self.whisperer, count: packet.count) {
            $0.copyBytes(from: packet)
            for place in stride(from: self.seqAt + Self.seqDigits - 1, through: self.seqAt, by: -1) {
                $0[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
        }
    }

    enum Heard {
        case next(dueAt: UInt64)
        /// So many packets before it were left out.
        case later(missing: Int, dueAt: UInt64)
        case again
        case unknown
    }

    /// - Parameter listener: its place in `listeners`.
    func hear(_ seq: Int, by listener: Int) -> Heard {
        let number = seq - Self.firstSeq
        guard number >= 0, number < self.typed else { return .unknown }
        let missing = number - self.expected[listener]
        guard missing >= 0 else { return .again }
        self.expected[listener] = number + 1
        let time = self.dueAt[number]
        return missing == 0 ? .next(dueAt: time) : .later(missing: missing, dueAt: time)
    }

    /// Packets that listeners have not heard yet.
    var outstanding: Int { self.expected.reduce(0) { $0 + self.typed - $1 } }
}
