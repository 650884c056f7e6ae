import NIOCore

/// Lets senders send and recipients acknowledge, and counts.
final class Traffic: FrameListener {
    /// When a sender sends its next message.
    enum Pace {
        /// When the recipient's receipt for an earlier one has come back.
        case whenDelivered
        /// When the server has accepted an earlier one.
        case whenAccepted
        /// All together, when the recipients' receipts for all earlier ones have come back.
        case together
        /// When told.
        case steady
    }

    struct Tally {
        var sent = 0
        var accepted = 0
        var received = 0
        var delivered = 0
        /// Messages that a recipient was given again, though it had acknowledged the first.
        var duplicates = 0
        var outOfOrder = 0
        /// Receipts that a sender was given again.
        var repeatedReceipts = 0
        /// Messages whose signature was made during the run, which costs this tool time.
        var signedLate = 0
    }

    let conversations: [Conversation]
    private let pace: Pace
    private(set) var tally = Tally()
    private(set) var received = Latency("until message_received")
    private(set) var accepted = Latency("until message_accepted")
    private(set) var delivered = Latency("until message_delivered")
    /// How late this tool was with sending; part of the latencies.
    private(set) var lateness = Latency("this tool's own lateness")
    /// Each sender's last message, for paces that go on by themselves.
    var perSenderMax = Int.max
    /// Goes on fetching when recipients have read a page.
    var drain: Drain?
    /// Mail is neither read nor acknowledged, so that it goes on waiting.
    var isDeaf = false
    /// The number of the first conversation. Frames about lower ones belong to earlier traffic of the same clients.
    private let firstNumber: Int

    /// With a steady pace: its schedule, and the conversation whose turn it is.
    private var schedule: SteadySchedule?
    private var turn = 0
    /// The conversations of each round.
    private var together = 0..<0

    init(_ conversations: [Conversation], pace: Pace, firstNumber: Int = 0) {
        self.conversations = conversations
        self.pace = pace
        self.firstNumber = firstNumber
    }

    /// New identities in pairs, with signatures for `count` messages of each sender.
    static func prepare(
        pairs: Int, payload: Int, signed count: Int, pace: Pace, on fleet: isolated Fleet
    ) async throws -> Traffic {
        say("· registering \(2 * pairs) clients")
        let clients = try await fleet.register(2 * pairs)
        say("· signing \(pairs * count) messages")
        let seed = UInt64.random(in: .min ... .max)
        let conversations = (0..<pairs).map {
            Conversation($0, from: clients[2 * $0], to: clients[2 * $0 + 1], payload: payload, seed: seed)
        }
        await Conversation.sign(count, for: conversations, on: fleet)
        let traffic = Traffic(conversations, pace: pace)
        fleet.listener = traffic
        return traffic
    }

    // MARK: Sending

    /// Puts `window` messages of each sender under way.
    func start(window: Int, on fleet: isolated Fleet) {
        let now = NIODeadline.now().uptimeNanoseconds
        for conversation in self.conversations {
            for _ in 0..<min(window, self.perSenderMax) { self.send(conversation, at: now, on: fleet) }
        }
    }

    /// Has these conversations send one message each, all at once, round after round until `stop`.
    func start(rounds conversations: Range<Int>, on fleet: isolated Fleet) {
        self.isStopped = false
        self.together = conversations
        self.sendRound(at: NIODeadline.now().uptimeNanoseconds, on: fleet)
    }

    private func sendRound(at now: UInt64, on fleet: isolated Fleet) {
        for index in self.together { self.goOn(self.conversations[index], at: now, on: fleet) }
    }

    /// Sends `rate` messages a second, evenly spread over time and senders, until `stop`.
    func start(rate: Int, on fleet: isolated Fleet) {
        self.schedule = SteadySchedule(rate: rate)
        self.alarmRang(on: fleet)
    }

    var isDue: Bool { self.schedule.map { $0.due <= NIODeadline.now().uptimeNanoseconds } ?? false }

    /// Sends what is due.
    func alarmRang(on fleet: isolated Fleet) {
        guard !self.isStopped, var schedule = self.schedule else { return }
        let now = NIODeadline.now().uptimeNanoseconds
        while let due = schedule.next(by: now) {
            self.lateness.record(nanoseconds: now - due)
            self.send(self.conversations[self.turn], at: due, on: fleet)
            self.turn = (self.turn + 1) % self.conversations.count
        }
        self.schedule = schedule
        fleet.setAlarm(at: .uptimeNanoseconds(schedule.due))
    }

