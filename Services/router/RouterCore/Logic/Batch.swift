import Bus
import ClusterContract
import Contract

/// Jobs that are handled together: their signatures are checked, then one transaction stores them.
struct Batch {
    var accepts: [AcceptEnvelope] = []
    /// For each of `accepts` whether its signature is good.
    var areGenuine: [Bool] = []
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
    var isTrimmedLater = false

    var isEmpty: Bool { self.positions.isEmpty }

    var jobs: Int { Self.lists.reduce(0) { $0 + $1.count(self) } }

    /// Where the answer to its first message or question goes. `nil` if nobody waits for an answer.
    var firstAsked: AnswerAddress? { self.accepts.first?.answer ?? self.fetches.first?.answer }

    /// Jobs for which nobody waits.
    var deferrable: Int { Self.lists.reduce(0) { $0 + ($1.isDeferrable ? $1.count(self) : 0) } }

    /// Holds what `dependsOnReceipts`, or messages.
    var needsCommit: Bool { !self.accepts.isEmpty || self.dependsOnReceipts }

    /// Holds Jobs that must see what receipts before them have removed: a page, what waits for whoever binds or has left.
    var dependsOnReceipts: Bool { Self.lists.contains { $0.dependsOnReceipts && $0.count(self) > 0 } }

    /// Nothing of it is left to do now.
    var isDeferred: Bool { self.isEmpty || self.isTrimmedLater && self.jobs == 0 }

    /// Takes the Jobs for which nobody waits, and the task of trimming the streams.
    mutating func takeDeferrable() -> Batch {
        var taken = Batch()
        for list in Self.lists where list.isDeferrable { list.move(&self, &taken) }
        taken.positions = self.positions
        self.isTrimmedLater = true
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

    /// Appends a batch that was read later.
    mutating func add(_ later: Batch) {
        var later = later
        for list in Self.lists { list.move(&later, &self) }
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

// MARK: Kinds of Jobs

extension Batch {
    /// Operations on the Jobs of one kind, the same for every kind.
    private struct List: Sendable {
        let count: @Sendable (Batch) -> Int
        /// Appends those of the first batch to those of the second.
        let move: @Sendable (inout Batch, inout Batch) -> Void
        /// Removes those that do not concern us.
        let keep: @Sendable (inout Batch, _ concerns: (WhisperID) -> Bool) -> Void
        /// Nobody waits for them (`DeferredJobs`).
        var isDeferrable = false
        /// They must see what receipts before them have removed.
        var dependsOnReceipts = false

        /// - Parameter mailbox: whom a Job concerns; `nil` if it concerns no partition.
        init<Job>(
            _ jobs: any WritableKeyPath<Batch, [Job]> & Sendable, of mailbox: (@Sendable (Job) -> WhisperID?)?,
            isDeferrable: Bool = false,
            dependsOnReceipts: Bool = false
        ) {
            self.count = { $0[keyPath: jobs].count }
            self.move = { from, to in
                if to[keyPath: jobs].isEmpty {
                    swap(&from[keyPath: jobs], &to[keyPath: jobs])
                } else {
                    to[keyPath: jobs] += from[keyPath: jobs]
                    from[keyPath: jobs] = []
                }
            }
            self.keep = { batch, concerns in
                guard let mailbox else { return }
                batch[keyPath: jobs].removeAll { !(mailbox($0).map(concerns) ?? false) }
            }
            self.isDeferrable = isDeferrable
            self.dependsOnReceipts = dependsOnReceipts
        }

        /// For messages, which have verdicts beside them.
        init(
            accepts move: @escaping @Sendable (inout Batch, inout Batch) -> Void,
            keep: @escaping @Sendable (inout Batch, _ concerns: (WhisperID) -> Bool) -> Void
        ) {
            self.count = { $0.accepts.count }
            self.move = move
            self.keep = keep
        }
    }

    /// One for each kind. A kind that is forgotten here would be lost: it is dropped when receipts are deferred, and then leaves
    /// its stream. So the compiler asks for each.
    private static func list(_ kind: MailboxJob.Kind) -> List {
        switch kind {
        case .accept:
            List(
                accepts: { from, to in
                    to.accepts += from.accepts
                    to.areGenuine += from.areGenuine
                    (from.accepts, from.areGenuine) = ([], [])
                },
                keep: { batch, concerns in
                    let kept = batch.accepts.indices.filter { concerns(batch.accepts[$0].to) }
                    batch.areGenuine = kept.map { batch.areGenuine[$0] }
                    batch.accepts = kept.map { batch.accepts[$0] }
                })
        case .receipt: List(\.receipts, of: { $0.recipient.identity }, isDeferrable: true)
        case .fetch: List(\.fetches, of: { $0.caller.identity }, dependsOnReceipts: true)
        case .bound: List(\.bounds, of: { $0.caller.identity }, dependsOnReceipts: true)
        case .unbound: List(\.unbounds, of: { $0.identity }, dependsOnReceipts: true)
        // The numbers say it all, and may be handled twice.
        case .outcomesConfirmed: List(\.confirmed, of: nil, isDeferrable: true)
        case .presence: List(\.presence, of: { $0.to.first })
        case .presenceAsked: List(\.presenceQuestions, of: { $0.about.first })
        case .presenceHandedOver: List(\.transitions, of: { $0.identity }, dependsOnReceipts: true)
        case .typing: List(\.typing, of: { $0.to })
        }
    }

    private static let lists = MailboxJob.Kind.allCases.map(list)

    /// Forgets what concerns other partitions.
    mutating func keep(_ isOurs: (Partition) -> Bool) {
        guard self.positions.contains(where: { !isOurs($0.partition) }) else { return }
        func concerns(_ identity: WhisperID) -> Bool { isOurs(Partition(of: identity)) }
        self.positions.removeAll { !isOurs($0.partition) }
        for list in Self.lists { list.keep(&self, concerns) }
    }
}

/// The identity of a message (contract §6): sender, id without regard to case, recipient.
struct MessageKey: Hashable {
    var sender: WhisperID
    var messageID: UUIDText
    var recipient: WhisperID
}
