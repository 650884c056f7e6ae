import Bus
import Contract

/// Jobs that are handled together: their signatures are checked, then one transaction stores them.
struct Batch {
    var accepts: [AcceptEnvelope] = []
    /// For each of `accepts` whether its signature is good.
    var verdicts: [Bool] = []
    var receipts: [ReceiptReport] = []
    var fetches: [FetchRequest] = []
    var bounds: [BoundConnection] = []
    var unbounds: [(identity: WhisperID, node: NodeID, connection: ConnectionID)] = []
    var confirmed: [Int64] = []
    var presence: [PresenceNews] = []
    var presenceQuestions: [PresenceQuestion] = []
    var transitions: [PendingTransition] = []
    var typing: [TypingNews] = []
    /// The last entry taken of each partition: everything up to it is done when the batch is.
    var positions: [(partition: Partition, through: EntryID)] = []

    /// Holds one Job only, because something is wrong with one of them.
    var isSingle = false
    /// Jobs up to `positions` wait in `DeferredJobs`, which trims the streams when they are committed.
    var leavesStreams = false

    var isEmpty: Bool { self.positions.isEmpty }

    var jobs: Int {
        self.accepts.count + self.receipts.count + self.fetches.count + self.bounds.count + self.unbounds.count
            + self.confirmed.count + self.presence.count + self.presenceQuestions.count + self.typing.count
    }

    /// Where the answer to its first message or question goes. `nil` if nobody waits for an answer.
    var firstAsked: AnswerAddress? { self.accepts.first?.answer ?? self.fetches.first?.answer }

    /// Jobs for which nobody waits.
    var deferrable: Int { self.receipts.count + self.confirmed.count }

    /// Holds what `dependsOnReceipts`, or messages.
    var needsCommit: Bool { !self.accepts.isEmpty || self.dependsOnReceipts }

    /// Holds Jobs that must see what receipts before them have removed: a page, what waits for whoever binds or has left.
    var dependsOnReceipts: Bool {
        !self.fetches.isEmpty || !self.bounds.isEmpty || !self.unbounds.isEmpty || !self.transitions.isEmpty
    }

    /// Nothing of it is left to do now.
    var isDeferred: Bool { self.isEmpty || self.leavesStreams && self.jobs == 0 && self.transitions.isEmpty }

    /// Takes the Jobs for which nobody waits, and the task of trimming the streams.
    mutating func takeDeferrable() -> Batch {
        var taken = Batch()
        swap(&taken.receipts, &self.receipts)
        swap(&taken.confirmed, &self.confirmed)
        taken.positions = self.positions
        self.leavesStreams = true
        return taken
    }

    /// The last of `positions` of each partition.
    var lastPositions: [Partition: EntryID] {
        Dictionary(self.positions.map { ($0.partition, $0.through) }, uniquingKeysWith: { $1 })
    }

    /// Its Jobs stay in the streams of these partitions, which are read again from the start. A new master may have given their
    /// numbers to others.
    mutating func leave(_ isReadAgain: (Partition) -> Bool) {
        for index in self.positions.indices where isReadAgain(self.positions[index].partition) {
            self.positions[index].through = .start
        }
    }

    /// What was read after it.
    mutating func add(_ later: Batch) {
        self.accepts += later.accepts
        self.verdicts += later.verdicts
        self.receipts += later.receipts
        self.fetches += later.fetches
        self.bounds += later.bounds
        self.unbounds += later.unbounds
        self.confirmed += later.confirmed
        self.presence += later.presence
        self.presenceQuestions += later.presenceQuestions
        self.transitions += later.transitions
        self.typing += later.typing
        self.positions += later.positions
        self.isSingle = self.isSingle || later.isSingle
    }

    /// - Parameter isReadAgain: it may have been read before, because its stream was read again from the start.
    mutating func add(_ job: MailboxJob, isReadAgain: Bool = false) {
        switch job {
        case .accept(let envelope): self.accepts.append(envelope)
        case .receipt(let report): self.receipts.append(report)
        case .fetch(let request): self.fetches.append(request)
        case .bound(var connections):
            for index in connections.indices { connections[index].isReadAgain = isReadAgain }
            self.bounds += connections
        case .unbound(let identity, let node, let connection): self.unbounds.append((identity, node, connection))
        case .outcomesConfirmed(let numbers): self.confirmed += numbers
        case .presence(let news): self.presence += news
        case .presenceAsked(let questions): self.presenceQuestions += questions
        case .presenceHandedOver(let transitions): self.transitions += transitions
        case .typing(let news): self.typing.append(news)
        }
    }
}

extension Batch {
    /// Forgets what concerns other partitions. Numbers of confirmed outcomes concern none, and may be handled twice.
    mutating func keep(_ isOurs: (Partition) -> Bool) {
        guard self.positions.contains(where: { !isOurs($0.partition) }) else { return }
        func concerns(_ identity: WhisperID) -> Bool { isOurs(Partition(of: identity)) }
        self.positions.removeAll { !isOurs($0.partition) }
        let kept = self.accepts.indices.filter { concerns(self.accepts[$0].to) }
        self.verdicts = kept.map { self.verdicts[$0] }
        self.accepts = kept.map { self.accepts[$0] }
        self.receipts.removeAll { !concerns($0.recipient.identity) }
        self.fetches.removeAll { !concerns($0.caller.identity) }
        self.bounds.removeAll { !concerns($0.caller.identity) }
        self.unbounds.removeAll { !concerns($0.identity) }
        self.presence.removeAll { !($0.to.first.map(concerns) ?? false) }
        self.presenceQuestions.removeAll { !($0.about.first.map(concerns) ?? false) }
        self.transitions.removeAll { !concerns($0.identity) }
        self.typing.removeAll { !concerns($0.to) }
    }
}

/// What makes a message one message (contract §6): sender, id without regard to case, recipient.
struct MessageKey: Hashable {
    var sender: WhisperID
    var messageID: UUIDText
    var recipient: WhisperID
}
