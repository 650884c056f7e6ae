package import Contract

/// News for one gateway node, many at a time: answers to its questions, and mail for its connections.
package struct NodeNotice: Notice {
    package var events: [NodeEvent]

    package init(events: [NodeEvent]) { self.events = events }

    package func encode(into writer: inout WireWriter) { writer.write(list: self.events) }
    package init(from reader: inout WireReader) throws(WireError) { self.events = try reader.readList() }
}

package enum NodeEvent: Sendable {
    case answer(question: UInt64, Answer)
    /// The router knows that this connection is its identity's live one. `isCaughtUp`: nothing waits that has not been
    /// written to it, so new mail goes live. `answering`: which of its announcements (`BoundConnection.number`).
    case bound(ConnectionID, isCaughtUp: Bool, answering: UInt32)
    /// Another connection of the same identity is the live one, or a newer login: close this one (4001), unless it has
    /// itself a newer session than the one of this epoch.
    case replaced(ConnectionID, Epoch)
    /// Mail to write, in order. `again`: it was written before and not acknowledged.
    case mail(ConnectionID, [Mail], again: Bool)
    /// Connections that the router believes this node holds. The gateway repeats a departure for each one it no longer has.
    case connectionSnapshot([ConnectionSnapshotEntry])
    /// Outcomes of messages that this connection's identity sent.
    case outcomes(ConnectionID, [Outcome])
    /// A `group_event` that each of these clients is told again, until it has confirmed its number.
    case groupEvent(payload: [UInt8], [GroupReader])
    /// A peer's state, for the client. May be lost without harm.
    case presence(ConnectionID, about: WhisperID, PresenceState)
    /// A frame about a call, which the gateway confirms.
    case call(CallDelivery)
    /// A change of what the connection holds or attends. Events of one notice are handled in order: this one comes before
    /// the answer.
    case live(ConnectionID, LiveEvent)
    /// A connection at another gateway says that it is the guest's live one (`GuestMove`). Close the one named here (4001),
    /// unless its guest has shown the token on it later, or has proved anew.
    case guestMoved(ConnectionID, epoch: Epoch, age: Int64)
    /// A frame that may be lost without harm.
    case frame(ConnectionID, type: String, payload: [UInt8])
}

extension NodeEvent {
    package static func frame<Frame: ServerFrame>(_ connection: ConnectionID, _ frame: Frame) -> NodeEvent {
        .frame(connection, type: Frame.type, payload: frame.json)
    }
}

extension NodeEvent: WireCodable {
    package func encode(into writer: inout WireWriter) {
        switch self {
        case .answer(let question, let answer):
            writer.write(UInt8(1))
            writer.write(question)
            writer.write(answer)
        case .bound(let connection, let isCaughtUp, let number):
            writer.write(UInt8(2))
            writer.write(connection)
            writer.write(isCaughtUp)
            writer.write(number)
        case .mail(let connection, let mail, let again):
            writer.write(UInt8(3))
            writer.write(connection)
            writer.write(list: mail)
            writer.write(again)
        case .outcomes(let connection, let outcomes):
            writer.write(UInt8(4))
            writer.write(connection)
            writer.write(list: outcomes)
        case .replaced(let connection, let epoch):
            writer.write(UInt8(5))
            writer.write(connection)
            writer.write(epoch)
        case .groupEvent(let payload, let readers):
            writer.write(UInt8(6))
            writer.write(bytes: payload)
            writer.write(list: readers)
        case .presence(let connection, let about, let state):
            writer.write(UInt8(7))
            writer.write(connection)
            writer.write(about)
            writer.write(state)
        case .call(let delivery):
            writer.write(UInt8(8))
            writer.write(delivery)
        case .connectionSnapshot(let entries):
            writer.write(UInt8(9))
            writer.write(list: entries)
        case .live(let connection, let event):
            writer.write(UInt8(10))
            writer.write(connection)
            writer.write(event)
        case .guestMoved(let connection, let epoch, let age):
            writer.write(UInt8(11))
            writer.write(connection)
            writer.write(epoch)
            writer.write(age)
        case .frame(let connection, let type, let payload):
            writer.write(UInt8(20))
            writer.write(connection)
            writer.write(type)
            writer.write(bytes: payload)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 1: self = .answer(question: try reader.read(), try reader.read())
        case 2: self = .bound(try reader.read(), isCaughtUp: try reader.readBool(), answering: try reader.read())
        case 3: self = .mail(try reader.read(), try reader.readList(), again: try reader.readBool())
        case 4: self = .outcomes(try reader.read(), try reader.readList())
        case 5: self = .replaced(try reader.read(), try reader.read())
        case 6: self = .groupEvent(payload: try reader.readBytes(), try reader.readList())
        case 7: self = .presence(try reader.read(), about: try reader.read(), try reader.read())
        case 8: self = .call(try reader.read())
        case 9: self = .connectionSnapshot(try reader.readList())
        case 10: self = .live(try reader.read(), try reader.read())
        case 11: self = .guestMoved(try reader.read(), epoch: try reader.read(), age: try reader.read())
        case 20: self = .frame(try reader.read(), type: try reader.readString(), payload: try reader.readBytes())
        case let other: throw .unknown(other)
        }
    }
}

