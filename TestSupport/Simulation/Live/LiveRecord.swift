import ClusterContract
import Contract

@testable import WhisperClient

/// The record of sent text and shown text, which reports violations (contract §14.7 to §14.12).
///
/// - **Text:** a listener shows the text that the whisperer had at that packet.
/// - **Lines:** each is the whisperer's, is shown once, and is never lost for a listener that has joined. A listener
///   may report missing lines only if a fault happened shortly before.
/// - **Late:** no line that another listener had before this one first asked to join since its last admission.
/// - **Removed:** nothing that was sent `cutMax` after the answer to the removal, and no key of a later generation.
/// - **Generations:** no packet of an older generation follows `live_joined`.
/// - **Durable:** a received `live_started`, `live_granted` or `live_line_stored` is in the store.
final class LiveRecord {
    private struct Line {
        var text: LiveText
        /// By the machine's clock.
        var saidAt: Int64
        /// When the first listener got the line.
        var seenAt: Int64?
    }

    private struct Packet {
        var text: LiveText
        var saidAt: Int64
    }

    /// All packets and lines of one stream.
    private struct Stream {
        var packets: [LivePosition: Packet] = [:]
        var lines: [Int: Line] = [:]
        /// Packets to all that a listener has got, and when the first one got them.
        var seen: [LivePosition: Int64] = [:]
    }

    /// The part of a stream that one listener was shown, from `began` on.
    private struct Shown {
        var content: UUIDText
        var lines: [Int: LiveText] = [:]
        var missing: Set<Int> = []
        /// When `live_joined` was received. Lines sent later must be shown.
        var joinedAt: Int64?
    }

    private struct Guest {
        var shown: Shown?
        /// When the listener first asked to join since its last admission.
        var since: Int64?
        /// When a device of the profile last admitted it.
        var letInAt: Int64?
        var removedAt: Int64?
        /// Periods from such a request to the removal that followed. Packets of that time may still wait in the socket.
        var before: [ClosedRange<Int64>] = []
    }

    private unowned let world: World
    private var streams: [UUIDText: Stream] = [:]
    private var guests: [PrincipalID: Guest] = [:]
    /// For each generation, the newest snapshot that any listener got.
    private var snapshots: [Int: LivePacket] = [:]
    private(set) var lineCount = 0
    private(set) var shownCount = 0
    private(set) var missingCount = 0

    /// Longest time after the answer to a removal in which new packets may still reach the removed listener;
    /// nanoseconds.
    static let cutMax: Int64 = .milliseconds(1_200)
    /// The same after faults, when a gateway's report must repair losses: twice `LiveFeedLimits.reportSeconds`, and the
    /// travel times.
    static let cutMaxAfterTrouble: Int64 = .seconds(14)
    /// How long after faults lines may be missing. They are requested for ten seconds
    /// (`LiveLimits.missingLinesShownAfter`), once they are known to be missing.
    static let missingAfterTrouble: Int64 = .seconds(25)

    init(_ world: World) { self.world = world }

    private var now: Int64 { self.world.machine.now }
    private func fault(_ text: String) { self.world.record.fault(text) }

    // MARK: Whisperers

    /// - Parameter text: the user's live text.
    func says(_ packet: WhispererMachine.Packet, in content: UUIDText, text: LiveText) {
        guard packet.header.to == nil else { return }
        var stream = self.streams[content] ?? Stream()
        let shown: LiveText
        switch packet.content {
        case .snapshot(let text, _): shown = text
        case .diff: shown = text
        case .line(let line):
            shown = LiveText()
            if stream.lines[packet.header.line] == nil {
                self.lineCount += 1
                stream.lines[packet.header.line] = Line(text: line, saidAt: self.now)
            }
        // The text is that of the previous packet.
        case .cue: shown = stream.packets[packet.header.position.before]?.text ?? LiveText()
        }
        stream.packets[packet.header.position] = Packet(text: shown, saidAt: self.now)
        self.streams[content] = stream
    }

    func started(_ started: LiveStarted) {
        if self.world.postgres.tables.calls.epoch(of: started.conversation) < started.epoch {
            self.fault("epoch \(started.epoch) was answered and is not stored")
        }
    }

    func granted(_ granted: LiveGranted) {
        if self.world.postgres.tables.calls.generation(of: granted.conversation) < granted.generation {
            self.fault("generation \(granted.generation) was answered and is not stored")
        }
    }

    func stored(_ stored: LiveLineStored) {
        let kept = self.world.postgres.tables.calls.storedLines(of: stored.content)
        for line in stored.lines where !kept.contains(line) { self.fault("line \(line) is told as stored and is not") }
    }

    func lets(_ listener: PrincipalID, into conversation: ConversationID) {
        self.guests[listener, default: Guest()].letInAt = self.now
    }

    /// The removal is answered.
    func removed(_ listener: PrincipalID, from conversation: ConversationID) {
        self.guests[listener, default: Guest()].removedAt = self.now
    }

    // MARK: Listeners

    func joins(_ listener: ListenerDevice) {
        var guest = self.guests[listener.id] ?? Guest()
        if let since = guest.since {
            guard let removedAt = guest.removedAt, since <= removedAt else { return }
            guest.before.append(since...removedAt)
        }
        guest.since = self.now
        self.guests[listener.id] = guest
    }

    func joined(_ listener: ListenerDevice) {
        guard self.guests[listener.id]?.shown?.joinedAt == nil else { return }
        self.guests[listener.id]?.shown?.joinedAt = self.now
    }

    /// The listener has dropped its text and lines.
    func forgets(_ listener: ListenerDevice) { self.guests[listener.id]?.shown = nil }

