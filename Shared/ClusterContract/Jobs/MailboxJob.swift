package import Contract

/// Everything that concerns one recipient's mailbox, in the order in which it is to happen.
/// Travels on the stream of the recipient's partition (`Keyspace.mailbox`).
package enum MailboxJob: Job {
    case accept(AcceptEnvelope)
    case receipt(ReceiptReport)
    case fetch(FetchRequest)
    /// These connections are the live ones of their identities.
    case bound([BoundConnection])
    /// This connection is gone.
    case unbound(identity: WhisperID, node: NodeID, connection: ConnectionID)
    /// These outcomes have reached their client. Goes to any partition; the numbers say it all.
    case outcomesConfirmed([Int64])
    /// News about identities for their peers in this partition.
    case presence([PresenceNews])
    /// Which peers in this partition are online?
    case presenceAsked([PresenceQuestion])
    /// Left by a router that gave this partition up, for its successor.
    case presenceHandedOver([PendingTransition])
    case typing(TypingNews)

    /// A case without what it holds.
    package enum Kind: CaseIterable, Sendable {
        case accept, receipt, fetch, bound, unbound, outcomesConfirmed, presence, presenceAsked, presenceHandedOver,
            typing
    }

    package var kind: Kind {
        switch self {
        case .accept: .accept
        case .receipt: .receipt
        case .fetch: .fetch
        case .bound: .bound
        case .unbound: .unbound
        case .outcomesConfirmed: .outcomesConfirmed
        case .presence: .presence
        case .presenceAsked: .presenceAsked
        case .presenceHandedOver: .presenceHandedOver
        case .typing: .typing
        }
    }

    package func encode(into writer: inout WireWriter) {
        switch self {
        case .accept(let envelope):
            writer.write(UInt8(1))
            writer.write(envelope)
        case .receipt(let report):
            writer.write(UInt8(2))
            writer.write(report)
        case .fetch(let request):
            // A router of the release before does not know 7: it drops the Job, and changes nothing.
            writer.write(UInt8(request.isPeek ? 7 : 3))
            writer.write(request)
            if let bytes = request.peekBytes { writer.write(UInt32(bytes)) }
        case .bound(let connections):
            writer.write(UInt8(4))
            writer.write(list: connections)
        case .unbound(let identity, let node, let connection):
            writer.write(UInt8(5))
            writer.write(identity)
            writer.write(node)
            writer.write(connection)
        case .outcomesConfirmed(let ids):
            writer.write(UInt8(6))
            writer.write(UInt32(ids.count))
            for id in ids { writer.write(id) }
        case .presence(let news):
            writer.write(UInt8(20))
            writer.write(list: news)
        case .presenceAsked(let questions):
            writer.write(UInt8(21))
            writer.write(list: questions)
        case .typing(let news):
            writer.write(UInt8(22))
            writer.write(news)
        case .presenceHandedOver(let transitions):
            writer.write(UInt8(23))
            writer.write(list: transitions)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 1: self = .accept(try reader.read())
        case 2: self = .receipt(try reader.read())
        case 3: self = .fetch(try reader.read())
        case 4: self = .bound(try reader.readList())
        case 5: self = .unbound(identity: try reader.read(), node: try reader.read(), connection: try reader.read())
        case 6:
            let count = Int(try reader.read(UInt32.self))
            guard count <= reader.remaining / 8 else { throw .truncated }
            var ids: [Int64] = []
            ids.reserveCapacity(count)
            for _ in 0..<count { ids.append(try reader.read()) }
            self = .outcomesConfirmed(ids)
        case 7:
            var request: FetchRequest = try reader.read()
            request.peekBytes = Int(try reader.read(UInt32.self))
            self = .fetch(request)
        case 20: self = .presence(try reader.readList())
        case 21: self = .presenceAsked(try reader.readList())
        case 22: self = .typing(try reader.read())
        case 23: self = .presenceHandedOver(try reader.readList())
        case let other: throw .unknown(other)
        }
    }
}