    private(set) var isStopped = false

    /// Nothing new is sent from here on.
    func stop() { self.isStopped = true }

    private func send(_ conversation: Conversation, at time: UInt64, on fleet: isolated Fleet) {
        self.tally.sent += 1
        if !conversation.send(at: time, on: fleet) { self.tally.signedLate += 1 }
    }

    private func goOn(_ conversation: Conversation, at now: UInt64, on fleet: isolated Fleet) {
        guard !self.isStopped, conversation.sent < self.perSenderMax else { return }
        self.send(conversation, at: now, on: fleet)
    }

    // MARK: Hearing

    func heard(_ frame: FrameBytes, on client: Client, of fleet: isolated Fleet) {
        switch frame.kind {
        case .received: self.receive(frame.message, on: client, of: fleet)
        case .accepted: self.note(frame.message, .accepted, on: fleet)
        case .delivered: self.note(frame.message, .delivered, on: fleet)
        case .pending:
            frame.forEachMessage { self.receive($0, on: client, of: fleet) }
            self.drain?.heard(frame, on: client, of: fleet)
        case .error:
            let code = frame.text(#""code":""#) ?? "?"
            let message = frame.text(#""message":""#) ?? ""
            fleet.noteTrouble("error \(code): \(message)")
        case .group: break
        case .expired: fleet.noteTrouble("message_expired")
        case .other: fleet.noteTrouble("unknown frame")
        }
    }

    /// The conversation of a message, if it was sent.
    private func find(_ number: MessageNumber?, on fleet: isolated Fleet) -> (Conversation, Int)? {
        let place = number.map { $0.conversation - self.firstNumber } ?? self.conversations.count
        guard place >= 0 else { return nil }
        guard let number, place < self.conversations.count, number.sequence < self.conversations[place].sent else {
            fleet.noteTrouble("a message that nobody sent")
            return nil
        }
        return (self.conversations[place], number.sequence)
    }

    private func receive(_ number: MessageNumber?, on client: Client, of fleet: isolated Fleet) {
        guard !self.isDeaf, let (conversation, sequence) = self.find(number, on: fleet) else { return }
        guard conversation.recipient === client else { return fleet.noteTrouble("a message for somebody else") }
        let (isNew, isInOrder) = conversation.mark(sequence, .received)
        if isNew {
            self.tally.received += 1
            if !isInOrder { self.tally.outOfOrder += 1 }
            self.received.record(nanoseconds: NIODeadline.now().uptimeNanoseconds - conversation.sentAt[sequence])
        } else {
            self.tally.duplicates += 1
        }
        conversation.acknowledge(sequence, on: fleet)
    }

    private func note(_ number: MessageNumber?, _ mark: Conversation.Mark, on fleet: isolated Fleet) {
        guard let (conversation, sequence) = self.find(number, on: fleet) else { return }
        let now = NIODeadline.now().uptimeNanoseconds
        let isNew = conversation.mark(sequence, mark).isNew
        if mark == .accepted {
            guard isNew else { return fleet.noteTrouble("message_accepted twice") }
            self.tally.accepted += 1
            self.accepted.record(nanoseconds: now - conversation.sentAt[sequence])
            if self.pace == .whenAccepted { self.goOn(conversation, at: now, on: fleet) }
        } else if isNew {
            self.tally.delivered += 1
            self.delivered.record(nanoseconds: now - conversation.sentAt[sequence])
            if self.pace == .whenDelivered { self.goOn(conversation, at: now, on: fleet) }
            if self.pace == .together, self.tally.delivered == self.tally.sent { self.sendRound(at: now, on: fleet) }
        } else {
            self.tally.repeatedReceipts += 1
        }
    }

    // MARK: Looking back

    /// Starts the latencies anew.
    func forgetLatencies() {
        for latency in [\Traffic.received, \.accepted, \.delivered, \.lateness] { self[keyPath: latency].reset() }
    }

    /// Checks that must hold at the end of any run, when everything has had time to arrive.
    func checks(troubles: [String: Int]) -> [Check] {
        [
            Check("lost (accepted, never received)", self.conversations.reduce(0) { $0 + $1.lost }),
            Check("sent without an ack", self.tally.sent - self.tally.accepted),
            Check("received without a receipt back", self.tally.received - self.tally.delivered),
            Check("received twice", self.tally.duplicates),
            Check("out of order", self.tally.outOfOrder),
        ] + troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) }
    }
}
