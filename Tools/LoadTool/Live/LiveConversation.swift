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
    /// Listeners that have not heard each packet yet, if they are counted.
    private var awaited: [Int] = []
    /// The packet that each listener should receive next, in the order of `listeners`; `nil`: any packet.
    private var expected: [Int?]
    /// Under which epoch each heard the last one.
    private var heardEpochs: [Int64]
    private var joined = 0
    private var called = 0
    /// A snapshot and a diff.
    private var packets: [[UInt8]] = []
    private var seqAt = 0
    /// Epoch of the current stream. Streams begin with 1 (contract §14.8).
    private(set) var epoch: Int64 = 1

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
        self.heardEpochs = Array(repeating: 1, count: listeners.count)
    }

    var hasEverybody: Bool { self.joined == self.listeners.count }

    /// - Parameter listener: its place in `listeners`. A listener that joins before the first packet receives all of
    /// them.
    func join(_ listener: Int) {
        self.joined += 1
        if self.typed > 0 { self.expected[listener] = nil }
    }

    /// The next listener, if there is one.
    func nextListener() -> Client? {
        guard self.called < self.listeners.count else { return nil }
        defer { self.called += 1 }
        return self.listeners[self.called]
    }

    // MARK: Typing

    /// Packets are made beforehand: their seals hold chance, and only the number changes.
    func prepare(payload: Int) {
        self.packets = [.snapshot, .diff].map { kind in
            self.whisperer.text(self.packet(kind, Self.firstSeq, payload: payload))
        }
        self.seqAt = self.packets[0].withUnsafeBytes { $0.end(of: #""seq":"#) }!
    }

    /// The stream goes on after a loss. Its first packet is a snapshot (contract §14.8).
    func resume(epoch: Int64, payload: Int) {
        self.epoch = epoch
        self.prepare(payload: payload)
        self.wantsSnapshot = true
    }

    private var wantsSnapshot = false

    private func packet(_ kind: LivePacketKind, _ seq: Int, line: Int = 0, payload: Int) -> SendLivePacket {
        let header = LivePacketHeader(
            conversation: self.frames.id, position: LivePosition(epoch: self.epoch, seq: Int64(seq)), kind: kind,
            line: line, generation: 1, to: nil)
        return SendLivePacket(
            LivePacket(
                header: header, nonce: SigningKeys.random(LiveLimits.nonceBytes),
                ciphertext: SigningKeys.random(payload + LiveLimits.tagBytes)))
    }

    func type(dueAt time: UInt64, on fleet: isolated Fleet) {
        let isSnapshot = self.wantsSnapshot || self.typed % Self.snapshotEvery == 0
        self.wantsSnapshot = false
        let packet = self.packets[isSnapshot ? 0 : 1]
        var rest = Self.firstSeq + self.typed
        self.typed += 1
        self.dueAt.append(time)
        self.awaited.append(self.listeners.count)
        fleet.write(to: self.whisperer, count: packet.count) {
            $0.copyBytes(from: packet)
            for place in stride(from: self.seqAt + Self.seqDigits - 1, through: self.seqAt, by: -1) {
                $0[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
        }
    }

    /// A completed line. Its number is that of its packet, too.
    func line(_ number: Int) -> SendLivePacket {
        self.packet(.line, number, line: number, payload: LiveTraffic.payload)
    }

    // MARK: Hearing

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
        let missing = self.expected[listener].map { number - $0 } ?? 0
        guard missing >= 0 else { return .again }
        self.expected[listener] = number + 1
        self.heardEpochs[listener] = self.epoch
        self.awaited[number] -= 1
        let time = self.dueAt[number]
        return missing == 0 ? .next(dueAt: time) : .later(missing: missing, dueAt: time)
    }

    /// Whether everybody has heard the packet.
    func isHeardByAll(_ seq: Int) -> Bool { self.awaited[seq - Self.firstSeq] == 0 }

    /// Whether a listener has heard the newest packet of all that were typed when there were `count`.
    func hasHeard(_ count: Int, by listener: Int) -> Bool { (self.expected[listener] ?? 0) >= count }

    /// The newest packet that the listener has heard, for `live_join`; `nil`: none.
    func position(of listener: Int) -> LivePosition? {
        guard let next = self.expected[listener], next > 0 else { return nil }
        return LivePosition(epoch: self.heardEpochs[listener], seq: Int64(Self.firstSeq + next - 1))
    }

    /// Packets that listeners have not heard yet.
    var outstanding: Int { self.expected.reduce(0) { $0 + self.typed - ($1 ?? 0) } }
}
