package import Contract

/// Gateway or auth → the calls process that owns a share of the live conversations and rooms (`Keyspace.live`).
package enum LiveJob: Job {
    /// A client's frame.
    case frame(LiveRequest)
    /// A connection that held, attended or waited for this conversation has ended.
    case left(ConversationID, LiveConnection)
    /// This share's conversations that the connections of a gateway hold and attend. Comes every 5 s.
    case report(NodeID, [LiveReportEntry])
    /// A line of a stream whose lines are kept.
    case line(LiveLine)
    /// A connection that was a participant's has ended.
    case leftRoom(UUIDText, LiveConnection)
    /// The participants' connections of a gateway, of this share's rooms. Comes every 5 s.
    case roomReport(NodeID, [RoomReportEntry])
    /// From auth, to all shares: somebody was taken out of this profile, or it is no more. It stands in the tables: lost, a sweep
    /// finds it later.
    case membersChanged(UUIDText)
    /// From another calls process: somebody leaves all rooms, and this one too. It is told in the tables as well.
    case purge(UUIDText, PrincipalID)

    package func encode(into writer: inout WireWriter) {
        switch self {
        case .frame(let request):
            writer.write(UInt8(1))
            writer.write(request)
        case .left(let conversation, let connection):
            writer.write(UInt8(2))
            writer.write(conversation)
            writer.write(connection)
        case .report(let node, let entries):
            writer.write(UInt8(3))
            writer.write(node)
            writer.write(list: entries)
        case .line(let line):
            writer.write(UInt8(4))
            writer.write(line)
        case .membersChanged(let profile):
            writer.write(UInt8(5))
            writer.write(profile)
        case .leftRoom(let room, let connection):
            writer.write(UInt8(16))
            writer.write(room)
            writer.write(connection)
        case .roomReport(let node, let entries):
            writer.write(UInt8(17))
            writer.write(node)
            writer.write(list: entries)
        case .purge(let room, let participant):
            writer.write(UInt8(18))
            writer.write(room)
            writer.write(participant)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 1: self = .frame(try reader.read())
        case 2: self = .left(try reader.read(), try reader.read())
        case 3: self = .report(try reader.read(), try reader.readList())
        case 4: self = .line(try reader.read())
        case 5: self = .membersChanged(try reader.read())
        case 16: self = .leftRoom(try reader.read(), try reader.read())
        case 17: self = .roomReport(try reader.read(), try reader.readList())
        case 18: self = .purge(try reader.read(), try reader.read())
        case let other: throw .unknown(other)
        }
    }
}

/// A frame about live conversations or rooms, and who sent it.
package struct LiveRequest: Sendable {
    package var answer: AnswerAddress
    package var connection: ConnectionID
    package var principal: Principal
    /// For replies that the gateway makes itself.
    package var requestID: String?
    package var type: String
    /// As JSON, without the token.
    package var payload: [UInt8]
    package var receivedAt: Timestamp
    /// Names the client's address among others, where a frame is counted by it. A digest; 0 elsewhere.
    package var origin: UInt64

    package init(
        answer: AnswerAddress, connection: ConnectionID, principal: Principal, requestID: String?, type: String,
        payload: [UInt8], receivedAt: Timestamp, origin: UInt64 = 0
    ) {
        self.answer = answer
        self.connection = connection
        self.principal = principal
        self.requestID = requestID
        self.type = type
        self.payload = payload
        self.receivedAt = receivedAt
        self.origin = origin
    }
}

extension LiveRequest: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.answer)
        writer.write(self.connection)
        writer.write(self.principal)
        writer.write(self.requestID ?? "")
        writer.write(self.type)
        writer.write(bytes: self.payload)
        writer.write(self.receivedAt)
        writer.write(self.origin)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.answer = try reader.read()
        self.connection = try reader.read()
        self.principal = try reader.read()
        let requestID = try reader.readString()
        self.requestID = requestID.isEmpty ? nil : requestID
        self.type = try reader.readString()
        self.payload = try reader.readBytes()
        self.receivedAt = try reader.read()
        self.origin = try reader.read()
    }
}

/// Where a device or a listener is.
package struct LiveConnection: Hashable, Sendable {
    package var node: NodeID
    package var connection: ConnectionID

    package init(node: NodeID, connection: ConnectionID) {
        self.node = node
        self.connection = connection
    }
}

extension LiveConnection: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.node)
        writer.write(self.connection)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.node = try reader.read()
        self.connection = try reader.read()
    }
}

/// One line of a gateway's report.
package struct LiveReportEntry: Hashable, Sendable {
    package enum Role: UInt8, CaseIterable, Sendable {
        case holder = 1
        case listener = 2
    }

    package var conversation: ConversationID
    package var connection: ConnectionID
    package var principal: PrincipalID
    package var role: Role
    /// As the gateway knows the stream.
    package var epoch: Int64
    package var generation: Int

    package init(
        conversation: ConversationID, connection: ConnectionID, principal: PrincipalID, role: Role, epoch: Int64,
        generation: Int
    ) {
        self.conversation = conversation
        self.connection = connection
        self.principal = principal
        self.role = role
        self.epoch = epoch
        self.generation = generation
    }
}

extension LiveReportEntry: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.conversation)
        writer.write(self.connection)
        writer.write(self.principal)
        writer.write(self.role.rawValue)
        writer.write(self.epoch)
        writer.write(Int64(self.generation))
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.conversation = try reader.read()
        self.connection = try reader.read()
        self.principal = try reader.read()
        let role: UInt8 = try reader.read()
        guard let role = Role(rawValue: role) else { throw .unknown(role) }
        self.role = role
        self.epoch = try reader.read()
        self.generation = Int(try reader.read(Int64.self))
    }
}

/// A participant's connection, as its gateway reports it.
package struct RoomReportEntry: Hashable, Sendable {
    package var room: UUIDText
    package var connection: ConnectionID
    package var participant: PrincipalID

    package init(room: UUIDText, connection: ConnectionID, participant: PrincipalID) {
        self.room = room
        self.connection = connection
        self.participant = participant
    }
}

extension RoomReportEntry: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.room)
        writer.write(self.connection)
        writer.write(self.participant)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.room = try reader.read()
        self.connection = try reader.read()
        self.participant = try reader.read()
    }
}
