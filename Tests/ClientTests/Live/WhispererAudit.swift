import Contract
import Testing

@testable import WhisperClient

/// Watches what a whisperer sends, and holds it to contract §14.9's "the whisperer's client".
struct WhispererAudit {
    typealias Instant = ContinuousClock.Instant

    private var sent: [Instant] = []
    private var epoch: Int64 = 0
    private var seq: Int64 = 0
    private var generation = 0
    private var previous: LivePacketKind?
    private var needsSnapshot: String?
    private var diffs = 0
    private var firstDiff: Instant?
    private var wantedAt: Instant?
    private var isQuiet = false
    private(set) var kinds: [LivePacketKind: Int] = [:]

    mutating func refused() {
        self.needsSnapshot = "after an error"
        self.isQuiet = true
        self.wantedAt = nil
    }

    mutating func wanted(at now: Instant) {
        if self.wantedAt == nil, !self.isQuiet { self.wantedAt = now }
    }

    mutating func generationChanged() { self.needsSnapshot = "after a new generation" }

    /// A new epoch, or none: promises about time end.
    mutating func interrupted() {
        (self.wantedAt, self.firstDiff, self.isQuiet) = (nil, nil, false)
    }

    /// Time has passed, and the machine has been asked for packets.
    func passed(_ now: Instant) {
        if let wantedAt = self.wantedAt {
            #expect(now <= wantedAt + LiveLimits.wantedSnapshotWithin, "a snapshot that was wanted is late")
        }
        // A snapshot without a free slot goes within the next two slots.
        if let firstDiff = self.firstDiff, !self.isQuiet {
            #expect(now <= firstDiff + LiveLimits.snapshotInterval + .milliseconds(250), "5 s of typing, no snapshot")
        }
    }

    mutating func sent(_ packet: WhispererMachine.Packet, at now: Instant) {
        let header = packet.header
        self.kinds[header.kind, default: 0] += 1
        #expect(packet.content.kind == header.kind)
        self.sent.append(now)
        #expect(
            self.sent.count { $0 > now - .seconds(1) } <= LiveLimits.packetsPerSecondMax, "more than 25 in a second")
        self.sent.removeAll { $0 <= now - .seconds(1) }
        guard header.to == nil else {
            #expect(header.position == LivePosition(epoch: self.epoch, seq: self.seq))
            #expect(self.previous != .line, "a line without a snapshot behind it")
            return
        }
        if header.position.epoch != self.epoch {
            self.needsSnapshot = "first of an epoch"
            (self.epoch, self.seq) = (header.position.epoch, 0)
        }
        #expect(header.position == LivePosition(epoch: self.epoch, seq: self.seq + 1))
        self.seq = header.position.seq
        if self.previous == .line { self.needsSnapshot = "behind a line" }
        if let why = self.needsSnapshot { #expect(header.kind == .snapshot, "a snapshot is due: \(why)") }
        #expect(header.generation >= self.generation)
        self.generation = header.generation
        self.previous = header.kind
        switch header.kind {
        case .snapshot:
            (self.needsSnapshot, self.wantedAt, self.firstDiff, self.diffs) = (nil, nil, nil, 0)
            self.isQuiet = false
        case .diff:
            self.diffs += 1
            self.firstDiff = self.firstDiff ?? now
            #expect(self.diffs <= LiveLimits.diffsPerSnapshotMax)
        case .line, .cue: break
        }
    }
}
