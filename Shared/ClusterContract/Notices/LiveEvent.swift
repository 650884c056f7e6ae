package import Contract

/// An event from calls for a gateway, about one of its connections in a live conversation. A lost event is repeated
/// when the gateway reports what its connections hold and attend (`LiveJob.report`).
package enum LiveEvent: Hashable, Sendable {
    /// This connection holds the stream. It may send packets from this epoch on.
    case holds(LiveStream)
    /// Taken over, stopped or removed. The epoch is the one that it held.
    case holdsNoLonger(ConversationID, epoch: Int64)
    /// This connection has joined. The gateway answers `live_join` with `live_joined`.
    case attends(LiveAttendance)
    /// Left, removed or refused: what is queued for this connection is dropped.
    case attendsNoLonger(ConversationID)
    /// The stream that this connection attends has changed.
    case stream(LiveStream)
    /// This connection is a participant's. Its gateway reports it, and tells when it ends.
    case entered(room: UUIDText)
    /// It is one no longer: left, removed, replaced, or the room has ended.
    case left(room: UUIDText)
}

extension LiveEvent: WireCodable {
    package func encode(into writer: inout WireWriter) {
        switch self {
        case .holds(let stream):
            writer.write(UInt8(1))
            writer.write(stream)
        case .holdsNoLonger(let conversation, let epoch):
            writer.write(UInt8(2))
            writer.write(conversation)
            writer.write(epoch)
        case .attends(let attendance):
            writer.write(UInt8(3))
            writer.write(attendance)
        case .attendsNoLonger(let conversation):
            writer.write(UInt8(4))
            writer.write(conversation)
        case .stream(let stream):
            writer.write(UInt8(5))
            writer.write(stream)
        case .entered(let room):
            writer.write(UInt8(6))
            writer.write(room)
        case .left(let room):
            writer.write(UInt8(7))
            writer.write(room)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 1: self = .holds(try reader.read())
        case 2: self = .holdsNoLonger(try reader.read(), epoch: try reader.read())
        case 3: self = .attends(try reader.read())
        case 4: self = .attendsNoLonger(try reader.read())
        case 5: self = .stream(try reader.read())
        case 6: self = .entered(room: try reader.read())
        case 7: self = .left(room: try reader.read())
        case let other: throw .unknown(other)
        }
    }
}

/// A listener that has joined.
package struct LiveAttendance: Hashable, Sendable {
    package var stream: LiveStream
    /// When the listener first joined this stream since it was last admitted. It gets no line completed before.
    package var since: Timestamp
    /// The position that the client says it has; `nil` begins anew.
    package var after: LivePoint?
    /// The request id of the `live_join` that `live_joined` answers.
    package var requestID: String?
    /// The client sent `live_join`: `live_joined` answers it. False where calls repeats what is so after a report.
    package var isAnswer: Bool
    /// The listener's newest grant, as the JSON object that stands in `live_joined`. Devices of the profile have none.
    package var grant: [UInt8]?

    package init(
        stream: LiveStream, since: Timestamp, after: LivePoint?, requestID: String?, isAnswer: Bool, grant: [UInt8]?
    ) {
        self.stream = stream
        self.since = since
        self.after = after
        self.requestID = requestID
        self.isAnswer = isAnswer
        self.grant = grant
    }
}

extension LiveAttendance: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.stream)
        writer.write(self.since)
        writer.write(self.after)
        writer.write(self.requestID ?? "")
        writer.write(self.isAnswer)
        writer.write(bytes: self.grant ?? [])
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.stream = try reader.read()
        self.since = try reader.read()
        self.after = try reader.readOptional()
        let requestID = try reader.readString()
        self.requestID = requestID.isEmpty ? nil : requestID
        self.isAnswer = try reader.readBool()
        let grant = try reader.readBytes()
        self.grant = grant.isEmpty ? nil : grant
    }
}
