import Contract
import NIOCore

/// Brings whisperers and listeners together, lets the former type at a steady rate, and counts what the latter hear.
final class LiveTraffic: FrameListener {
    struct Tally {
        var delivered = 0
        var missing = 0
        var repeated = 0
        var wanted = 0
        var joined = 0
    }

    private enum Role {
        case whisperer(LiveConversation)
        case listener(LiveConversation, place: Int)
    }

    let conversations: [LiveConversation]
    private var roles: [Int: Role] = [:]
    private(set) var tally = Tally()
    private(set) var heard = Latency("due until heard")
    private(set) var lateness = Latency("this tool's own lateness")
    /// Conversations whose stream runs, and those whose listeners have all joined.
    private(set) var started = 0
    private(set) var ready = 0
    /// Listeners come by themselves, a few at a time.
    var callsListeners = true
    private(set) var isStopped = false
    /// A whisperer types its next packet when everybody has heard the one before. Else packets come at a steady rate.
    var goesOnWhenHeard = false
    /// Listeners of the first conversation who read nothing for a while.
    var slow: LiveSlowReaders?
    /// Guests who come to a conversation that is typed.
    var coming: LiveComing?
    /// The return of clients that have lost the connection.
    var comingBack: LiveReturn?
    private var schedule: SteadySchedule?
    private var turn = 0

    init(_ conversations: [LiveConversation]) {
        self.conversations = conversations
        for conversation in conversations {
            self.roles[conversation.whisperer.number] = .whisperer(conversation)
            for (place, listener) in conversation.listeners.enumerated() {
                self.roles[listener.number] = .listener(conversation, place: place)
            }
        }
    }

    // MARK: Coming together

    /// Begins one conversation. All that follows answers what the server says.
    func open(_ conversation: LiveConversation, on fleet: isolated Fleet) {
        fleet.write(to: conversation.whisperer, conversation.frames.create(by: conversation.whisperer))
    }

    /// A conversation lets so many of one address wait (contract §13b).
    private static let waitingMax = LiveLimits.waitingOfAddressMax

    private func callNext(of conversation: LiveConversation, on fleet: isolated Fleet) {
        guard self.callsListeners, let guest = conversation.nextListener() else { return }
        fleet.write(to: guest, guest.guestBegin)
    }

    private func hear(
        _ frame: FrameBytes, by whisperer: Client, of conversation: LiveConversation, on fleet: isolated Fleet
    ) {
        switch frame.live {
        case .conversation: fleet.write(to: whisperer, conversation.frames.start())
        case .started:
            if let comingBack { return comingBack.resumed(conversation, by: frame, on: fleet) }
            self.started += 1
            for _ in 0..<Self.waitingMax { self.callNext(of: conversation, on: fleet) }
        case .knocked:
            guard let listener = frame.text(#""listener":""#).flatMap({ PrincipalID($0) }) else {
                return fleet.noteTrouble("a knock of nobody")
            }
            fleet.write(to: whisperer, conversation.frames.grant(listener, by: whisperer))
        case .wanted: self.tally.wanted += 1
        case .granted, .listener: break
        default: fleet.noteTrouble("not for a whisperer: \(frame.beginning)")
        }
    }

