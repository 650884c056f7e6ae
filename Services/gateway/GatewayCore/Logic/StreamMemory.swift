import ClusterContract
import Contract
import NIOCore

/// A packet as listeners get it.
struct RememberedPacket: Equatable {
    var header: LivePacketHeader
    /// When the home read it.
    var at: Timestamp
    /// The whole WebSocket message. Listeners share these bytes.
    var frame: ByteBuffer

    var position: LivePosition { self.header.position }
    var bytes: Int { self.frame.readableBytes }
}

/// How far one listener is.
struct ListenerPosition: Equatable {
    /// The last packet to all that was written to it, or that it says it has.
    var position = LivePosition.start
    /// The greatest number of a line that it has, or that was completed before it joined.
    var line: Int
    /// When it first joined this stream. It gets no line completed before.
    var since: Timestamp
    /// It has had a snapshot, or says that it has text.
    var hasText = false

    /// It has all that there is: the stream has said nothing yet.
    mutating func startsHere(_ position: LivePosition) {
        self.position = position
        self.hasText = true
    }

    /// This packet of the sequence was written to it.
    mutating func gave(_ packet: RememberedPacket) {
        self.position = packet.position
        if packet.header.kind == .line { self.line = max(self.line, packet.header.line) }
        if packet.header.kind == .snapshot { self.hasText = true }
    }

    /// This line was written to it out of the sequence.
    mutating func gave(line packet: RememberedPacket) { self.line = max(self.line, packet.header.line) }
}

/// One gateway's memory of a stream (contract §14.10): the newest snapshot, the packets behind it, and the newest
/// lines. It never holds a packet of an older generation.
struct StreamMemory {
    /// The newest packet to all. Packets before it may not be here.
    private(set) var position = LivePosition.start
    private(set) var content: UUIDText?
    private(set) var generation = 1
    /// Lines that are completed; `nil` if no packet has said so yet.
    private(set) var completed: Int?
    private(set) var snapshot: RememberedPacket?
    /// Everything behind the snapshot, in order.
    private(set) var behind: [RememberedPacket] = []
    /// By their numbers.
    private(set) var lines: [RememberedPacket] = []
    /// Before the snapshot, in order.
    private(set) var cues: [RememberedPacket] = []
    /// Size of all packets above.
    private(set) var bytes = 0

    // MARK: The stream

    /// The stream is this one now. Packets that do not belong to it are forgotten.
    mutating func follow(_ stream: LiveStream) {
        if stream.content != self.content {
            self.forget()
            self.content = stream.content
            self.completed = nil
            self.position = LivePosition(epoch: stream.epoch, seq: 0)
        } else if stream.epoch > self.position.epoch {
            self.forgetText()
            self.position = LivePosition(epoch: stream.epoch, seq: 0)
        }
        self.follow(generation: stream.generation)
    }

    private mutating func follow(generation: Int) {
        guard generation > self.generation else { return }
        self.generation = generation
        // Listeners admitted since have no older key, and listeners removed since still have one.
        self.forget()
    }

    /// Forgets all packets, and not how far the stream is.
    mutating func forget() {
        self.forgetText()
        self.lines = []
        self.bytes = 0
    }

    private mutating func forgetText() {
        self.bytes -= self.snapshot?.bytes ?? 0
        self.bytes -= (self.behind + self.cues).reduce(0) { $0 + $1.bytes }
        self.snapshot = nil
        self.behind = []
        self.cues = []
    }

    // MARK: Packets

    enum Addition: Equatable {
        /// It follows what is here.
        case next
        /// Something before it is missing here.
        case afterGap
        /// It is not above what is here, or of an older generation.
        case old
    }

    /// A packet to all has come.
    /// - Parameter previous: the `seq` of the packet to all before it in its epoch; 0 for none.
    mutating func add(_ packet: RememberedPacket, after previous: Int64) -> Addition {
        let header = packet.header
        guard header.generation >= self.generation else { return .old }
        self.follow(generation: header.generation)
        if header.kind == .line { self.remember(line: packet) }
        guard header.position > self.position else {
            self.trim()
            return .old
        }
        let isNext = header.position.epoch == self.position.epoch ? previous == self.position.seq : previous == 0
        self.position = header.position
        self.completed = max(self.completed ?? 0, header.line)
        if header.kind == .snapshot {
            self.replaceSnapshot(with: packet)
        } else if !isNext || self.behind.count >= LiveFeedLimits.packetsBehindMax {
            self.forgetText()
        } else if self.snapshot != nil {
            self.behind.append(packet)
            self.bytes += packet.bytes
        }
        self.trim()
        return isNext ? .next : .afterGap
    }

    private mutating func replaceSnapshot(with packet: RememberedPacket) {
        let fresh = packet.at - LiveFeedLimits.cueLife
        let cues = (self.cues + self.behind).filter { $0.header.kind == .cue && $0.at >= fresh }
        self.forgetText()
        self.cues = cues.suffix(LiveFeedLimits.cuesMax)
        self.snapshot = packet
        self.bytes += packet.bytes + self.cues.reduce(0) { $0 + $1.bytes }
    }

