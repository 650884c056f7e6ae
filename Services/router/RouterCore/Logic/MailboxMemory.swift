package import ClusterContract
package import Contract

/// Which mailboxes of this router's partitions may hold mail, so that nobody looks into an empty one: after a gateway has
/// died, thousands come back at once, and for nearly all of them nothing waits.
///
/// Never calls a mailbox empty that is not. It can know, because only the owner of a partition commits for it: what was
/// stored before is read once after the partition was taken, beside the batches; everything since has gone through here.
/// Pure: holds no store and no clock.
package struct MailboxMemory {
    /// One period of owning a partition. Readings of an earlier one are void: another router may have stored since.
    package struct Term: Hashable, Sendable {
        let partition: Partition
        fileprivate let number: Int
    }

    private struct Mailboxes {
        let term: Term
        /// All mail stored before the partition was taken has been read.
        var isKnown = false
        /// Upper bound of waiting messages by recipient; `some` if not counted. Once `isKnown`, others have none.
        var waiting: [WhisperID: Int] = [:]
    }

    /// More than is ever counted down from.
    private static let some = Int.max / 2

    private let recipientsMax: Int
    private var partitions: [Partition: Mailboxes] = [:]
    private var terms = 0

    /// - Parameter recipientsMax: recipients remembered of one partition. A partition with more is not remembered at all.
    package init(recipientsMax: Int) { self.recipientsMax = recipientsMax }

    /// Whether there may be mail for this recipient.
    package func mayHold(_ recipient: WhisperID) -> Bool {
        guard let mailboxes = self.partitions[Partition(of: recipient)], mailboxes.isKnown else { return true }
        return mailboxes.waiting[recipient] != nil
    }

    // MARK: Partitions

    /// The partition is this router's from here on.
    package mutating func adopted(_ partition: Partition) {
        self.terms += 1
        self.partitions[partition] = Mailboxes(term: Term(partition: partition, number: self.terms))
    }

    /// Forgets mailboxes of partitions that are not owned.
    package mutating func keep(_ isOwned: (Partition) -> Bool) {
        self.partitions = self.partitions.filter { isOwned($0.key) }
    }

    /// For `learned`; nil if there is nothing to learn. To be asked before the reading begins.
    package func term(of partition: Partition) -> Term? {
        guard let mailboxes = self.partitions[partition], !mailboxes.isKnown else { return nil }
        return mailboxes.term
    }

    /// For these recipients, and nobody else in the partition, something waited when they were read.
    package mutating func learned(_ recipients: [WhisperID], in term: Term) {
        guard self.partitions[term.partition]?.term == term else { return }
        for recipient in recipients { self.partitions[term.partition]!.waiting[recipient] = Self.some }
        self.partitions[term.partition]!.isKnown = true
        self.forgetIfTooMany(term.partition)
    }

    // MARK: Mail

    /// A message was committed.
    package mutating func stored(for recipient: WhisperID) {
        let partition = Partition(of: recipient)
        guard self.partitions[partition] != nil else { return }
        self.partitions[partition]!.waiting[recipient, default: 0] += 1
        self.forgetIfTooMany(partition)
    }

    /// A receipt has removed a message.
    package mutating func removed(from recipient: WhisperID) {
        let partition = Partition(of: recipient)
        // Until all is known, the message may be one that was never counted.
        guard self.partitions[partition]?.isKnown == true,
            let waiting = self.partitions[partition]!.waiting[recipient], waiting < Self.some
        else { return }
        self.partitions[partition]!.waiting[recipient] = waiting > 1 ? waiting - 1 : nil
    }

    /// The whole mailbox was read, and nothing was in it.
    package mutating func foundEmpty(_ recipient: WhisperID) {
        self.partitions[Partition(of: recipient)]?.waiting[recipient] = nil
    }

    private mutating func forgetIfTooMany(_ partition: Partition) {
        guard self.partitions[partition]!.waiting.count > self.recipientsMax else { return }
        self.partitions[partition] = nil
    }
}
