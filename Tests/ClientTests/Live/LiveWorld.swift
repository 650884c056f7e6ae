import Contract
import TestKit
import Testing

@testable import WhisperClient

/// A conversation from a seed: people type, links lose, repeat and delay packets, connections break, devices take over.
/// Order is kept on each link, as sockets keep it.
struct LiveWorld {
    typealias Packet = WhispererMachine.Packet
    typealias Instant = ContinuousClock.Instant

    /// How bad a world is.
    struct Faults {
        var loss = 0.0
        var repetition = 0.0
        var unreadable = 0.0
        var delayMax = Duration.milliseconds(20)
        /// Probabilities for each tick.
        var reconnects = 0.0
        var interruptions = 0.0
        var takeOvers = 0.0
        var newStreams = 0.0
        var rotations = 0.0
        var refusals = 0.0
        var amnesia = 0.0

        static let none = Faults()

        /// Only what a whisperer who stays can mend: nothing is missing at the end.
        static func mild(_ random: inout SeededGenerator) -> Faults {
            var faults = Faults()
            faults.loss = .random(in: 0...0.3, using: &random)
            faults.repetition = .random(in: 0...0.2, using: &random)
            faults.unreadable = .random(in: 0...0.01, using: &random)
            faults.delayMax = .milliseconds(.random(in: 0...400, using: &random))
            faults.reconnects = .random(in: 0...0.002, using: &random)
            faults.interruptions = .random(in: 0...0.001, using: &random)
            faults.rotations = .random(in: 0...0.001, using: &random)
            faults.refusals = .random(in: 0...0.02, using: &random)
            faults.amnesia = .random(in: 0...0.001, using: &random)
            return faults
        }

        static func all(_ random: inout SeededGenerator) -> Faults {
            var faults = Faults.mild(&random)
            faults.takeOvers = .random(in: 0...0.001, using: &random)
            faults.newStreams = .random(in: 0...0.0005, using: &random)
            return faults
        }
    }

    fileprivate enum Down {
        case joined(ListenerMachine.Stream, seq: Int64, line: Int)
        case state(ListenerMachine.Stream)
        /// With the stream that it is of, as its signature says.
        case packet(Packet, of: UUIDText)
        case key(Int)
    }

    struct Ear {
        let id: PrincipalID
        var machine: ListenerMachine
        fileprivate var link: [(at: Instant, what: Down)] = []
        var isJoined = false
        var joinsAt: Instant?
        var generation = 1
        var lines: [Int: LiveText] = [:]
        var missing: Set<Int> = []
        var cues: [LiveCue] = []
        /// Lines of the stream that were completed before it came.
        var linesBefore = 0
        /// When it first joined the stream.
        var since = Timestamp(milliseconds: 0)
        var resyncs: [Instant] = []
        var text = LiveText()
    }

    /// The lines and texts of one stream, as they left the whisperers.
    struct Truth {
        var lines: [Int: LiveText] = [:]
        var saidAt: [Int: Timestamp] = [:]
        var texts: Set<LiveText> = [LiveText()]
        var stored: Set<Int> = []
        /// A device that has lines which nobody else has is gone.
        var isIncomplete = false
    }

    static let listeners = 3
    /// Nothing but timers happens while everybody rests.
    private var tick: Duration { self.isQuiet ? .milliseconds(50) : .milliseconds(10) }

    var random: SeededGenerator
    let faults: Faults
    private let beginning: Instant
    private(set) var now: Instant
    private let conversation = ConversationID(high: 1, low: 2)
    private(set) var whisperer: WhispererMachine
    var audit = WhispererAudit()
    private var holds = false
    private var resumesAt: Instant?
    private var generation = 1
    private var gateway = LiveGateway()
    private var up: [(at: Instant, what: Packet)] = []
    private var answers: [(at: Instant, seq: Int64)] = []
    private var storedAnswers: [(at: Instant, line: Int)] = []
    private(set) var isTranscribed: Bool
    private(set) var ears: [Ear]
    private(set) var truth: [UUIDText: Truth] = [:]
    private var cueNumber = 0
    private var nextTyping: Instant
    private var isQuiet = false

