import ClusterContract
import Contract

/// Free space in the mailboxes of a batch's recipients. Mailboxes that may reach a bound are counted first, unless the
/// remembered figures suffice.
struct MailboxSpaces {
    private let envelopes: [AcceptEnvelope]
    /// The batch's mail for mailboxes that may reach a bound: by recipient, then by sender.
    private var senders: [WhisperID: [WhisperID: MailTally]] = [:]
    private var spaces: [WhisperID: [WhisperID: MailboxSpace]] = [:]
    /// Recipients whose mailboxes must be counted.
    private(set) var toCount: [WhisperID] = []

    init(for envelopes: [AcceptEnvelope], in memory: inout RouterMemory, at now: Int64) {
        self.envelopes = envelopes
        var incoming: [WhisperID: MailTally] = [:]
        incoming.reserveCapacity(envelopes.count)
        for envelope in envelopes { incoming[envelope.to, default: .zero] += envelope.tally }
        let unsure = memory.loads.unsure(incoming, mayHold: memory.mailboxes.mayHold)
        guard !unsure.isEmpty else { return }
        for envelope in envelopes where unsure.contains(envelope.to) {
            self.senders[envelope.to, default: [:]][envelope.sender.identity, default: .zero] += envelope.tally
        }
        for (recipient, senders) in self.senders {
            if memory.loads.mustCount(recipient, senders, at: now) {
                self.toCount.append(recipient)
            } else {
                self.spaces[recipient] = memory.loads.space(of: recipient, senders)
            }
        }
    }

    /// Senders whose mail is listed however little there is of it.
    var asked: Set<WhisperID> { Set(self.toCount.flatMap { self.senders[$0]!.keys }) }

    /// - Parameter mail: for each of `toCount`.
    mutating func counted(_ mail: [CountedMail], in loads: inout MailboxLoads, at now: Int64) {
        for (recipient, mail) in zip(self.toCount, mail) {
            loads.counted(recipient, mail, self.senders[recipient]!, at: now)
            self.spaces[recipient] = loads.space(of: recipient, self.senders[recipient]!)
        }
    }

    /// For each envelope what its recipient's mailbox takes; empty if all of them surely fit.
    var ofEnvelopes: [MailboxSpace?] {
        self.spaces.isEmpty ? [] : self.envelopes.map { self.spaces[$0.to]?[$0.sender.identity] }
    }
}

extension AcceptEnvelope {
    /// The message as an amount of mail.
    fileprivate var tally: MailTally { MailTally(messages: 1, bytes: self.payload.count) }
}
