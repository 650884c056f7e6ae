package import Contract

/// Gateway → the calls process that owns a share (`Keyspace.calls`).
package enum CallJob: Job {
    /// A client's frame.
    case frame(CallRequest)
    /// Somebody whom a call of this share waits for is connected (`Keyspace.engaged`).
    case bound(CallConnection)
    /// The receipt of a `CallDelivery`.
    case delivered(CallReceipt)
    /// From any calls process: an identity that takes part in calls of this share was erased. The tables say so as well: lost, it comes
    /// again.
    case erased(WhisperID)

    package func encode(into writer: inout WireWriter) {
        switch self {
        case .frame(let request):
            writer.write(UInt8(1))
            writer.write(request)
        case .bound(let connection):
            writer.write(UInt8(2))
            writer.write(connection)
        case .delivered(let receipt):
            writer.write(UInt8(3))
            writer.write(receipt)
        case .erased(let identity):
            writer.write(UInt8(4))
            writer.write(identity)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 1: self = .frame(try reader.read())
        case 2: self = .bound(try reader.read())
        case 3: self = .delivered(try reader.read())
        case 4: self = .erased(try reader.read())
        case let other: throw .unknown(other)
        }
    }
}

/// A frame about calls, and who sent it.
package struct CallRequest: Sendable {
    package var answer: AnswerAddress
    package var connection: ConnectionID
    package var session: Session
    /// For replies that come later than the answer.
    package var requestID: String?
    package var type: String
    /// As JSON, without the session token.
    package var payload: [UInt8]
    package var receivedAt: Timestamp

    package init(
        answer: AnswerAddress, connection: ConnectionID, session: Session, requestID: String?, type: String,
        payload: [UInt8], receivedAt: Timestamp
    ) {
        self.answer = answer
        self.connection = connection
        self.session = session
        self.requestID = requestID
        self.type = type
        self.payload = payload
        self.receivedAt = receivedAt
    }
}

extension CallRequest: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.answer)
        writer.write(self.connection)
        writer.write(self.session)
        writer.write(self.requestID ?? "")
        writer.write(self.type)
        writer.write(bytes: self.payload)
        writer.write(self.receivedAt)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.answer = try reader.read()
        self.connection = try reader.read()
        self.session = try reader.read()
        let requestID = try reader.readString()
        self.requestID = requestID.isEmpty ? nil : requestID
        self.type = try reader.readString()
        self.payload = try reader.readBytes()
        self.receivedAt = try reader.read()
    }
}

/// Where somebody is.
package struct CallConnection: Hashable, Sendable {
    package var identity: WhisperID
    package var node: NodeID
    package var connection: ConnectionID

    package init(identity: WhisperID, node: NodeID, connection: ConnectionID) {
        self.identity = identity
        self.node = node
        self.connection = connection
    }
}

extension CallConnection: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.identity)
        writer.write(self.node)
        writer.write(self.connection)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.identity = try reader.read()
        self.node = try reader.read()
        self.connection = try reader.read()
    }
}

/// Whether a `CallDelivery` was written to its connection's socket.
package struct CallReceipt: Hashable, Sendable {
    package var call: UUIDText
    package var number: Int64
    package var node: NodeID
    package var connection: ConnectionID
    /// False if there is no such connection any more.
    package var isWritten: Bool

    package init(call: UUIDText, number: Int64, node: NodeID, connection: ConnectionID, isWritten: Bool) {
        self.call = call
        self.number = number
        self.node = node
        self.connection = connection
        self.isWritten = isWritten
    }
}

extension CallReceipt: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.call)
        writer.write(self.number)
        writer.write(self.node)
        writer.write(self.connection)
        writer.write(self.isWritten)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.call = try reader.read()
        self.number = try reader.read()
        self.node = try reader.read()
        self.connection = try reader.read()
        self.isWritten = try reader.readBool()
    }
}