    init(seed: UInt64, faults: (inout SeededGenerator) -> Faults, startingAt beginning: Instant) {
        self.random = SeededGenerator(seed: seed)
        self.faults = faults(&self.random)
        (self.beginning, self.now, self.nextTyping) = (beginning, beginning, beginning)
        self.whisperer = WhispererMachine(conversation: self.conversation, content: UUIDText(high: 7, low: 0))
        self.isTranscribed = Bool.random(using: &self.random)
        self.ears = (0..<Self.listeners).map { number in
            let id = PrincipalID.guest(GuestID(high: 9, low: UInt64(number)))
            return Ear(id: id, machine: ListenerMachine(listener: id))
        }
        // Some are there before, some come late.
        for ear in self.ears.indices {
            self.ears[ear].joinsAt =
                beginning
                + .milliseconds(Bool.random(using: &self.random) ? 0 : .random(in: 0...3_000, using: &self.random))
        }
        self.resumesAt = beginning + .milliseconds(.random(in: 0...500, using: &self.random))
    }

    /// Trouble and typing, then rest, in which everything must come right.
    mutating func play(trouble: Duration = .seconds(5), rest: Duration = .seconds(20)) {
        while self.now < self.beginning + trouble { self.step() }
        self.isQuiet = true
        while self.now < self.beginning + trouble + rest / 2 { self.step() }
        // Nobody can know that the very last packet is lost, until there is one more.
        try? self.whisperer.edited(to: self.whisperer.text.string + ".", at: self.now)
        while self.now < self.beginning + trouble + rest { self.step() }
    }

    private var serverTime: Timestamp {
        Timestamp(milliseconds: 1_730_000_000_000 + (self.now - self.beginning).milliseconds)
    }

    private mutating func happens(_ chance: Double) -> Bool {
        !self.isQuiet && Double.random(in: 0..<1, using: &self.random) < chance
    }

    private mutating func step() {
        self.now += self.tick
        self.disturb()
        self.type()
        self.whisper()
        self.carryUp()
        for ear in self.ears.indices { self.listen(ear) }
    }

    // MARK: Trouble

    private mutating func disturb() {
        let resumesAt = self.resumesAt
        if let resumesAt, resumesAt <= self.now {
            self.resumesAt = nil
            self.start()
        }
        if self.holds, self.happens(self.faults.interruptions) {
            self.letGo(resumingAfter: .milliseconds(.random(in: 0...1_500, using: &self.random)))
        }
        if self.holds, self.happens(self.faults.takeOvers) {
            // Another device goes on where this one was, with what both know: the stream and its last line.
            let (content, last) = (self.whisperer.content, self.whisperer.lastLine)
            self.truth[content]?.isIncomplete = true
            self.letGo(resumingAfter: .milliseconds(.random(in: 0...300, using: &self.random)))
            self.whisperer = WhispererMachine(conversation: self.conversation, content: content, lastLine: last)
        }
        if self.holds, self.happens(self.faults.newStreams) {
            self.letGo(resumingAfter: .milliseconds(.random(in: 0...300, using: &self.random)))
            let content = UUIDText(high: 7, low: UInt64(self.truth.count))
            self.whisperer = WhispererMachine(conversation: self.conversation, content: content)
        }
        if self.holds, self.happens(self.faults.rotations) {
            self.generation += 1
            for ear in self.ears.indices where self.ears[ear].isJoined {
                self.send(.key(self.generation), to: ear)
            }
            self.whisperer.generationChanged(to: self.generation)
            self.audit.generationChanged()
        }
        if self.happens(self.faults.amnesia) { self.gateway.forget() }
        for ear in self.ears.indices {
            if self.ears[ear].isJoined, self.happens(self.faults.reconnects) {
                self.ears[ear].isJoined = false
                self.ears[ear].link = []
                self.ears[ear].machine.disconnected()
                self.ears[ear].joinsAt = self.now + .milliseconds(.random(in: 0...2_000, using: &self.random))
            }
            if let joinsAt = self.ears[ear].joinsAt, joinsAt <= self.now { self.join(ear) }
        }
    }

    private mutating func start() {
        let content = self.whisperer.content
        let joined = self.ears.indices.filter { self.ears[$0].isJoined }.map { ($0, self.ears[$0].id) }
        let epoch = self.gateway.start(
            content, joined: Dictionary(uniqueKeysWithValues: joined), time: self.serverTime)
        self.truth[content] = self.truth[content] ?? Truth()
        self.whisperer.started(
            .init(
                epoch: epoch, generation: self.generation, line: self.truth[content]!.stored.max() ?? 0,
                isTranscribed: self.isTranscribed), at: self.now)
        self.holds = true
        for ear in self.ears.indices where self.ears[ear].isJoined {
            self.send(.state(.init(.live, content: content, epoch: epoch)), to: ear)
        }
    }