    /// A packet has reached the listener, whether it can open it or not.
    func gets(_ packet: LivePacket, _ listener: ListenerDevice, joinedGeneration: Int?) {
        let header = packet.header
        if header.kind == .snapshot { self.snapshots[header.generation] = packet }
        if let joinedGeneration, header.generation < joinedGeneration {
            self.fault("\(listener.person.name) gets generation \(header.generation) behind \(joinedGeneration)")
        }
        guard let content = self.content(of: header) else { return }
        self.judgeRemoval(header, of: content, listener)
        if header.kind == .line { self.judgeLateness(header, of: content, listener) }
        if header.to == nil, self.streams[content]?.seen[header.position] == nil {
            self.streams[content]?.seen[header.position] = self.now
        }
        if header.kind == .line, self.streams[content]?.lines[header.line]?.seenAt == nil {
            self.streams[content]?.lines[header.line]?.seenAt = self.now
        }
    }

    /// Epochs belong to one stream each.
    private func content(of header: LivePacketHeader) -> UUIDText? {
        self.streams.first { $0.value.packets[header.position] != nil }?.key
    }

    private func judgeRemoval(_ header: LivePacketHeader, of content: UUIDText, _ listener: ListenerDevice) {
        guard let guest = self.guests[listener.id], let removedAt = guest.removedAt, guest.letInAt ?? 0 < removedAt,
            let saidAt = self.streams[content]?.packets[header.position]?.saidAt
        else { return }
        let end = max(removedAt + Self.cutMax, min(self.world.troubledUntil, self.now) + Self.cutMaxAfterTrouble)
        let isTroubled = self.world.troubledUntil > removedAt - Self.cutMaxAfterTrouble
        guard saidAt > (isTroubled ? end : removedAt + Self.cutMax) else { return }
        self.fault(
            "\(listener.person.name) was removed, and gets what was said \((saidAt - removedAt) / 1_000_000) ms later")
    }

    private func judgeLateness(_ header: LivePacketHeader, of content: UUIDText, _ listener: ListenerDevice) {
        guard let guest = self.guests[listener.id], let since = guest.since,
            let seenAt = self.streams[content]?.lines[header.line]?.seenAt,
            seenAt < since
        else { return }
        // The line was sent before the removal, and is read after the return.
        let saidAt = self.streams[content]?.packets[header.position]?.saidAt
        if let saidAt, guest.before.contains(where: { $0.contains(saidAt) }) { return }
        // A line that is not confirmed as stored is repeated to all: listeners without a place for it drop it.
        let isRepeated = self.streams[content]?.seen[header.position].map { $0 >= since } ?? true
        guard header.to != nil || !isRepeated else { return }
        self.fault(
            "\(listener.person.name) gets line \(header.line), which others had \((since - seenAt) / 1_000_000) ms before it joined"
        )
    }

    /// A packet was opened.
    func reads(_ header: LivePacketHeader, _ listener: ListenerDevice) {
        guard self.guests[listener.id]?.letInAt == nil else { return }
        self.fault("\(listener.person.name) reads, and nobody has let it in")
    }

    func shows(_ action: ListenerMachine.Action, _ listener: ListenerDevice) {
        let name = listener.person.name
        switch action {
        case .began(let content):
            self.guests[listener.id, default: Guest()].shown = Shown(content: content)
        case .line(let number, let text):
            self.shownCount += 1
            guard let shown = self.guests[listener.id]?.shown else {
                return self.fault("\(name) shows line \(number) of no stream")
            }
            if shown.lines[number] != nil { self.fault("twice: \(name) shows line \(number)") }
            if self.streams[shown.content]?.lines[number]?.text != text {
                self.fault("\(name) shows line \(number), which nobody said so")
            }
            self.guests[listener.id]?.shown?.lines[number] = text
        case .missing(let numbers):
            self.missingCount += numbers.count
            self.guests[listener.id]?.shown?.missing.formUnion(numbers)
            self.world.trace("\(name) misses lines \(numbers)")
            if self.now > self.world.troubledUntil + Self.missingAfterTrouble {
                self.fault("\(name) misses lines \(numbers), and nothing has gone wrong for long")
            }
        case .text, .cue, .resync, .join: break
        }
    }

    /// The text that a listener shows must be the sent text.
    func compares(_ listener: ListenerDevice) {
        guard let content = listener.ears.content, let position = listener.position, position.seq > 0,
            let said = self.streams[content]?.packets[position]?.text, said != listener.ears.text
        else { return }
        self.fault("\(listener.person.name) shows another text at \(position.epoch)-\(position.seq) than was said")
    }

    /// The newest snapshot of a generation before this one.
    func snapshot(olderThan generation: Int) -> LivePacket? {
        self.snapshots.keys.filter { $0 < generation }.max().flatMap { self.snapshots[$0] }
    }

    // MARK: The end

    /// Lines that this listener should have been shown and was not.
    func lost(_ listener: ListenerDevice) -> [Int] {
        guard let shown = self.guests[listener.id]?.shown, let joinedAt = shown.joinedAt,
            let said = self.streams[shown.content]?.lines
        else { return [] }
        return said.filter {
            $0.value.saidAt > joinedAt && shown.lines[$0.key] == nil && !shown.missing.contains($0.key)
        }.map(\.key).sorted()
    }

    /// Lines of the stream that are not stored.
    func unstored(_ content: UUIDText) -> [Int] {
        let kept = self.world.postgres.tables.calls.storedLines(of: content)
        return (self.streams[content]?.lines.keys.filter { !kept.contains($0) } ?? []).sorted()
    }
}

extension LivePosition {
    fileprivate var before: LivePosition { LivePosition(epoch: self.epoch, seq: self.seq - 1) }
}