/// A message to be accepted. The gateway has checked its form and its session.
package struct AcceptEnvelope: Sendable {
    package var answer: AnswerAddress
    package var sender: Caller
    /// The key that must have made `signature`.
    package var senderKey: Bytes32
    package var messageID: UUIDText
    package var to: WhisperID
    /// Set for group mail: sender and recipient must be members now.
    package var group: UUIDText?
    package var timestamp: Timestamp
    package var signature: Bytes64
    /// SHA-256 of the canonical bytes: what was signed.
    package var digest: Bytes32
    /// The recipient's `message_received` payload, ready to send.
    package var payload: [UInt8]
    /// When the gateway read the frame.
    package var receivedAt: Timestamp
    /// The sender is over its rate and has to wait this long, in milliseconds. The router decides: a repetition is
    /// acknowledged all the same (contract §3, steps 7 to 9).
    package var overRateFor: Int64?
    /// The object that the message points to. It must be the sender's own; accepting the message links it to the recipient.
    package var attachmentKey: String?

    package init(
        answer: AnswerAddress, sender: Caller, senderKey: Bytes32, messageID: UUIDText, to: WhisperID,
        group: UUIDText? = nil, timestamp: Timestamp, signature: Bytes64, digest: Bytes32, payload: [UInt8],
        receivedAt: Timestamp,
        overRateFor: Int64? = nil, attachmentKey: String? = nil
    ) {
        self.answer = answer
        self.sender = sender
        self.senderKey = senderKey
        self.messageID = messageID
        self.to = to
        self.group = group
        self.timestamp = timestamp
        self.signature = signature
        self.digest = digest
        self.payload = payload
        self.receivedAt = receivedAt
        self.overRateFor = overRateFor
        self.attachmentKey = attachmentKey
    }
}

extension AcceptEnvelope: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.answer)
        writer.write(self.sender)
        writer.write(self.senderKey)
        writer.write(self.messageID)
        writer.write(self.to)
        writer.write(self.group)
        writer.write(self.timestamp)
        writer.write(self.signature)
        writer.write(self.digest)
        writer.write(bytes: self.payload)
        writer.write(self.receivedAt)
        writer.write(self.overRateFor ?? 0)
        // A key is never empty.
        writer.write(self.attachmentKey ?? "")
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.answer = try reader.read()
        self.sender = try reader.read()
        self.senderKey = try reader.read()
        self.messageID = try reader.read()
        self.to = try reader.read()
        self.group = try reader.readOptional()
        self.timestamp = try reader.read()
        self.signature = try reader.read()
        self.digest = try reader.read()
        self.payload = try reader.readBytes()
        self.receivedAt = try reader.read()
        let overRateFor: Int64 = try reader.read()
        self.overRateFor = overRateFor > 0 ? overRateFor : nil
        let attachmentKey = try reader.readString()
        self.attachmentKey = attachmentKey.isEmpty ? nil : attachmentKey
    }
}

/// A recipient's word about a message.
package struct ReceiptReport: Sendable {
    /// The recipient of the message.
    package var recipient: Caller
    package var sender: WhisperID
    package var messageID: UUIDText
    package var status: ReceiptStatus
    package var timestamp: Timestamp

    package init(
        recipient: Caller, sender: WhisperID, messageID: UUIDText, status: ReceiptStatus, timestamp: Timestamp
    ) {
        self.recipient = recipient
        self.sender = sender
        self.messageID = messageID
        self.status = status
        self.timestamp = timestamp
    }
}

extension ReceiptReport: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.recipient)
        writer.write(self.sender)
        writer.write(self.messageID)
        writer.write(self.status)
        writer.write(self.timestamp)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.recipient = try reader.read()
        self.sender = try reader.read()
        self.messageID = try reader.read()
        self.status = try reader.read()
        self.timestamp = try reader.read()
    }
}

/// A page of the mailbox is asked for.
package struct FetchRequest: Sendable {
    package var answer: AnswerAddress
    package var connection: ConnectionID
    package var caller: Caller
    /// Behind the mail with this number; 0 for the oldest.
    package var after: Int64
    package var limit: Int
    /// Set if somebody only looks, without a session of the router (contract §5): bytes of the messages, at most. The number of the Job
    /// says whether it is there.
    package var peekBytes: Int?

    package var isPeek: Bool { self.peekBytes != nil }

    package init(
        answer: AnswerAddress, connection: ConnectionID, caller: Caller, after: Int64, limit: Int,
        peekBytes: Int? = nil
    ) {
        self.answer = answer
        self.connection = connection
        self.caller = caller
        self.after = after
        self.limit = limit
        self.peekBytes = peekBytes
    }
}