    private mutating func letGo(resumingAfter pause: Duration) {
        self.whisperer.stopped()
        self.audit.interrupted()
        self.holds = false
        // Written packets may have arrived.
        if Bool.random(using: &self.random) { self.up = [] }
        self.answers = []
        self.storedAnswers = []
        self.resumesAt = self.now + pause
    }

    private mutating func join(_ ear: Int) {
        self.ears[ear].joinsAt = nil
        self.ears[ear].isJoined = true
        let after = self.ears[ear].machine.joining()
        if after?.content != self.gateway.content { self.ears[ear].since = self.serverTime }
        let answer = self.gateway.join(
            ear, as: self.ears[ear].id, after: after, at: self.now, time: self.serverTime)
        self.send(.key(self.generation), to: ear)
        let stream = ListenerMachine.Stream(
            self.gateway.state, content: self.gateway.content, epoch: self.gateway.position.epoch)
        self.send(.joined(stream, seq: self.gateway.position.seq, line: self.gateway.line), to: ear)
        for packet in answer.packets { self.send(packet, to: ear) }
        for told in answer.told { self.handle(told) }
        // A server that gives away what it must not: the listener does not take it.
        if let forbidden = self.gateway.forbidden(ear), self.happens(0.5) { self.send(forbidden, to: ear) }
    }

    // MARK: Typing

    private mutating func type() {
        guard !self.isQuiet, self.now >= self.nextTyping else { return }
        self.nextTyping = self.now + .milliseconds(.random(in: 5...250, using: &self.random))
        var text = self.whisperer.text.string
        switch Int.random(in: 0..<100, using: &self.random) {
        case 0..<70: text += LiveTextTests.text(.random(in: 1...3, using: &self.random), &self.random)
        case 70..<80: text = String(String.UnicodeScalarView(text.unicodeScalars.dropLast()))
        case 80..<85:
            let scalars = Array(text.unicodeScalars)
            let cut = Int.random(in: 0...scalars.count, using: &self.random)
            text =
                String(String.UnicodeScalarView(scalars[..<cut])) + "-"
                + String(String.UnicodeScalarView(scalars[cut...]))
        case 85..<92: text += "\n"
        case 92..<95: text += LiveTextTests.text(40, &self.random)
        case 95..<97: try? self.whisperer.interject("wait: \(self.cueNumber)")
        default:
            self.cueNumber += 1
            try? self.whisperer.play(.say(LiveText("cue \(self.cueNumber)")!))
        }
        try? self.whisperer.edited(to: text, at: self.now)
    }

    // MARK: Whisperer to gateway

    private mutating func whisper() {
        while let answer = self.answers.first, answer.at <= self.now {
            self.answers.removeFirst()
            self.whisperer.refused(seq: answer.seq, retryAfter: nil, at: self.now)
            self.audit.refused()
        }
        while let answer = self.storedAnswers.first, answer.at <= self.now {
            self.storedAnswers.removeFirst()
            self.whisperer.stored([answer.line])
        }
        let packets = self.whisperer.due(at: self.now, serverTime: self.serverTime)
        for packet in packets {
            self.audit.sent(packet, at: self.now)
            self.learn(packet)
            let before = self.up.last?.at ?? self.now
            self.up.append((max(before, self.now + self.delay()), packet))
        }
        self.audit.passed(self.now)
    }

    private mutating func learn(_ packet: Packet) {
        guard packet.header.to == nil else { return }
        let content = self.whisperer.content
        switch packet.content {
        case .line(let text):
            let known = self.truth[content]!.lines[packet.header.line]
            #expect(known == nil || known == text, "a number was used twice")
            self.truth[content]!.lines[packet.header.line] = text
            if known == nil { self.truth[content]!.saidAt[packet.header.line] = self.serverTime }
        case .snapshot(let text, _): self.truth[content]!.texts.insert(text)
        case .diff: self.truth[content]!.texts.insert(self.whisperer.text)
        case .cue: break
        }
    }

    private mutating func carryUp() {
        while let first = self.up.first, first.at <= self.now {
            self.up.removeFirst()
            let seq = first.what.header.position.seq
            if self.happens(self.faults.refusals) {
                self.answers.append((self.now + self.delay(), seq))
            } else if !self.happens(self.faults.loss / 10) {
                for told in self.gateway.received(first.what, from: self.ears.map(\.id)) { self.handle(told) }
            }
        }
    }

