import ClusterContract
import Contract

/// The rooms of one process, their kept signals, and the requests that it has handled. A batch is applied, and is then either
/// committed or taken back. Pure: the time is an argument.
struct RoomMemory {
    private var book = RoomBook()
    private var signals = KeptSignals()
    private var handled = HandledRequests()

    /// The result of a batch, as long as nothing is committed.
    struct Outcome {
        enum Step {
            case answer(AnswerAddress, Answer)
            case effect(RoomEffect)
        }

        /// In the order in which they were decided.
        var steps: [Step] = []
        var changes: [RoomBook.Change] = []
        /// Addresses of joins with wrong codes or pins.
        var misses: [UInt64] = []
        var signals: [RoomSignalKind] = []
        var joins: [Answer] = []
    }

    // MARK: Rooms

    var isEmpty: Bool { self.book.all.isEmpty }
    var nodes: Set<NodeID> { Set(self.book.all.flatMap(\.nodes)) }
    /// Rooms in which somebody is connected, and connections in all rooms.
    var figures: (rooms: Int, connections: Int) {
        (self.book.all.count { $0.hasConnected }, self.book.all.reduce(0) { $0 + $1.nodes.count })
    }

    func missing(of ids: some Sequence<UUIDText>) -> [UUIDText] { ids.filter { self.book[$0] == nil } }
    mutating func load(_ room: RoomMachine) { self.book.load(room) }
    /// Forgets the other rooms. They stay in the tables.
    mutating func keep(_ isKept: (RoomMachine) -> Bool) { self.book.keep(isKept) }

    /// Other processes own the rooms. Handled requests stay known: they may come again when the shares do.
    mutating func forgetRooms() { (self.book, self.signals) = (RoomBook(), KeptSignals()) }

    // MARK: Batches

    /// Without the requests that were handled before.
    func new(_ batch: RoomBatch) -> RoomBatch {
        var batch = batch
        batch.drop(self.handled)
        return batch
    }

    mutating func apply(_ batch: RoomBatch, _ facts: RoomFacts, at now: Timestamp) -> Outcome {
        var rules = RoomRules(book: self.book, signals: self.signals, facts: facts, at: now)
        // One owner at a time, so that a change copies nothing.
        (self.book, self.signals) = (RoomBook(), KeptSignals())
        var outcome = Outcome()
        if batch.isTick { rules.tick() }
        for node in batch.silent { rules.unheard(by: node) }
        Self.move(&rules.effects, into: &outcome)
        for step in batch.steps {
            switch step {
            case .frame(let frame, let request): Self.answer(frame, request.answer, by: &rules, into: &outcome)
            case .left(let room, let connection): rules.left(room, connection)
            case .report(let node, let entries, let share): rules.reported(entries, by: node, of: share)
            case .purge(let room, let participant): rules.purged(room, participant)
            case .erased(let room, let participant): rules.erased(participant, from: room)
            case .refused(let refusal, let address): outcome.steps.append(.answer(address, .refused(refusal)))
            }
            Self.move(&rules.effects, into: &outcome)
        }
        (self.book, self.signals) = (rules.book, rules.signals)
        (outcome.changes, outcome.misses, outcome.signals) = (self.book.changes, rules.misses, rules.signalled)
        return outcome
    }

    /// The rooms that the caller's connection enters or leaves come before its answer, all other effects behind it.
    private static func answer(
        _ frame: RoomFrame, _ address: AnswerAddress, by rules: inout RoomRules, into outcome: inout Outcome
    ) {
        let answer = rules.received(frame)
        var own = rules.effects.filter { $0.isEvent(for: frame.connection) }
        Self.move(&own, into: &outcome)
        outcome.steps.append(.answer(address, answer))
        rules.effects.removeAll { $0.isEvent(for: frame.connection) }
        if case .join = frame.body { outcome.joins.append(answer) }
    }

    private static func move(_ effects: inout [RoomEffect], into outcome: inout Outcome) {
        outcome.steps += effects.map { .effect($0) }
        effects = []
    }

    mutating func commit(_ batch: RoomBatch, at time: ContinuousClock.Instant) {
        self.book.commit()
        self.signals.commit()
        self.handled.note(batch.asked, at: time)
    }

    mutating func takeBack() {
        self.book.takeBack()
        self.signals.takeBack()
    }
}
