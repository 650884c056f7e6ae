package import Contract

/// Gateway or auth → the calls process that owns a share of the live conversations (`Keyspace.live`).
package enum LiveJob: Job {
    /// A client's frame.
    case frame(LiveRequest)
    /// A connection that held, attended or waited for this conversation has ended.
    case left(ConversationID, LiveConnection)
    /// This share's conversations that the connections of a gateway hold and attend. Comes every 5 s.
    case report(NodeID, [LiveReportEntry])
    /// A line of a stream whose lines are kept.
    case line(LiveLine)
    /// From auth, to all shares: somebody was taken out of this profile, or it is no more. It stands in the tables: lost, a sweep
    /// finds it later.
    case membersChanged(UUIDText)
    /// From any calls process: the conversation still names an erased identity or guest. The tables say so as well: lost, it comes again.
    case erased(ConversationID, PrincipalID)
    /// From a process of the release before, which had no stream for rooms. Its owner passes it on to `Keyspace.rooms`.
    case ofRooms(RoomJob)

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
        case .erased(let conversation, .identity(let identity)):
            writer.write(UInt8(6))
            writer.write(conversation)
            writer.write(identity)
        case .erased(let conversation, .guest(let guest)):
            writer.write(UInt8(7))
            writer.write(conversation)
            writer.write(guest)
        case .ofRooms(let job): writer.write(job)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 1:
            let request: LiveRequest = try reader.read()
            self = request.isOfRooms ? .ofRooms(.frame(request)) : .frame(request)
        case 2: self = .left(try reader.read(), try reader.read())
        case 3: self = .report(try reader.read(), try reader.readList())
        case 4: self = .line(try reader.read())
        case 5: self = .membersChanged(try reader.read())
        case 6: self = .erased(try reader.read(), .identity(try reader.read()))
        case 7: self = .erased(try reader.read(), .guest(try reader.read()))
        case let kind: self = .ofRooms(try RoomJob(kind, &reader))
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

    package var isOfRooms: Bool { FrameDefinition.isOfRooms(self.type) }
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