    private mutating func handle(_ told: LiveGateway.Told) {
        switch told {
        case .toAll(let packet):
            if packet.header.kind == .line, self.isTranscribed, let content = self.gateway.content {
                self.truth[content]!.stored.insert(packet.header.line)
                if !self.happens(self.faults.loss) { self.storedAnswers.append((self.now, packet.header.line)) }
            }
            for ear in self.ears.indices where self.ears[ear].isJoined { self.send(packet, to: ear) }
        case .toOne(let ear, let packet): if self.ears[ear].isJoined { self.send(packet, to: ear) }
        case .wanted(let want):
            guard self.holds else { return }
            self.whisperer.wanted(want, at: self.now)
            if case .snapshot = want { self.audit.wanted(at: self.now) }
        }
    }

    // MARK: Gateway to listener

    private mutating func delay() -> Duration {
        self.isQuiet ? .zero : self.faults.delayMax * Double.random(in: 0...1, using: &self.random)
    }

    private mutating func send(_ packet: Packet, to ear: Int) {
        guard !self.happens(self.faults.loss), let content = self.gateway.content else { return }
        self.send(.packet(packet, of: content), to: ear)
        if self.happens(self.faults.repetition), packet.header.to == nil {
            self.send(.packet(packet, of: content), to: ear)
        }
    }

    private mutating func send(_ what: Down, to ear: Int) {
        let before = self.ears[ear].link.last?.at ?? self.now
        self.ears[ear].link.append((max(before, self.now + self.delay()), what))
    }

    private mutating func listen(_ ear: Int) {
        while let first = self.ears[ear].link.first, first.at <= self.now {
            self.ears[ear].link.removeFirst()
            let actions: [ListenerMachine.Action]
            switch first.what {
            case .joined(let stream, let seq, let line):
                actions = self.ears[ear].machine.joined(stream, seq: seq, line: line, at: self.now)
                if actions.contains(where: { if case .began = $0 { true } else { false } }) {
                    self.ears[ear].linesBefore = line
                }
            case .state(let stream):
                actions = self.ears[ear].machine.changed(stream, at: self.now)
                if !actions.isEmpty { self.ears[ear].linesBefore = 0 }
            case .key(let generation):
                self.ears[ear].generation = max(self.ears[ear].generation, generation)
                actions = self.ears[ear].machine.keyArrived(generation: generation, at: self.now)
            case .packet(let packet, let content):
                let opened = self.open(packet, of: content, by: ear)
                actions = self.ears[ear].machine.received(packet.header, opened, at: self.now)
            }
            self.act(ear, actions)
        }
        if let wake = self.ears[ear].machine.nextWake, wake <= self.now {
            let actions = self.ears[ear].machine.timerFired(at: self.now)
            #expect(self.ears[ear].machine.nextWake.map { $0 > self.now } ?? true, "it spins")
            self.act(ear, actions)
        }
    }

    private mutating func open(_ packet: Packet, of content: UUIDText, by ear: Int) -> ListenerMachine.Opened {
        if self.happens(self.faults.unreadable) { return .unreadable }
        if packet.header.generation > self.ears[ear].generation { return .keyMissing }
        if packet.header.kind == .line, content != self.ears[ear].machine.content { return .unreadable }
        return .content(packet.content)
    }

    private mutating func act(_ ear: Int, _ actions: [ListenerMachine.Action]) {
        for action in actions {
            guard let content = self.ears[ear].machine.content else { preconditionFailure("no stream, no action") }
            switch action {
            case .began:
                (self.ears[ear].lines, self.ears[ear].missing, self.ears[ear].text) = ([:], [], LiveText())
            case .text(let text):
                #expect(self.truth[content]!.texts.contains(text), "nobody has typed \(text.string)")
                self.ears[ear].text = text
            case .line(let number, let text):
                #expect(self.ears[ear].lines.updateValue(text, forKey: number) == nil, "line \(number) came twice")
                #expect(self.truth[content]!.lines[number] == text)
                #expect(number > self.ears[ear].linesBefore, "line \(number) is from before joining")
            case .missing(let numbers): self.ears[ear].missing.formUnion(numbers)
            case .cue(let cue):
                #expect(!self.ears[ear].cues.contains(cue), "a cue was played twice")
                self.ears[ear].cues.append(cue)
            case .resync(let position, let line):
                if let last = self.ears[ear].resyncs.last { #expect(self.now >= last + LiveLimits.resyncInterval) }
                self.ears[ear].resyncs.append(self.now)
                let answer = self.gateway.catchUp(ear, from: position, line: line, at: self.now)
                for packet in answer.packets { self.send(packet, to: ear) }
                for told in answer.told { self.handle(told) }
            case .join: Issue.record("no key is missing here")
            }
        }
    }
}
