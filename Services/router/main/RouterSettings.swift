import RouterCore
import ServiceRuntime

/// Everything a router is told from outside.
struct RouterSettings: ServiceSettings {
    let process = ProcessSettings()
    let redis = RedisSettings()
    let postgres = PostgresSettings()
    let pendingTTL = MailSettings.pendingTTL
    let resendAfter = Setting(
        "resend.after.seconds", .seconds(in: 1...Int(RouterLimits.resendAfterMax.components.seconds)), default: "15",
        "When live mail without a receipt is sent again.")
    let leaseInterval = Setting(
        "lease.interval.milliseconds", .integer(in: 50...1_000), default: "1000",
        "How often a process looks which shares of the work are its own. Less only for tests: each look costs a round trip."
    )
    let offlineAfter = Setting(
        "presence.offline.after.seconds", .seconds(in: 1...300), default: "15", "Absence that peers are not told of.")
    let presencePause = Setting(
        "presence.pause.seconds", .seconds(in: 1...3_600), default: "30", "Between two updates about one peer.")
    let typingPause = Setting(
        "typing.pause.seconds", .seconds(in: 1...60), default: "2", "Between two notifications of a peer's typing.")
    let mailboxMessagesMax = Setting(
        "mailbox.messages.max", .integer(in: 1...100_000_000), default: "\(MailBounds().mailbox.messages)",
        "Messages that wait for one recipient, at most.")
    let mailboxBytesMax = Setting(
        "mailbox.bytes.max", .integer(in: 1_000_000...1_000_000_000_000), default: "\(MailBounds().mailbox.bytes)",
        "Bytes that wait for one recipient, at most.")
    let strangerMessagesMax = Setting(
        "mailbox.stranger.messages.max", .integer(in: 1...100_000_000), default: "\(MailBounds().stranger.messages)",
        "Messages that wait for one recipient from one sender who is not its peer, at most.")
    let strangerBytesMax = Setting(
        "mailbox.stranger.bytes.max", .integer(in: 1_000_000...1_000_000_000_000),
        default: "\(MailBounds().stranger.bytes)",
        "Bytes that wait for one recipient from one sender who is not its peer, at most.")
    let strangersMessagesMax = Setting(
        "mailbox.strangers.messages.max", .integer(in: 1...100_000_000), default: "\(MailBounds().strangers.messages)",
        "Messages that wait for one recipient from all senders together who are not its peers, at most.")
    let strangersBytesMax = Setting(
        "mailbox.strangers.bytes.max", .integer(in: 1_000_000...1_000_000_000_000),
        default: "\(MailBounds().strangers.bytes)",
        "Bytes that wait for one recipient from all senders together who are not its peers, at most.")
    let strangers = StrangerSettings()
    let groupsOwned = Setting(
        "groups.owned.max", .integer(in: 1...100_000), default: "200", "Groups that one identity may own.")
    let groupsJoined = Setting(
        "groups.joined.max", .integer(in: 1...100_000), default: "1000", "Groups that one identity may be in.")
    let groupsByStrangers = Setting(
        "groups.by.strangers.max", .integer(in: 0...100_000), default: "100",
        "Groups that one identity may be in because somebody added it who was not its peer.")
    let groupStrangersPerDay = Setting(
        "group.strangers.per.day", .integer(in: 0...10_000), default: "50",
        "Additions to groups, in 24 hours, by one identity of identities that are not its peers.")
    let walksLedger = Setting(
        "erasure.ledger.walk", .truth, default: "true",
        "Whether routers read the whole ledger once a day to erase who has left. If not, its rows go with their day, after 16 days at most."
    )
    let groupEventTTL = Setting(
        "group.event.ttl.seconds", .seconds(in: 1...31_536_000), default: "2592000",
        "How long a group event waits for a member who is away.")
}

extension Settings<RouterSettings> {
    func configuration() throws(SettingsError) -> RouterConfiguration {
        // Mail that waits no longer than a resend takes would never be sent again.
        try self.require(\.resendAfter, below: \.pendingTTL)
        // The room of one stranger is a part of all strangers' room, and that a part of the mailbox: peers have the rest.
        try self.require(\.strangerMessagesMax, atMost: \.strangersMessagesMax)
        try self.require(\.strangersMessagesMax, atMost: \.mailboxMessagesMax)
        try self.require(\.strangerBytesMax, atMost: \.strangersBytesMax)
        try self.require(\.strangersBytesMax, atMost: \.mailboxBytesMax)
        try self.require(\.groupsOwned, atMost: \.groupsJoined)
        try self.require(\.groupsByStrangers, atMost: \.groupsJoined)
        // A peer that pauses while it types is not away, and its absence is no longer news after the next update.
        try self.require(\.typingPause, below: \.offlineAfter)
        try self.require(\.offlineAfter, below: \.presencePause)
        return RouterConfiguration(
            pendingTTL: try self.pendingTTL, resendAfter: try self.resendAfter,
            leaseInterval: .milliseconds(try self.leaseInterval),
            presence: PresenceConfiguration(
                offlineAfter: try self.offlineAfter, pause: try self.presencePause, typingPause: try self.typingPause),
            bounds: MailBounds(
                mailbox: MailTally(messages: try self.mailboxMessagesMax, bytes: try self.mailboxBytesMax),
                stranger: MailTally(messages: try self.strangerMessagesMax, bytes: try self.strangerBytesMax),
                strangers: MailTally(messages: try self.strangersMessagesMax, bytes: try self.strangersBytesMax)),
            strangersStoreBytesMax: try self.strangers.bytes(),
            groups: GroupConfiguration(
                ownedMax: try self.groupsOwned, joinedMax: try self.groupsJoined,
                byStrangersMax: try self.groupsByStrangers,
                strangersPerDayMax: try self.groupStrangersPerDay, eventTTL: try self.groupEventTTL))
    }
}
