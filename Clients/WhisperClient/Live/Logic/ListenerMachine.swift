package import Contract

/// Builds a listener's text and lines from the packets of a stream (contract §14.10, §19). Holds no socket, clock or
/// key.
///
/// Packets may be missing and may be repeated, but arrive in order. The machine shows a packet only if it needs no
/// earlier packet, or its predecessor was received. So the text is always one that the whisperer had.
package struct ListenerMachine {
    package typealias Instant = ContinuousClock.Instant

    /// The result of opening a packet.
    package enum Opened: Hashable, Sendable {
        /// For a line, the conversation's signature was verified for the stream that `content` names.
        case content(LiveContent)
        /// The packet's generation has no key here yet.
        case keyMissing
        /// The packet does not open, breaks contract §14.9, or is a line that the conversation did not sign.
        case unreadable
    }

    /// The stream as `live_joined` or `live_state` describes it.
    package struct Stream: Hashable, Sendable {
        package enum State: String, Sendable { case idle, live, paused, ended }

        package var state: State
        package var content: UUIDText?
        package var epoch: Int64

        package init(_ state: State, content: UUIDText?, epoch: Int64) {
            self.state = state
            self.content = content
            self.epoch = epoch
        }
    }

    /// The part of the stream that a returning listener has (`after` of `live_join`).
    package struct After: Hashable, Sendable {
        package var content: UUIDText
        package var position: LivePosition
        /// The listener requests the lines after this one.
        package var line: Int
    }

    package enum Action: Hashable, Sendable {
        /// A new stream begins: its lines are numbered from 1 again, and the text is empty.
        case began(UUIDText)
        /// The live text is now this.
        case text(LiveText)
        /// A completed line, shown in the order of numbers. Each number appears once.
        case line(Int, LiveText)
        /// These lines are missing, and no longer requested.
        case missing(ClosedRange<Int>)
        case cue(LiveCue)
        /// `live_resync` with these values.
        case resync(LivePosition, line: Int)
        /// `live_join` again: its answer contains the missing key.
        case join
    }

    /// Pauses between repeated questions. They grow: packets that are unavailable now are rarely available a second
    /// later.
    private static let asking = Backoff(first: LiveLimits.resyncInterval, longest: .seconds(5))
    /// How long a key is awaited before it is requested. The notice with the key may be lost.
    package static let keyAwaitedFor = Duration.seconds(5)

    /// The receiving listener. Packets addressed to others are ignored.
    package let listener: PrincipalID
    package private(set) var text = LiveText()
    /// The current stream. Lines are verified for it.
    package private(set) var content: UUIDText?
    /// Packets that could not be shown.
    package private(set) var unreadable = 0

    /// The last packet that is part of `text`.
    private var position = LivePosition.start
    /// The newest packet that is known to exist. While it is not `position`, the listener waits (contract §14.10).
    private var newest = LivePosition.start
    /// The newest cue that was played: a repetition is not played again.
    private var newestCue = LivePosition.start
    private var lines = LineLedger(completedBefore: 0)
    /// A packet of this generation was received, and its key was not.
    private var awaitedGeneration: Int?
    private var keyAskedAt: Instant?

    private var isJoined = false
    private var isLive = false
    /// Whether the last `live_join` had an `after`.
    private var isResuming = false
    private var lastAsked: Instant?
    /// Questions without an effect so far.
    private var timesAsked = 0
    /// No question before this time: the server is sending, or has refused a question. Each `live_joined` sets it.
    private var quietUntil: Instant?

    package init(listener: PrincipalID) { self.listener = listener }

    // MARK: Joining

    /// A `live_join` is being sent.
    /// - Returns: its `after`.
    package mutating func joining() -> After? {
        self.isResuming = self.content != nil
        return self.content.map { After(content: $0, position: self.position, line: self.lines.settled) }
    }

    /// `live_joined` was received.
    /// - Parameters:
    ///   - seq: the number of the stream's newest packet; 0 if there is none.
    ///   - line: lines completed so far.
    package mutating func joined(_ stream: Stream, seq: Int64, line: Int, at now: Instant) -> [Action] {
        self.isJoined = true
        self.isLive = stream.state == .live
        guard let content = stream.content else { return [] }
        // The server sends missing packets with the answer.
        self.quietUntil = now + LiveLimits.resyncInterval
        self.timesAsked = 0
        var actions: [Action] = []
        if self.isResuming, content == self.content {
            self.lines.askAnew(from: now)
            self.lines.completed(line, at: now)
        } else {
            // Listeners see only lines that are completed after they have joined.
            actions = self.begin(content, completedBefore: line)
        }
        // The first packet of each epoch is a snapshot with the number 1.
        self.newest = max(self.newest, LivePosition(epoch: stream.epoch, seq: max(seq, 1)))
        return actions
    }

    /// `live_state` was received.
    package mutating func changed(_ stream: Stream, at now: Instant) -> [Action] {
        guard self.isJoined else { return [] }
        guard stream.epoch >= self.position.epoch else { return [] }
        self.isLive = stream.state == .live
        guard self.isLive, let content = stream.content else { return [] }
        var actions: [Action] = []
        if content != self.content {
            actions = self.begin(content, completedBefore: 0)
            // Packets of the previous stream that are still under way have a lower epoch.
            self.position = LivePosition(epoch: stream.epoch, seq: 0)
        }
        let first = LivePosition(epoch: stream.epoch, seq: 1)
        if first > self.newest {
            self.newest = first
            self.quietUntil = now + LiveLimits.resyncInterval
        }
        return actions
    }

    /// The connection is gone, or the listener left.
    package mutating func disconnected() { self.isJoined = false }

    private mutating func begin(_ content: UUIDText, completedBefore count: Int) -> [Action] {
        self.content = content
        self.text = LiveText()
        (self.position, self.newest, self.newestCue) = (.start, .start, .start)
        self.lines = LineLedger(completedBefore: count)
        (self.awaitedGeneration, self.keyAskedAt) = (nil, nil)
        return [.began(content)]
    }

    // MARK: Packets

    package mutating func received(_ header: LivePacketHeader, _ opened: Opened, at now: Instant) -> [Action] {
        // The packet was under way when the listener left.
        guard self.isJoined, self.content != nil else { return [] }
        switch opened {
        case .content(let content) where header.to == nil:
            return self.take(header, content, at: now) + self.ask(at: now)
        case .content(let content):
            return header.to == self.listener ? self.takeAddressed(header, content, at: now) : []
        case .keyMissing:
            guard header.to == nil, header.position > self.position else { return [] }
            if self.awaitedGeneration == nil { self.keyAskedAt = now + Self.keyAwaitedFor }
            self.awaitedGeneration = max(self.awaitedGeneration ?? 0, header.generation)
            self.newest = max(self.newest, header.position)
            return []
        case .unreadable:
            self.unreadable += 1
            if header.to == nil { self.newest = max(self.newest, header.position) }
            return self.ask(at: now)
        }
    }

    /// The key of a generation was received.
    package mutating func keyArrived(generation: Int, at now: Instant) -> [Action] {
        guard let awaited = self.awaitedGeneration, awaited <= generation else { return [] }
        (self.awaitedGeneration, self.keyAskedAt) = (nil, nil)
        return self.ask(at: now)
    }

    private mutating func take(_ header: LivePacketHeader, _ content: LiveContent, at now: Instant) -> [Action] {
        var actions: [Action] = []
        if case .line(let line) = content, self.lines.take(header.line, at: now) {
            actions.append(.line(header.line, line))
        }
        guard header.position > self.position else { return actions }
        self.lines.completed(header.line, at: now)
        self.newest = max(self.newest, header.position)
        let isDirect = header.position.directlyFollows(self.position)
        switch content {
        case .snapshot(let text, let count):
            actions += self.show(text, count: count, at: header.position)
        case .line:
            actions += self.show(LiveText(), count: 0, at: header.position)
        case .diff(let edits, let count):
            // An edit at offset 0 needs no earlier text.
            let before = edits.first?.offset == 0 ? LiveText() : isDirect ? self.text : nil
            guard let before else { break }
            actions += self.show(before.applying(edits), count: count, at: header.position)
        case .cue(let cue):
            if isDirect { self.position = header.position }
            guard header.position > self.newestCue else { break }
            self.newestCue = header.position
            actions.append(.cue(cue))
        }
        return actions
    }

    /// A packet to this listener alone is outside the sequence: it changes neither text nor position (contract §19.2).
    private mutating func takeAddressed(_ header: LivePacketHeader, _ content: LiveContent, at now: Instant) -> [Action]
    {
        switch content {
        case .line(let line): return self.lines.take(header.line, at: now) ? [.line(header.line, line)] : []
        case .cue(let cue): return [.cue(cue)]
        case .snapshot, .diff:
            self.unreadable += 1
            return []
        }
    }

    /// - Parameters:
    ///   - text: `nil` if the packet does not fit the present text.
    ///   - count: the number of its scalars, as the packet says.
    private mutating func show(_ text: LiveText?, count: Int, at position: LivePosition) -> [Action] {
        guard let text, text.count == count else {
            self.unreadable += 1
            return []
        }
        self.position = position
        defer { self.text = text }
        return text == self.text ? [] : [.text(text)]
    }

    // MARK: Asking

    /// `live_resync` was refused.
    package mutating func refused(retryAfter: Duration?, at now: Instant) {
        self.quietUntil = now + (retryAfter ?? Self.asking.longest)
    }

    /// When `timerFired` has something to do next.
    package var nextWake: Instant? {
        guard self.isJoined else { return nil }
        return [self.lines.nextDeadline, self.nextQuestion, self.keyAskedAt].compactMap { $0 }.min()
    }

    package mutating func timerFired(at now: Instant) -> [Action] {
        guard self.isJoined else { return [] }
        return self.lines.giveUp(at: now).map { .missing($0) } + self.ask(at: now) + self.askForKey(at: now)
    }

    private mutating func askForKey(at now: Instant) -> [Action] {
        guard let keyAskedAt, keyAskedAt <= now else { return [] }
        self.keyAskedAt = now + Self.keyAwaitedFor
        return [.join]
    }

    private var isWaiting: Bool { self.position < self.newest }

    /// No question while no stream is live, or while a key is missing: the answer could not be opened.
    private var nextQuestion: Instant? {
        guard self.isJoined, self.isLive, self.awaitedGeneration == nil, self.isWaiting || self.lines.isAsking,
            let quietUntil = self.quietUntil
        else { return nil }
        // Lines are requested for a few seconds only, so the pause stays short.
        let pause =
            self.lines.isAsking ? LiveLimits.resyncInterval : Self.asking.pause(after: max(self.timesAsked, 1))
        return max(self.lastAsked.map { $0 + pause } ?? quietUntil, quietUntil)
    }

    private mutating func ask(at now: Instant) -> [Action] {
        if !self.isWaiting && !self.lines.isAsking { self.timesAsked = 0 }
        guard let time = self.nextQuestion, time <= now else { return [] }
        self.lastAsked = now
        self.timesAsked += 1
        return [.resync(self.position, line: self.lines.settled)]
    }
}
