package import ClusterContract
package import Contract

/// Upper bound of the mail in the mailboxes of this router's partitions: the last count, and all that was stored since.
/// Mail removed since is not subtracted, so a mailbox is never taken for emptier than it is. It is counted again when
/// it seems to be full.
///
/// The bound holds because only the owner of a partition stores for it. A recipient without an entry has to be counted
/// first. So a busy mailbox that stays small is counted once in as many messages as one stranger may leave in it. A
/// full one is counted at most every `RouterLimits.recountPause`. Pure: holds no store and no clock.
package struct MailboxLoads {
    /// Mail of one sender, since the mailbox was counted.
    private struct Sender {
        var tally: MailTally
        /// Not only known to be at most `MailBounds.unlisted` then.
        var isCounted: Bool
    }

    /// Kept of mailboxes that are not small.
    private struct Details {
        let countedAt: Int64
        /// Mail of senders who are no peers. All mail stored since the count is included.
        var strangers: MailTally
        var senders: [WhisperID: Sender]
    }

    private struct Load {
        var mailbox: MailTally
        var details: Details?
    }

    private let bounds: MailBounds
    private let least: MailTally
    private let recipientsMax: Int
    private let sendersMax: Int
    private var loads: [WhisperID: Load] = [:]
    /// In all `details`, at most.
    private var senders = 0

    /// - Parameters:
    ///   - recipientsMax: recipients remembered; with more, all are forgotten and counted again.
    ///   - sendersMax: their senders remembered, likewise.
    package init(
        _ bounds: MailBounds, recipientsMax: Int = RouterLimits.loadsRememberedMax,
        sendersMax: Int = RouterLimits.loadSendersRememberedMax
    ) {
        self.bounds = bounds
        self.least = bounds.least
        self.recipientsMax = recipientsMax
        self.sendersMax = sendersMax
    }

    /// Forgets mailboxes of partitions that are not owned.
    package mutating func keep(_ isOwned: (Partition) -> Bool) {
        self.loads = self.loads.filter { isOwned(Partition(of: $0.key)) }
    }

    /// The mailbox has to be counted before more is stored in it.
    package mutating func forget(_ recipient: WhisperID) {
        guard let load = self.loads.removeValue(forKey: recipient) else { return }
        self.senders -= load.details?.senders.count ?? 0
    }

    // MARK: Before a batch

    /// Recipients of a batch whose mailboxes may reach a bound with it. Nearly always none.
    /// - Parameters:
    ///   - incoming: what the batch brings for each recipient.
    ///   - mayHold: false for a mailbox that is known to be empty.
    package mutating func unsure(_ incoming: [WhisperID: MailTally], mayHold: (WhisperID) -> Bool) -> Set<WhisperID> {
        var unsure: Set<WhisperID> = []
        for (recipient, tally) in incoming {
            if !mayHold(recipient) { self.set(recipient, Load(mailbox: .zero)) }
            guard let load = self.loads[recipient], (load.mailbox + tally).fits(self.least) else {
                unsure.insert(recipient)
                continue
            }
        }
        return unsure
    }

    /// Whether the mailbox has to be counted before it can be said what it takes.
    /// - Parameter senders: what the batch brings from each.
    package func mustCount(_ recipient: WhisperID, _ senders: [WhisperID: MailTally], at now: Int64) -> Bool {
        guard let details = self.loads[recipient]?.details,
            now - details.countedAt < RouterLimits.countedFor.milliseconds
        else { return true }
        guard !self.takes(senders, for: recipient) else { return false }
        // Enough to be refused, but perhaps only because it was not counted.
        let isExact = senders.allSatisfy { sender, tally in
            (self.sender(sender, details).tally + tally).fits(self.bounds.stranger)
                || self.sender(sender, details).isCounted
        }
        return !isExact || now - details.countedAt >= RouterLimits.recountPause.milliseconds
    }

    /// The mailbox was counted, and nothing has been stored in it since.
    /// - Parameter senders: what the batch brings from each.
    package mutating func counted(
        _ recipient: WhisperID, _ mail: CountedMail, _ senders: [WhisperID: MailTally], at now: Int64
    ) {
        guard !(mail.mailbox + senders.sum).fits(self.least) else {
            return self.set(recipient, Load(mailbox: mail.mailbox))
        }
        var known = mail.senders.mapValues { Sender(tally: $0, isCounted: true) }
        for sender in senders.keys where known[sender] == nil { known[sender] = Sender(tally: .zero, isCounted: true) }
        self.set(
            recipient,
            Load(mailbox: mail.mailbox, details: Details(countedAt: now, strangers: mail.strangers, senders: known)))
    }

    /// Free space of the mailbox, by which the storing statement judges; `nil` if all of it fits, whoever the senders
    /// are. Call it when `mustCount` has returned false, or right after `counted`.
    /// - Parameter senders: the batch's mail of each.
    /// - Returns: for each of `senders`.
    package func space(of recipient: WhisperID, _ senders: [WhisperID: MailTally]) -> [WhisperID: MailboxSpace]? {
        guard let load = self.loads[recipient], let details = load.details, !self.takes(senders, for: recipient)
        else { return nil }
        return Dictionary(
            uniqueKeysWithValues: senders.keys.map { sender in
                let space = MailboxSpace(
                    mailbox: self.bounds.mailbox - load.mailbox,
                    stranger: self.bounds.stranger - self.sender(sender, details).tally,
                    strangers: self.bounds.strangers - details.strangers)
                return (sender, space)
            })
    }

    /// Whether all of this fits, even if no sender is a peer.
    private func takes(_ senders: [WhisperID: MailTally], for recipient: WhisperID) -> Bool {
        guard let load = self.loads[recipient], let details = load.details else { return false }
        let all = senders.sum
        return (load.mailbox + all).fits(self.bounds.mailbox) && (details.strangers + all).fits(self.bounds.strangers)
            && senders.allSatisfy { (self.sender($0.key, details).tally + $0.value).fits(self.bounds.stranger) }
    }

    private func sender(_ sender: WhisperID, _ details: Details) -> Sender {
        details.senders[sender] ?? self.unlisted
    }

    private var unlisted: Sender { Sender(tally: self.bounds.unlisted, isCounted: false) }

    // MARK: After a batch

    /// A message was committed.
    package mutating func stored(for recipient: WhisperID, from sender: WhisperID, bytes: Int) {
        guard self.loads[recipient] != nil else { return }
        let tally = MailTally(messages: 1, bytes: bytes)
        self.loads[recipient]!.mailbox += tally
        guard self.loads[recipient]!.details != nil else { return }
        if self.loads[recipient]!.details!.senders[sender] == nil { self.senders += 1 }
        let unlisted = self.unlisted
        self.loads[recipient]!.details!.strangers += tally
        self.loads[recipient]!.details!.senders[sender, default: unlisted].tally += tally
        if self.senders > self.sendersMax { self.forgetAll() }
    }

    /// The most that any one mailbox holds, in messages and in bytes, at most and as far as is known.
    /// - Parameter mayHold: false for a mailbox that is known to be empty.
    package func largest(mayHold: (WhisperID) -> Bool) -> MailTally {
        self.loads.reduce(into: MailTally.zero) { largest, load in
            guard !load.value.mailbox.fits(largest), mayHold(load.key) else { return }
            largest.messages = max(largest.messages, load.value.mailbox.messages)
            largest.bytes = max(largest.bytes, load.value.mailbox.bytes)
        }
    }

    package struct FullMailbox: Equatable, Sendable {
        package var recipient: WhisperID
        package var mail: MailTally
        /// Share of the nearer bound in use: 1 is full.
        package var fill: Double
    }

    /// Mailboxes that hold at least `least` of what they may, as far as is known, the fullest first.
    /// - Parameter mayHold: false for a mailbox that is known to be empty.
    package func fullest(_ count: Int, least: Double, mayHold: (WhisperID) -> Bool) -> [FullMailbox] {
        let bound = self.bounds.mailbox
        var full: [FullMailbox] = []
        for (recipient, load) in self.loads {
            let mail = load.mailbox
            let fill = max(Double(mail.messages) / Double(bound.messages), Double(mail.bytes) / Double(bound.bytes))
            guard fill >= least, mayHold(recipient) else { continue }
            full.append(FullMailbox(recipient: recipient, mail: mail, fill: fill))
        }
        return Array(full.sorted { ($0.fill, $1.recipient.bits) > ($1.fill, $0.recipient.bits) }.prefix(count))
    }

    private mutating func set(_ recipient: WhisperID, _ load: Load) {
        let old = self.loads.updateValue(load, forKey: recipient)
        self.senders += (load.details?.senders.count ?? 0) - (old?.details?.senders.count ?? 0)
        guard self.loads.count > self.recipientsMax || self.senders > self.sendersMax else { return }
        self.forgetAll()
        // The latest count must not be lost: it is needed next.
        self.loads[recipient] = load
        self.senders = load.details?.senders.count ?? 0
    }

    private mutating func forgetAll() {
        self.loads = [:]
        self.senders = 0
    }
}

extension [WhisperID: MailTally] {
    fileprivate var sum: MailTally { self.values.reduce(.zero, +) }
}
