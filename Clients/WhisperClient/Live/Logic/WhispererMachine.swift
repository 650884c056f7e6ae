package import Contract

/// Decides which packets a whisperer sends, and when (contract §14.9). Holds no socket, clock or key.
///
/// The caller passes in the typed text and the server's frames. It takes the packets that are `due`, seals them and
/// writes them in that order.
package struct WhispererMachine {
    package typealias Instant = ContinuousClock.Instant

    /// A packet that must be sealed and written now. A line is signed besides.
    package struct Packet: Hashable, Sendable {
        package var header: LivePacketHeader
        package var content: LiveContent
    }

    /// The content of `live_started`.
    package struct Start: Hashable, Sendable {
        package var epoch: Int64
        package var generation: Int
        /// The greatest line that is stored; 0 for none.
        package var line: Int
        /// Whether the server keeps completed lines.
        package var isTranscribed: Bool

        package init(epoch: Int64, generation: Int, line: Int, isTranscribed: Bool) {
            self.epoch = epoch
            self.generation = generation
            self.line = line
            self.isTranscribed = isTranscribed
        }
    }

    /// The request of `live_wanted`.
    package enum Want: Hashable, Sendable {
        case snapshot
        case lines(for: PrincipalID, from: Int, since: Timestamp)
    }

    /// Too much input at once: the queue of unsent lines has no room for it. None of the input was accepted.
    package struct Full: Error, Equatable {}

    /// A line or cue for all listeners or one, in the user's order.
    private enum Item {
        case line(LiveText)
        /// A line that was sent before, with its number.
        case again(Int)
        case cue(LiveCue, to: PrincipalID?)
    }

    /// The state while this device holds the stream. Each epoch begins with a new one.
    private struct Holding {
        let start: Start
        var generation: Int
        var seq: Int64 = 0
        /// The next packet must be a snapshot.
        var needsSnapshot = true
        /// A snapshot is sent at this time, or earlier.
        var snapshotAt: Instant?
        var diffs = 0
        var wasAddressed = false
        /// The server refused a packet: nothing is sent before this time.
        var quietUntil: Instant?
        /// The newest packet at the last refusal, and the number of refusals in a row.
        var refusedUpTo: Int64 = 0
        var refusals = 0
        var lastRefusal: Instant?
        /// Packets that the generation's key has sealed.
        var packets: Int64 = 0
    }

    /// Lines and cues that may wait. A long disconnection or a pasted book reaches this limit.
    package static let queueMax = 256
    /// Lines for single listeners that may wait.
    package static let addressedMax = 512
    /// Lines that are repeated to all at the same time.
    package static let repeatedAtOnceMax = 4
    private static let afterRefusal = Backoff(first: .milliseconds(250), longest: .seconds(5))

    package let conversation: ConversationID
    /// Names the stream. The caller stores it together with `lastLine`, and loses both together (contract §14.8).
    package let content: UUIDText
    /// The unfinished line.
    package private(set) var text = LiveText()
    /// The newest line that was sent.
    package private(set) var lastLine: Int

    /// The live text that listeners have.
    private var shown = LiveText()
    private var queue: [Item] = []
    private var addressed: [(to: PrincipalID, line: Int)] = []
    /// When each listener was last admitted.
    private var admittedAt: [PrincipalID: Timestamp] = [:]
    private var sent = SentLines()
    /// The first change that is not sent yet.
    private var changedAt: Instant?
    private var pace = PacketPace()
    private var holding: Holding?
    /// Nothing is sealed with an older generation, whatever the server says: a newer one was already used, or a removed
    /// listener may have the older key.
    package private(set) var lowestGeneration: Int

    /// - Parameters:
    ///   - lastLine: the last line of the stream `content`, if it is resumed.
    ///   - lowestGeneration: the generation that this device has used before, or must use from now on.
    package init(conversation: ConversationID, content: UUIDText, lastLine: Int = 0, lowestGeneration: Int = 1) {
        self.conversation = conversation
        self.content = content
        self.lastLine = lastLine
        self.lowestGeneration = lowestGeneration
    }

    // MARK: What the user does

    /// The user has edited the unfinished line. Each line end in the input completes a line; `text` is the rest.
    package mutating func edited(to input: String, at now: Instant) throws(Full) {
        let (lines, rest) = TypedText.split(input)
        try self.enqueue(lines.map { .line($0) })
        guard rest != self.text else { return }
        self.text = rest
        self.changedAt = self.changedAt ?? now
    }

    /// Sends lines in between. The unfinished line stays.
    package mutating func interject(_ input: String) throws(Full) {
        let (lines, rest) = TypedText.split(input)
        try self.enqueue((lines + (rest.isEmpty ? [] : [rest])).map { .line($0) })
    }

    package mutating func play(_ cue: LiveCue, to listener: PrincipalID? = nil) throws(Full) {
        try self.enqueue([.cue(cue, to: listener)])
    }

    private mutating func enqueue(_ items: [Item]) throws(Full) {
        guard self.queue.count + items.count <= Self.queueMax else { throw Full() }
        self.queue += items
    }

    // MARK: What the server says

    /// This device holds the stream.
    package mutating func started(_ start: Start, at now: Instant) {
        self.holding = Holding(start: start, generation: start.generation)
        self.lastLine = max(self.lastLine, start.line)
        // The listeners' requests are outdated: they ask again from their present position.
        self.addressed = []
        self.queue.removeAll { if case .again = $0 { true } else { false } }
        if start.isTranscribed { self.sent.repeatUnstored(at: now) }
    }

    /// The connection has ended, or another device has the stream: nothing is sent until `started`.
    package mutating func stopped() { self.holding = nil }

    /// A grant was answered: content is sealed with this generation from now on.
    package mutating func generationChanged(to generation: Int) {
        guard let known = self.holding?.generation, generation > known else { return }
        self.holding?.generation = generation
        self.holding?.packets = 0
        self.holding?.needsSnapshot = true
    }

    /// From the next packet on, no older generation seals content. The typed text waits until the server has the new
    /// one.
    package mutating func leaves(generationsBelow lowest: Int) {
        self.lowestGeneration = max(self.lowestGeneration, lowest)
    }

    package mutating func wanted(_ want: Want, at now: Instant) {
        guard self.holding != nil else { return }
        switch want {
        case .snapshot: self.holding?.snapshotAt = now
        case .lines(let listener, let first, let since):
            // The new answer includes the lines that already wait for this listener.
            self.addressed.removeAll { $0.to == listener }
            // The request may be older than the listener's removal and new admission.
            let earliest = max(since, self.admittedAt[listener] ?? since)
            let lines = self.sent.wanted(from: first, since: earliest)
            guard self.addressed.count + lines.count <= Self.addressedMax else { return }
            self.addressed += lines.map { (listener, $0) }
        }
    }

    /// A listener is admitted. It gets no line that was completed before (contract §14.9), whatever it requests.
    /// - Parameter time: by the server's clock. The latest counts, until the listener leaves or is removed.
    package mutating func admits(_ listener: PrincipalID, at time: Timestamp) {
        let time = max(time, self.admittedAt[listener] ?? time)
        self.admittedAt[listener] = time
        self.addressed.removeAll { waiting in
            waiting.to == listener && self.sent[waiting.line].map { $0.completedAt < time } ?? true
        }
    }

    /// A listener was removed, or has left.
    package mutating func dismisses(_ listener: PrincipalID) {
        self.addressed.removeAll { $0.to == listener }
        self.admittedAt[listener] = nil
    }

    /// `live_line_stored` was received. A line that the server has no room for counts as stored: it is not sent again.
    package mutating func stored(_ lines: [Int]) {
        self.sent.stored(lines)
        self.queue.removeAll {
            if case .again(let number) = $0 { self.sent[number]?.isStored == true } else { false }
        }
    }

    /// The server answered a packet with an error.
    /// - Parameter seq: the number of the packet, which may be an old one: errors arrive late.
    package mutating func refused(seq: Int64, retryAfter: Duration?, at now: Instant) {
        guard var holding = self.holding else { return }
        holding.needsSnapshot = true
        let position = LivePosition(epoch: holding.start.epoch, seq: seq)
        if let line = self.sent.refused(position), self.queue.count < Self.queueMax { self.queue.append(.again(line)) }
        if seq > holding.refusedUpTo {
            let isInARow = holding.lastRefusal.map { now < $0 + Self.afterRefusal.longest * 2 } ?? false
            holding.refusals = isInARow ? holding.refusals + 1 : 1
            holding.refusedUpTo = holding.seq
            holding.lastRefusal = now
        }
        let pause = max(retryAfter ?? .zero, Self.afterRefusal.pause(after: holding.refusals))
        holding.quietUntil = max(holding.quietUntil ?? now, now + pause)
        self.holding = holding
    }

    /// The generation that seals content; `nil` while this device does not hold the stream.
    package var generation: Int? { self.holding?.generation }

    /// Whether this device holds the stream, and may seal with the server's generation.
    private var maySeal: Bool { self.holding.map { $0.generation >= self.lowestGeneration } ?? false }

    /// Lines that were sent and are kept, by number.
    package var lines: [NumberedLine] { self.sent.all }

    /// Completed lines that wait, in their order.
    package var waitingLines: [LiveText] {
        self.queue.compactMap { if case .line(let text) = $0 { text } else { nil } }
    }

    /// Whether all typed text was sent.
    package var isSettled: Bool { self.queue.isEmpty && self.changedAt == nil && self.shown == self.text }

    /// Whether the generation's key has sealed so many packets that the next one should be granted (contract §14.5).
    package var wantsNextGeneration: Bool { (self.holding?.packets ?? 0) >= LiveLimits.packetsPerGenerationMax }

    // MARK: What goes out

    /// The next thing to send, and its number of packets.
    private enum Step {
        case snapshot
        /// A line, followed by a snapshot: a listener that joins then must not need the line.
        case line
        case cue
        case diff
        case addressed

        var packets: Int { self == .line ? 2 : 1 }
    }

    /// Takes the packets that are due. The caller must write them now, in this order.
    /// - Parameter time: the server's time, as far as the client knows it.
    package mutating func due(at now: Instant, serverTime time: Timestamp) -> [Packet] {
        self.repeatLines(at: now)
        var packets: [Packet] = []
        while let (step, start) = self.nextStep, start.map({ $0 <= now }) ?? true {
            let made = self.make(step, at: now, time)
            self.pace.went(made.count, at: now)
            packets += made
        }
        return packets
    }

    /// When `due` has something to send next; `nil`: not before the next input.
    /// - Parameter now: stands for "at once".
    package func nextWake(at now: Instant) -> Instant? {
        guard self.maySeal else { return nil }
        return [self.nextStep.map { $0.at ?? now }, self.nextRepeat].compactMap { $0 }.min()
    }

    /// - Returns: `at` is nil for "at once".
    private var nextStep: (step: Step, at: Instant?)? {
        guard self.maySeal, let holding = self.holding else { return nil }
        func slot(_ step: Step, wanted: Instant? = nil) -> (step: Step, at: Instant?) {
            (step, [wanted, self.pace.earliest(step.packets), holding.quietUntil].compactMap { $0 }.max())
        }
        if holding.needsSnapshot { return slot(.snapshot) }
        var steps: [(step: Step, at: Instant?)] = []
        switch self.queue.first {
        // The snapshot after a line replaces any other.
        case .line, .again: return slot(.line)
        case .cue: steps = [slot(.cue)]
        case nil:
            if let changedAt = self.changedAt { steps = [slot(.diff, wanted: changedAt + LiveLimits.gatherTime)] }
            // In turn with typed text, so that neither waits for the end of the other.
            if !self.addressed.isEmpty { steps.insert(slot(.addressed), at: holding.wasAddressed ? steps.count : 0) }
        }
        if let time = holding.snapshotAt { steps.insert(slot(.snapshot, wanted: time), at: 0) }
        // The earliest step; if several are ready at the same time, the first of them.
        var first = steps.first
        for step in steps.dropFirst() {
            if let time = first?.at, step.at.map({ $0 < time }) ?? true { first = step }
        }
        return first
    }

    private mutating func make(_ step: Step, at now: Instant, _ time: Timestamp) -> [Packet] {
        self.holding?.wasAddressed = step == .addressed
        switch step {
        case .snapshot: return [self.snapshot(of: self.queueHasNewLines ? self.shown : self.text)]
        case .line: return self.line(at: now, time)
        case .cue:
            guard case .cue(let cue, let listener) = self.queue.removeFirst() else { return [] }
            return [self.packet(.cue(cue), line: self.lastLine, to: listener)]
        case .diff: return self.diff(at: now)
        case .addressed:
            let (listener, number) = self.addressed.removeFirst()
            // `SentLines` may have dropped the line since.
            guard let line = self.sent[number] else { return [] }
            return [self.packet(.line(line.text), line: number, to: listener)]
        }
    }

    private mutating func line(at now: Instant, _ time: Timestamp) -> [Packet] {
        let before = self.shown
        let isTranscribed = self.holding?.start.isTranscribed == true
        let packet: Packet
        switch self.queue.removeFirst() {
        case .line(let text):
            self.lastLine += 1
            packet = self.packet(.line(text), line: self.lastLine)
            self.sent.add(
                self.lastLine, text, at: packet.header.position, completedAt: time,
                repeatAt: isTranscribed ? now + SentLines.repeating.pause(after: 1) : nil)
            return [packet, self.snapshot(of: self.queueHasNewLines ? LiveText() : self.text)]
        case .again(let number):
            guard let line = self.sent[number] else { return [] }
            packet = self.packet(.line(line.text), line: number)
            self.sent.repeated(number, by: packet.header.position, at: now, isTranscribed: isTranscribed)
            return [packet, self.snapshot(of: self.queueHasNewLines ? before : self.text)]
        case .cue: return []
        }
    }

    private mutating func diff(at now: Instant) -> [Packet] {
        self.changedAt = nil
        guard let edit = self.text.edit(from: self.shown) else { return [] }
        guard let holding = self.holding, holding.diffs < LiveLimits.diffsPerSnapshotMax else {
            return [self.snapshot(of: self.text)]
        }
        self.holding?.diffs += 1
        // A listener that lost the last diff gets the text soon, even if nothing more is typed.
        self.holding?.snapshotAt = holding.snapshotAt ?? now + LiveLimits.snapshotInterval
        self.shown = self.text
        return [self.packet(.diff([edit], count: self.text.count), line: self.lastLine)]
    }

    private mutating func snapshot(of text: LiveText) -> Packet {
        self.holding?.needsSnapshot = false
        self.holding?.snapshotAt = nil
        self.holding?.diffs = 0
        self.shown = text
        if text == self.text { self.changedAt = nil }
        return self.packet(.snapshot(text, count: text.count), line: self.lastLine)
    }

    /// - Parameter listener: if set, the packet is outside the sequence and has the number of the newest packet to all.
    private mutating func packet(_ content: LiveContent, line: Int, to listener: PrincipalID? = nil) -> Packet {
        guard var holding = self.holding else { preconditionFailure("only a holder sends packets") }
        if listener == nil { holding.seq += 1 }
        holding.packets += 1
        self.holding = holding
        self.lowestGeneration = max(self.lowestGeneration, holding.generation)
        return Packet(
            header: LivePacketHeader(
                conversation: self.conversation, position: LivePosition(epoch: holding.start.epoch, seq: holding.seq),
                kind: content.kind, line: line, generation: holding.generation, to: listener),
            content: content)
    }

    private var queueHasNewLines: Bool {
        self.queue.contains { if case .line = $0 { true } else { false } }
    }

    // MARK: Lines that are not stored

    private var repeating: Int { self.queue.count { if case .again = $0 { true } else { false } } }

    private var nextRepeat: Instant? { self.repeating < Self.repeatedAtOnceMax ? self.sent.nextRepeat : nil }

    private mutating func repeatLines(at now: Instant) {
        guard self.maySeal else { return }
        for number in self.sent.due(at: now).prefix(max(0, Self.repeatedAtOnceMax - self.repeating)) {
            self.sent.underWay(number)
            self.queue.append(.again(number))
        }
    }
}
