package import Contract

/// Gateway → the calls process that owns a share of the rooms (`Keyspace.rooms`).
package enum RoomJob: Job {
    /// A client's frame.
    case frame(LiveRequest)
    /// A connection that was a participant's has ended.
    case left(UUIDText, LiveConnection)
    /// The participants' connections of a gateway, of this share's rooms. Comes every 5 s.
    case report(NodeID, [RoomReportEntry])
    /// From another calls process: a participant leaves all rooms, and this room too. The tables say so as well.
    case purge(UUIDText, PrincipalID)
    /// From any calls process: the room still names an erased identity. The tables say so as well: lost, it comes again.
    case erased(UUIDText, PrincipalID)

    package func encode(into writer: inout WireWriter) {
        switch self {
        case .frame(let request):
            writer.write(UInt8(1))
            writer.write(request)
        case .left(let room, let connection):
            writer.write(UInt8(16))
            writer.write(room)
            writer.write(connection)
        case .report(let node, let entries):
            writer.write(UInt8(17))
            writer.write(node)
            writer.write(list: entries)
        case .purge(let room, let participant):
            writer.write(UInt8(18))
            writer.write(room)
            writer.write(participant)
        case .erased(let room, let participant):
            writer.write(UInt8(19))
            writer.write(room)
            writer.write(participant)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        try self.init(try reader.read(UInt8.self), &reader)
    }

    /// - Parameter kind: the byte that has been read before.
    init(_ kind: UInt8, _ reader: inout WireReader) throws(WireError) {
        switch kind {
        case 1: self = .frame(try reader.read())
        case 16: self = .left(try reader.read(), try reader.read())
        case 17: self = .report(try reader.read(), try reader.readList())
        case 18: self = .purge(try reader.read(), try reader.read())
        case 19: self = .erased(try reader.read(), try reader.read())
        case let other: throw .unknown(other)
        }
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