/// A message as it lies in a mailbox.
package struct Mail: Sendable {
    /// Grows with every message accepted for the recipient.
    package var number: Int64
    /// The payload of `message_received`.
    package var payload: [UInt8]

    package init(number: Int64, payload: [UInt8]) {
        self.number = number
        self.payload = payload
    }
}

extension Mail: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.number)
        writer.write(bytes: self.payload)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.number = try reader.read()
        self.payload = try reader.readBytes()
    }
}

/// A connection that a router believes to be live.
package struct ConnectionSnapshotEntry: Hashable, Sendable {
    package var identity: WhisperID
    package var connection: ConnectionID

    package init(identity: WhisperID, connection: ConnectionID) {
        self.identity = identity
        self.connection = connection
    }
}

extension ConnectionSnapshotEntry: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.identity)
        writer.write(self.connection)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.identity = try reader.read()
        self.connection = try reader.read()
    }
}

/// A recipient of a `group_event`.
package struct GroupReader: Sendable {
    package var connection: ConnectionID
    /// The number that its client confirms, as it does an `Outcome`'s.
    package var number: Int64

    package init(connection: ConnectionID, number: Int64) {
        self.connection = connection
        self.number = number
    }
}

extension GroupReader: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.connection)
        writer.write(self.number)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.connection = try reader.read()
        self.number = try reader.read()
    }
}

/// The outcome of a message, for its sender. Kept until the sender's client has it.
package struct Outcome: Sendable {
    package enum Kind: UInt8, Sendable {
        case delivered = 1
        case read = 2
        case expired = 3
    }

    package var number: Int64
    package var kind: Kind
    package var messageID: UUIDText
    /// The recipient of the message.
    package var peer: WhisperID
    /// Set for group mail that was delivered or read.
    package var group: UUIDText?
    /// As the receipt says; for `expired`, when the server gave up.
    package var timestamp: Timestamp

    package init(
        number: Int64, kind: Kind, messageID: UUIDText, peer: WhisperID, group: UUIDText? = nil, timestamp: Timestamp
    ) {
        self.number = number
        self.kind = kind
        self.messageID = messageID
        self.peer = peer
        self.group = group
        self.timestamp = timestamp
    }
}

extension Outcome: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.number)
        writer.write(self.kind.rawValue)
        writer.write(self.messageID)
        writer.write(self.peer)
        writer.write(self.group)
        writer.write(self.timestamp)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.number = try reader.read()
        let kind: UInt8 = try reader.read()
        guard let kind = Kind(rawValue: kind) else { throw .unknown(kind) }
        self.kind = kind
        self.messageID = try reader.read()
        self.peer = try reader.read()
        self.group = try reader.readOptional()
        self.timestamp = try reader.read()
    }
}

/// The answer to a Job that asked something.
package enum Answer: Sendable {
    /// The message is committed, now or earlier.
    case accepted
    case refused(Refusal)
    /// The caller's session is not the live one any more: refuse and close (4001).
    case stale
    /// A frame for the client.
    case reply(type: String, payload: [UInt8])
    /// Done, and nothing to tell the client now.
    case done
    /// A `group_event` for the client that caused it, who confirms it by its number.
    case groupEvent(number: Int64, payload: [UInt8])
    /// The login succeeded: bind the connection to this session, then send the frame.
    case loggedIn(Session, type: String, payload: [UInt8])
    /// The session has a new token; the old one lives on beside it for a while.
    case refreshed(Session, type: String, payload: [UInt8])
    /// The session is over: send the frame and close (1000).
    case loggedOut(type: String, payload: [UInt8])
    /// The session that a token belongs to; `nil` for none.
    case session(Session?)
    /// The proof succeeded: bind the connection to this guest, then send the frame.
    case guestProved(Guest, type: String, payload: [UInt8])
    /// Which guest a token belongs to; `nil` for nobody.
    case guest(Guest?)
    /// A page of the mailbox; `next` when there is more behind it.
    case page([Mail], next: Cursor?)
}