    /// A line that comes again keeps the time of its first coming.
    private mutating func remember(line packet: RememberedPacket) {
        let place = self.lines.lastIndex { $0.header.line <= packet.header.line }
        if let place, self.lines[place].header.line == packet.header.line { return }
        self.lines.insert(packet, at: place.map { $0 + 1 } ?? 0)
        self.bytes += packet.bytes
        if self.lines.count > LiveLimits.linesRememberedMax { self.bytes -= self.lines.removeFirst().bytes }
    }

    private mutating func trim() {
        while self.bytes > LiveFeedLimits.streamBytesMax {
            if self.lines.isEmpty { return self.forgetText() }
            self.bytes -= self.lines.removeFirst().bytes
        }
    }

    // MARK: Between gateways

    /// A copy for another gateway that has the packet at `known`.
    func copy(of stream: LiveStream, for known: LivePosition) -> FeedMemory {
        FeedMemory(
            stream: stream, position: self.position, completed: self.completed,
            snapshot: self.snapshot.map { FeedPacket($0) }, behind: self.behind.map { FeedPacket($0) },
            lines: self.lines.filter { $0.position > known }.map { FeedPacket($0) })
    }

    /// Takes what the home remembers. The stream is followed already.
    mutating func take(_ memory: FeedMemory) {
        guard memory.stream.content == self.content else { return }
        for line in memory.lines where line.header.generation >= self.generation {
            self.remember(line: RememberedPacket(line))
        }
        defer { self.trim() }
        let isNewer = memory.position > self.position || memory.position == self.position && self.snapshot == nil
        guard isNewer else { return }
        let text = ([memory.snapshot].compactMap { $0 } + memory.behind).map { RememberedPacket($0) }
        let cues = self.cues
        self.forgetText()
        self.position = memory.position
        self.completed = memory.completed.map { max(self.completed ?? 0, $0) } ?? self.completed
        guard let snapshot = text.first, snapshot.header.kind == .snapshot,
            text.allSatisfy({ $0.header.generation >= self.generation })
        else { return }
        self.snapshot = snapshot
        self.behind = Array(text.dropFirst().prefix(LiveFeedLimits.packetsBehindMax))
        self.cues = cues.filter { $0.position < snapshot.position }
        self.bytes += (text.prefix(1) + self.behind + self.cues).reduce(0) { $0 + $1.bytes }
    }

    // MARK: What a listener gets

    struct Gift: Equatable {
        /// Out of the sequence: they change no position.
        var lines: [RememberedPacket] = []
        /// In the sequence, behind the lines.
        var text: [RememberedPacket] = []
        /// A snapshot has to come before the listener can go on.
        var needsSnapshot = false
        /// Lines from this number on are not here, and the listener may have them.
        var missingFrom: Int?

        var isEmpty: Bool { self.lines.isEmpty && self.text.isEmpty }
    }

    /// The packets that bring the listener from its position to the newest packet.
    /// - Parameter canAsk: the stream has a holder, who can make a snapshot.
    func gift(for listener: ListenerPosition, at now: Timestamp, canAsk: Bool) -> Gift {
        var gift = Gift()
        let fresh = now - LiveFeedLimits.cueLife
        if listener.hasText, listener.position >= self.position {
            // It has all of the text.
        } else if let snapshot = self.snapshot {
            let has = listener.hasText && listener.position >= snapshot.position
            if has {
                gift.text = self.behind.filter { $0.position > listener.position }
            } else {
                if listener.hasText {
                    gift.text = self.cues.filter { $0.at >= fresh && $0.position > listener.position }
                }
                gift.text += [snapshot] + self.behind
            }
        } else {
            gift.needsSnapshot = true
        }
        // Text before a line that the listener must not see is a part of that line.
        let isHidden = { (line: RememberedPacket) in
            line.at < listener.since || !listener.hasText && line.header.line <= listener.line
        }
        if gift.text.contains(where: { $0.header.kind == .line && isHidden($0) }) {
            gift.text = []
            gift.needsSnapshot = true
        }
        var end = LivePosition(epoch: .max, seq: .max)
        // An old cue is not played again, and nothing fits behind it.
        if canAsk, let old = gift.text.firstIndex(where: { $0.header.kind == .cue && $0.at < fresh }) {
            end = gift.text[old].position
            gift.text = Array(gift.text[..<old])
            gift.needsSnapshot = true
        }
        let inText = Set(gift.text.lazy.filter { $0.header.kind == .line }.map(\.header.line))
        gift.lines = self.lines.filter {
            $0.header.line > listener.line && $0.at >= listener.since && $0.position < end
                && !inText.contains($0.header.line)
        }
        gift.missingFrom = self.firstMissing(for: listener)
        return gift
    }

    /// The first line that the listener may have and that is not here.
    private func firstMissing(for listener: ListenerPosition) -> Int? {
        guard let completed = self.completed else { return nil }
        // Lines completed before one that the listener must not have are withheld, too.
        let hidden = self.lines.last { $0.at < listener.since }?.header.line ?? 0
        var next = max(listener.line, hidden) + 1
        for line in self.lines where line.header.line >= next {
            guard line.header.line == next else { return next }
            next += 1
        }
        return next <= completed ? next : nil
    }
}

extension FeedPacket {
    init(_ packet: RememberedPacket) {
        self.init(header: packet.header, at: packet.at, frame: Array(packet.frame.readableBytesView))
    }
}

extension RememberedPacket {
    init(_ packet: FeedPacket) {
        self.init(header: packet.header, at: packet.at, frame: ByteBuffer(bytes: packet.frame))
    }
}