    private func hear(
        _ frame: FrameBytes, by guest: Client, at place: Int, of conversation: LiveConversation,
        on fleet: isolated Fleet
    ) {
        switch frame.live {
        case .packet: self.count(frame, at: place, of: conversation, on: fleet)
        case .guestChallenge:
            guard let proof = guest.guestProof(frame) else { return fleet.noteTrouble("no challenge for guests") }
            fleet.write(to: guest, proof)
        case .guestAck:
            guest.token = frame.text(#""guestToken":""#) ?? ""
            fleet.write(to: guest, conversation.frames.knock(by: guest))
        case .admitted: fleet.write(to: guest, conversation.frames.join())
        case .joined:
            self.tally.joined += 1
            guard self.comingBack == nil else { return }
            conversation.join(place)
            self.callNext(of: conversation, on: fleet)
            if conversation.hasEverybody { self.ready += 1 }
        case .waiting, .state: break
        default: fleet.noteTrouble("not for a listener: \(frame.beginning)")
        }
    }

    // MARK: Typing

    /// Types `rate` packets a second, evenly spread over time and conversations, until `stop`.
    func start(rate: Int, on fleet: isolated Fleet) {
        self.schedule = SteadySchedule(rate: rate)
        self.alarmRang(on: fleet)
    }

    /// Each whisperer has one packet under way all the time, until `stop`.
    func startClosedLoop(on fleet: isolated Fleet) {
        self.goesOnWhenHeard = true
        let now = NIODeadline.now().uptimeNanoseconds
        for conversation in self.conversations { conversation.type(dueAt: now, on: fleet) }
    }

    func stop() { self.isStopped = true }

    var isDue: Bool { self.schedule.map { $0.due <= NIODeadline.now().uptimeNanoseconds } ?? false }

    func alarmRang(on fleet: isolated Fleet) {
        guard !self.isStopped, var schedule = self.schedule else { return }
        let now = NIODeadline.now().uptimeNanoseconds
        while let due = schedule.next(by: now) {
            self.lateness.record(nanoseconds: now - due)
            self.conversations[self.turn].type(dueAt: due, on: fleet)
            self.turn = (self.turn + 1) % self.conversations.count
        }
        self.schedule = schedule
        fleet.setAlarm(at: .uptimeNanoseconds(schedule.due))
    }

    // MARK: Listening

    func heard(_ frame: FrameBytes, on client: Client, of fleet: isolated Fleet) {
        if frame.kind == .error {
            if let comingBack { return comingBack.refused(client, on: fleet) }
            return fleet.noteTrouble(
                "error \(frame.text(#""code":""#) ?? "?"): \(frame.text(#""message":""#) ?? "")")
        }
        switch self.roles[client.number] {
        case .whisperer(let conversation): self.hear(frame, by: client, of: conversation, on: fleet)
        case .listener(let conversation, let place):
            self.hear(frame, by: client, at: place, of: conversation, on: fleet)
        case nil: fleet.noteTrouble("a frame for nobody")
        }
    }

    private func count(_ frame: FrameBytes, at place: Int, of conversation: LiveConversation, on fleet: isolated Fleet)
    {
        guard let seq = frame.seq else { return fleet.noteTrouble("a packet without its number") }
        let heard = conversation.hear(seq, by: place)
        if let slow, slow.takes(heard, at: place, in: conversation) { return }
        self.coming?.heard(conversation.listeners[place])
        self.comingBack?.heard(frame, by: conversation.listeners[place], of: conversation)
        switch heard {
        case .next(let time): self.deliver(seq, of: conversation, dueAt: time, on: fleet)
        case .later(let missing, let time):
            self.tally.missing += missing
            self.deliver(seq, of: conversation, dueAt: time, on: fleet)
        case .again: self.tally.repeated += 1
        case .unknown: fleet.noteTrouble("a packet that nobody typed")
        }
    }

    private func deliver(_ seq: Int, of conversation: LiveConversation, dueAt time: UInt64, on fleet: isolated Fleet) {
        let now = NIODeadline.now().uptimeNanoseconds
        self.tally.delivered += 1
        self.heard.record(nanoseconds: now - time)
        guard self.goesOnWhenHeard, !self.isStopped, conversation.isHeardByAll(seq) else { return }
        conversation.type(dueAt: now, on: fleet)
    }

    func lost(_ client: Client, of fleet: isolated Fleet) {
        guard let comingBack else { return fleet.noteTrouble("connection closed") }
        comingBack.lost(client, of: fleet)
    }

    func forgetLatencies() {
        self.heard.reset()
        self.lateness.reset()
    }

    var outstanding: Int { self.conversations.reduce(0) { $0 + $1.outstanding } }
}

extension FrameBytes {
    enum LiveKind {
        case packet, conversation, started, knocked, granted, listener, wanted
        case guestChallenge, guestAck, waiting, admitted, joined, state, other
    }

    private static let liveKinds: [(start: [UInt8], kind: LiveKind)] = [
        (Self.start(of: "live_packet"), .packet),
        (Self.start(of: "live_conversation"), .conversation), (Self.start(of: "live_started"), .started),
        (Self.start(of: "live_knocked"), .knocked), (Self.start(of: "live_granted"), .granted),
        (Self.start(of: "live_listener"), .listener), (Self.start(of: "live_wanted"), .wanted),
        (Self.start(of: "guest_challenge"), .guestChallenge), (Self.start(of: "guest_ack"), .guestAck),
        (Self.start(of: "live_waiting"), .waiting), (Self.start(of: "live_admitted"), .admitted),
        (Self.start(of: "live_joined"), .joined), (Self.start(of: "live_state"), .state),
    ]

    fileprivate var live: LiveKind {
        for (start, kind) in Self.liveKinds where self.begins(with: start) { return kind }
        return .other
    }

    /// Enough to know what it is.
    fileprivate var beginning: String { String(decoding: self.bytes.prefix(40), as: UTF8.self) }

    fileprivate var seq: Int? {
        guard let start = self.bytes.end(of: #""seq":"#), start + LiveConversation.seqDigits <= self.bytes.count else {
            return nil
        }
        var seq = 0
        for byte in self.bytes[start..<start + LiveConversation.seqDigits] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            seq = seq * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return seq
    }
}