extension FetchRequest: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.answer)
        writer.write(self.connection)
        writer.write(self.caller)
        writer.write(self.after)
        writer.write(UInt16(self.limit))
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.answer = try reader.read()
        self.connection = try reader.read()
        self.caller = try reader.read()
        self.after = try reader.read()
        self.limit = Int(try reader.read(UInt16.self))
    }
}

/// A live connection of an identity, as its gateway tells it when it binds, and again whenever a router may not know.
package struct BoundConnection: Sendable {
    /// How much of the mailbox the connection has been given.
    package enum Progress: Hashable, Sendable {
        /// Just bound: nothing yet. The router finds out whether anything waits.
        case fresh
        /// The client pages through what waited; live mail is held back until it is through.
        case paging
        /// Everything up to this number has been written; whatever is above it goes live.
        case live(through: Int64)
    }

    /// Whether routers can have heard of the connection. It says nothing about mail: a page may be answered before.
    package enum AnnouncementState: UInt8, Sendable {
        /// Just bound, and announced for the first time.
        case new
        /// Announced before, but not confirmed. A router that is gone may have heard it.
        case unconfirmed
        /// A router has confirmed it.
        case confirmed
    }

    package var caller: Caller
    package var node: NodeID
    package var connection: ConnectionID
    /// When it showed the token that bound it to its session, by its gateway's clock.
    package var boundAt: Timestamp
    package var progress: Progress
    package var state: AnnouncementState
    /// Counts the connection's announcements from 1. The answer repeats it, so that an older one's is known as such.
    package var number: UInt32
    /// Its reader may have read it before, because its stream was read again from the start. Not on the wire.
    package var isReadAgain = false

    package init(
        caller: Caller, node: NodeID, connection: ConnectionID, boundAt: Timestamp, progress: Progress,
        state: AnnouncementState, number: UInt32
    ) {
        self.caller = caller
        self.node = node
        self.connection = connection
        self.boundAt = boundAt
        self.progress = progress
        self.state = state
        self.number = number
    }

    /// Whether it replaces another connection of its identity (contract §4).
    ///
    /// A newer session wins. Within a session a first announcement wins. Between repeated announcements the later `boundAt`
    /// wins, because the gateway of the older connection may have missed its end. One that is read again is no first one.
    /// Two that were bound in the same millisecond are told apart by their numbers: else each would win over the other.
    /// - Parameters:
    ///   - boundAt: of the other one.
    ///   - node, connection: the other one itself.
    ///   - isNewToo: the other one was first announced just before. After an outage both may have waited.
    package func wins(
        over other: Caller, boundAt: Timestamp, node: NodeID, connection: ConnectionID, isNewToo: Bool = false
    ) -> Bool {
        guard other.epoch == self.caller.epoch else { return other.epoch < self.caller.epoch }
        if self.state == .new, !isNewToo, !self.isReadAgain { return true }
        return (self.boundAt.milliseconds, self.node.value, self.connection.value)
            > (boundAt.milliseconds, node.value, connection.value)
    }
}

extension BoundConnection: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.caller)
        writer.write(self.node)
        writer.write(self.connection)
        writer.write(self.boundAt)
        switch self.progress {
        case .fresh: writer.write(UInt8(0))
        case .paging: writer.write(UInt8(1))
        case .live(let through):
            writer.write(UInt8(2))
            writer.write(through)
        }
        writer.write(self.state.rawValue)
        writer.write(self.number)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.caller = try reader.read()
        self.node = try reader.read()
        self.connection = try reader.read()
        self.boundAt = try reader.read()
        switch try reader.read(UInt8.self) {
        case 0: self.progress = .fresh
        case 1: self.progress = .paging
        case 2: self.progress = .live(through: try reader.read())
        case let other: throw .unknown(other)
        }
        let value = try reader.read(UInt8.self)
        guard let state = AnnouncementState(rawValue: value) else { throw .unknown(value) }
        self.state = state
        self.number = try reader.read()
    }
}
