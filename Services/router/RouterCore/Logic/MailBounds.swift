package import Contract

/// An amount of stored mail.
package struct MailTally: Hashable, Sendable {
    package var messages: Int
    /// Payload bytes, as stored.
    package var bytes: Int

    package static let zero = MailTally(messages: 0, bytes: 0)

    package init(messages: Int, bytes: Int) {
        self.messages = messages
        self.bytes = bytes
    }

    package static func + (a: MailTally, b: MailTally) -> MailTally {
        MailTally(messages: a.messages + b.messages, bytes: a.bytes + b.bytes)
    }

    package static func - (a: MailTally, b: MailTally) -> MailTally {
        MailTally(messages: a.messages - b.messages, bytes: a.bytes - b.bytes)
    }

    package static func += (a: inout MailTally, b: MailTally) { a = a + b }

    /// Neither has more messages nor more bytes.
    package func fits(_ bound: MailTally) -> Bool { self.messages <= bound.messages && self.bytes <= bound.bytes }
}

/// The most mail that may wait in one mailbox (contract §13a).
package struct MailBounds: Sendable {
    /// In all.
    package var mailbox: MailTally
    /// From one sender who is not the recipient's peer.
    package var stranger: MailTally
    /// From all such senders together.
    package var strangers: MailTally

    package init(
        mailbox: MailTally = MailTally(messages: Limits.mailboxMessagesMax, bytes: Limits.mailboxBytesMax),
        stranger: MailTally = MailTally(messages: Limits.strangerMessagesMax, bytes: Limits.strangerBytesMax),
        strangers: MailTally = MailTally(messages: Limits.strangersMessagesMax, bytes: Limits.strangersBytesMax)
    ) {
        self.mailbox = mailbox
        self.stranger = stranger
        self.strangers = strangers
    }

    /// A mailbox that holds no more than this has reached no bound, whoever wrote to it.
    var least: MailTally {
        MailTally(
            messages: min(self.mailbox.messages, self.stranger.messages, self.strangers.messages),
            bytes: min(self.mailbox.bytes, self.stranger.bytes, self.strangers.bytes))
    }

    /// A sender of no more than this is not listed when a mailbox is counted: few can be above it.
    var unlisted: MailTally { MailTally(messages: self.stranger.messages / 2, bytes: self.stranger.bytes / 2) }
}

/// How much more one mailbox takes, of each kind. Below zero where a bound was passed before it was set.
package struct MailboxSpace: Hashable, Sendable {
    package var mailbox: MailTally
    /// For mail of the message's sender, if it is not the recipient's peer.
    package var stranger: MailTally
    package var strangers: MailTally
}

/// The result of counting one mailbox.
package struct CountedMail: Hashable, Sendable {
    package var mailbox: MailTally
    package var strangers: MailTally
    /// The senders that were asked for, and all with more than `MailBounds.unlisted`. A sender that was asked for and
    /// is missing has no mail.
    package var senders: [WhisperID: MailTally]

    package init(mailbox: MailTally, strangers: MailTally, senders: [WhisperID: MailTally]) {
        self.mailbox = mailbox
        self.strangers = strangers
        self.senders = senders
    }
}
