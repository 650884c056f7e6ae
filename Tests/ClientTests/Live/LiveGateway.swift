import Contract

@testable import WhisperClient

/// A gateway's handling of content (contract §14.9, §14.10), as far as machines notice it: checks, memory, catching up.
struct LiveGateway {
    typealias Packet = WhispererMachine.Packet
    typealias Instant = ContinuousClock.Instant

    /// Messages to listeners and to the whisperer.
    enum Told {
        case toAll(Packet)
        case toOne(Int, Packet)
        case wanted(WhispererMachine.Want)
    }

    private struct Seat {
        let listener: PrincipalID
        /// Lines that were completed when it first joined this stream, and when that was.
        let linesBefore: Int
        let since: Timestamp
        var linesWantedAt: Instant?
    }

    private(set) var content: UUIDText?
    private(set) var position = LivePosition.start
    private(set) var line = 0
    var state = ListenerMachine.Stream.State.idle
    private var snapshot: Packet?
    private var behind: [Packet] = []
    private var lines: [Packet] = []
    private var seats: [Int: Seat] = [:]
    private var wantedAt: Instant?

    /// `live_start`.
    /// - Parameter joined: who is there already, and hears all of it.
    /// - Returns: the new epoch.
    mutating func start(_ content: UUIDText, joined: [Int: PrincipalID], time: Timestamp) -> Int64 {
        if content != self.content {
            (self.line, self.lines, self.snapshot, self.behind) = (0, [], nil, [])
            self.seats = joined.mapValues { Seat(listener: $0, linesBefore: 0, since: time) }
        }
        self.content = content
        self.state = .live
        self.position = LivePosition(epoch: self.position.epoch + 1, seq: 0)
        return self.position.epoch
    }

    /// The home process is gone; the next one knows nothing but who has joined.
    mutating func forget() { (self.snapshot, self.behind, self.lines) = (nil, [], []) }

    mutating func received(_ packet: Packet, from ears: [PrincipalID]) -> [Told] {
        let header = packet.header
        // A packet of a former holder.
        guard header.position.epoch == self.position.epoch else { return [] }
        if let to = header.to {
            guard header.position.seq == self.position.seq, let ear = ears.firstIndex(of: to) else { return [] }
            return [.toOne(ear, packet)]
        }
        guard header.position > self.position else { return [] }
        self.position = header.position
        self.line = max(self.line, header.line)
        if header.kind == .snapshot {
            (self.snapshot, self.behind) = (packet, [])
        } else {
            self.behind.append(packet)
            self.behind.removeFirst(max(0, self.behind.count - 64))
        }
        if header.kind == .line {
            self.lines.append(packet)
            self.lines.removeFirst(max(0, self.lines.count - LiveLimits.linesRememberedMax))
        }
        return [.toAll(packet)]
    }

    /// A line that this listener is not to have.
    func forbidden(_ ear: Int) -> Packet? {
        self.seats[ear].flatMap { seat in self.lines.last { $0.header.line <= seat.linesBefore } }
    }

    /// `live_join`.
    mutating func join(
        _ ear: Int, as listener: PrincipalID, after: ListenerMachine.After?, at now: Instant, time: Timestamp
    ) -> (packets: [Packet], told: [Told]) {
        guard let content = self.content else { return ([], []) }
        if self.seats[ear] == nil {
            self.seats[ear] = Seat(listener: listener, linesBefore: self.line, since: time)
        }
        let after = after?.content == content ? after : nil
        return self.catchUp(ear, from: after?.position ?? .start, line: after?.line ?? self.line, at: now)
    }

    /// `live_resync`, and the rest of `live_join`.
    mutating func catchUp(
        _ ear: Int, from position: LivePosition, line: Int, at now: Instant
    )
        -> (packets: [Packet], told: [Told])
    {
        guard var seat = self.seats[ear] else { return ([], []) }
        var told: [Told] = []
        let first = max(line, seat.linesBefore) + 1
        let missed = Dictionary(
            self.lines.filter { $0.header.line >= first }.map { ($0.header.line, $0) }, uniquingKeysWith: { $1 })
        var packets = missed.values.sorted { $0.header.line < $1.header.line }
        if first <= self.line, !(first...self.line).allSatisfy({ missed[$0] != nil }),
            seat.linesWantedAt.map({ now >= $0 + .seconds(1) }) ?? true
        {
            seat.linesWantedAt = now
            self.seats[ear] = seat
            told.append(.wanted(.lines(for: seat.listener, from: first, since: seat.since)))
        }
        var reached = position
        if let snapshot = self.snapshot, snapshot.header.position > reached {
            packets.append(snapshot)
            reached = snapshot.header.position
        }
        for packet in self.behind where packet.header.position > reached {
            packets.append(packet)
            if packet.header.position.directlyFollows(reached) || packet.header.kind == .line {
                reached = packet.header.position
            }
        }
        if reached < self.position || self.position.seq == 0,
            self.wantedAt.map({ now >= $0 + .milliseconds(250) }) ?? true
        {
            self.wantedAt = now
            told.append(.wanted(.snapshot))
        }
        return (packets, told)
    }
}