extension Answer {
    package static func reply<Frame: ServerFrame>(_ frame: Frame) -> Answer {
        .reply(type: Frame.type, payload: frame.json)
    }

    package static func loggedIn(_ session: Session, _ frame: RegisterAck) -> Answer {
        .loggedIn(session, type: RegisterAck.type, payload: frame.json)
    }

    package static func guestProved(_ guest: Guest, _ frame: GuestAck) -> Answer {
        .guestProved(guest, type: GuestAck.type, payload: frame.json)
    }

    package static func refreshed(_ session: Session, _ frame: SessionRefreshAck) -> Answer {
        .refreshed(session, type: SessionRefreshAck.type, payload: frame.json)
    }

    package static func loggedOut(_ frame: LogoutAck) -> Answer {
        .loggedOut(type: LogoutAck.type, payload: frame.json)
    }

    package static func loggedOut(_ frame: GuestForgotten) -> Answer {
        .loggedOut(type: GuestForgotten.type, payload: frame.json)
    }

    package static func loggedOut(_ frame: AccountDeleted) -> Answer {
        .loggedOut(type: AccountDeleted.type, payload: frame.json)
    }
}

extension Answer: WireCodable {
    package func encode(into writer: inout WireWriter) {
        switch self {
        case .accepted: writer.write(UInt8(1))
        case .refused(let refusal):
            writer.write(UInt8(2))
            writer.write(refusal)
        case .stale: writer.write(UInt8(3))
        case .reply(let type, let payload):
            writer.write(UInt8(4))
            writer.write(type)
            writer.write(bytes: payload)
        case .loggedIn(let session, let type, let payload):
            writer.write(UInt8(5))
            writer.write(session)
            writer.write(type)
            writer.write(bytes: payload)
        case .refreshed(let session, let type, let payload):
            writer.write(UInt8(6))
            writer.write(session)
            writer.write(type)
            writer.write(bytes: payload)
        case .loggedOut(let type, let payload):
            writer.write(UInt8(7))
            writer.write(type)
            writer.write(bytes: payload)
        case .session(let session):
            writer.write(UInt8(8))
            writer.write(session)
        case .page(let mail, let next):
            writer.write(UInt8(9))
            writer.write(list: mail)
            writer.write(next?.after ?? -1)
        case .groupEvent(let number, let payload):
            writer.write(UInt8(10))
            writer.write(number)
            writer.write(bytes: payload)
        case .done: writer.write(UInt8(11))
        case .guestProved(let guest, let type, let payload):
            writer.write(UInt8(12))
            writer.write(guest)
            writer.write(type)
            writer.write(bytes: payload)
        case .guest(let guest):
            writer.write(UInt8(13))
            writer.write(guest)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 1: self = .accepted
        case 2: self = .refused(try reader.read())
        case 3: self = .stale
        case 4: self = .reply(type: try reader.readString(), payload: try reader.readBytes())
        case 5: self = .loggedIn(try reader.read(), type: try reader.readString(), payload: try reader.readBytes())
        case 6: self = .refreshed(try reader.read(), type: try reader.readString(), payload: try reader.readBytes())
        case 7: self = .loggedOut(type: try reader.readString(), payload: try reader.readBytes())
        case 8: self = .session(try reader.readOptional())
        case 9:
            let mail: [Mail] = try reader.readList()
            let next: Int64 = try reader.read()
            self = .page(mail, next: next < 0 ? nil : Cursor(after: next))
        case 10: self = .groupEvent(number: try reader.read(), payload: try reader.readBytes())
        case 11: self = .done
        case 12: self = .guestProved(try reader.read(), type: try reader.readString(), payload: try reader.readBytes())
        case 13: self = .guest(try reader.readOptional())
        case let other: throw .unknown(other)
        }
    }
}
