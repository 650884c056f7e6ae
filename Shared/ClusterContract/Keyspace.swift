package import Contract

/// Every name that this cluster uses in Redis, once.
package enum Keyspace {
    /// Gateway → router: one stream per partition, read by the one router that owns it. Trimmed Jobs are committed.
    /// Streams of a lane have one hash slot, so that one command can name several.
    package static func mailbox(_ partition: Partition) -> StreamName<MailboxJob> { self.mailboxes[partition.index] }

    /// Made once: each Job needs one.
    private static let mailboxes = Partition.all.map { partition in
        StreamName<MailboxJob>("mailbox:{\(Lane(of: partition).tag)}:\(partition.index)")
    }

    /// Gateway → auth, one consumer group.
    package static let auth = StreamName<ServiceRequest>("auth")

    /// Gateway → router: everything about groups but their mail. One consumer group: any router may answer.
    package static let groups = StreamName<ServiceRequest>("groups")

    /// Gateway → calls: one stream per share, read by the one process that owns it.
    package static func calls(_ share: CallShare) -> StreamName<CallJob> { StreamName("calls:\(share.index)") }

    /// Gateway, auth → calls: one stream per share of the live conversations, read by the one process that owns it.
    package static func live(_ share: LiveShare) -> StreamName<LiveJob> { StreamName("live:\(share.index)") }

    /// Gateway → calls: one stream per share of the rooms, read by the one process that owns it.
    package static func rooms(_ share: RoomShare) -> StreamName<RoomJob> { StreamName("rooms:\(share.index)") }

    /// The stream of frames for a service; `nil` for those that take none this way. Calls have `calls(_:)`, conversations `live(_:)`,
    /// rooms `rooms(_:)`.
    package static func requests(to service: ServiceName) -> StreamName<ServiceRequest>? {
        switch service {
        case .auth: Self.auth
        case .router: Self.groups
        case .gateway, .push, .attachments, .calls: nil
        }
    }

    /// Router → push, one consumer group: mail waits.
    package static let wakes = StreamName<Wake>("wakes")

    /// Calls → push, one consumer group. A stream of its own: a call must not queue behind mail.
    package static let callWakes = StreamName<Wake>("wakes:calls")

    /// Push → auth, one consumer group: tokens that a provider knows no more.
    package static let rejectedTokens = StreamName<RejectedToken>("rejected-tokens")

    /// The result of a call's wake-up in push: sent, or over. Lost with Redis, as the calls' own Jobs are.
    package static func callWake(_ wakeID: UUIDText) -> KeyName { KeyName("callwake:\(wakeID)") }

    /// Service → one gateway node.
    package static func node(_ node: NodeID) -> ChannelName<NodeNotice> {
        ChannelName("node:\(node)")
    }

    /// Gateway → one gateway node: content of live conversations, and nothing else.
    package static func feed(_ node: NodeID) -> ChannelName<FeedNotice> {
        ChannelName("feed:\(node)")
    }

    /// Service → all gateway nodes.
    package static let nodes = ChannelName<ClusterNotice>("nodes")

    /// Where an identity's live connection is: node, connection, epoch. Written by its gateway.
    package static func presence(_ identity: WhisperID) -> KeyName { KeyName("presence:\(identity)") }

    /// A `Session`, by the hash of its token. A cache of auth's table.
    package static func session(_ tokenHash: Bytes32) -> KeyName {
        KeyName("session:\(Hexadecimal.text(tokenHash.bytes))")
    }

    /// Where a guest's connection is, as for an identity.
    package static func presence(_ guest: GuestID) -> KeyName { KeyName("presence:\(guest)") }

    package static func presence(_ principal: PrincipalID) -> KeyName { KeyName("presence:\(principal)") }

    /// A `Guest`, by the hash of its token. A cache of auth's table.
    package static func guest(_ tokenHash: Bytes32) -> KeyName {
        KeyName("guest:\(Hexadecimal.text(tokenHash.bytes))")
    }

    /// A challenge of a login or of a guest that was given out and not answered yet.
    package static func challenge(_ id: UUIDText) -> KeyName {
        KeyName("challenge:\(UUIDText(high: id.high, low: id.low))")
    }

    /// The challenge of an erasure. An identity has one at most: a new one takes its place.
    package static func erasureChallenge(_ identity: WhisperID) -> KeyName { KeyName("challenge:erase:\(identity)") }

    /// How much of a rate a subject has used (`Pace`).
    /// - Parameter key: an identity or an address, as text.
    package static func rateLimit(_ rate: Rate, _ key: String) -> KeyName { KeyName("ratelimit:\(key):\(rate.action)") }

    /// Set while a call of this share concerns an identity: whoever binds asks, and its gateway tells the share
    /// (`CallJob.bound`). Holds the call's id while it rings there, else a single byte.
    package static func engaged(_ identity: WhisperID, in share: CallShare) -> KeyName {
        KeyName("engaged:\(share.index):\(identity)")
    }

    /// A `RingingCall`, by its id without regard to case. A cache of the calls service's table.
    package static func call(_ id: UUIDText) -> KeyName { KeyName("call:\(UUIDText(high: id.high, low: id.low))") }

    /// Set by a gateway again and again, to its release. When it is gone, the gateway is dead or frozen, and presence that names it
    /// says nothing.
    package static func alive(_ gateway: NodeID) -> KeyName { KeyName("alive:\(gateway)") }

    /// Set by a process while it runs. When it is gone, so is everything else: Redis has been emptied.
    package static func canary(_ process: NodeID) -> KeyName { KeyName("canary:\(process)") }
}
