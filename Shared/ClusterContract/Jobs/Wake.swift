package import Contract

/// Something waits for somebody who is not connected. Carries no content and says nothing of the other side.
package struct Wake: Job {
    package enum Reason: Hashable, Sendable {
        /// Mail waits. On `Keyspace.wakes`.
        case message
        /// The phone should ring until then; afterwards the wake-up is worth nothing. On `Keyspace.callWakes`.
        case call(isVideo: Bool, until: Timestamp)
        /// The call that was announced with the same `wakeID` rings no longer. On `Keyspace.callWakes`.
        case callOver
        /// Somebody knocks at a live conversation, and no device of its profile is connected. Worth nothing after `until`. On
        /// `Keyspace.callWakes`.
        case knock(until: Timestamp)
        /// Others wait in a room, whose participant is away. Worth nothing after `until`. On `Keyspace.callWakes`.
        case room(until: Timestamp)
    }

    package var recipient: WhisperID
    package var reason: Reason
    /// The id that push provider and app see instead of a name. Random. The wake-ups of one call share theirs, and so
    /// do the knocks at one conversation and the wake-ups of one room.
    package var wakeID: UUIDText
    package var queuedAt: Timestamp

    package init(recipient: WhisperID, reason: Reason, wakeID: UUIDText, queuedAt: Timestamp) {
        self.recipient = recipient
        self.reason = reason
        self.wakeID = wakeID
        self.queuedAt = queuedAt
    }

    package func encode(into writer: inout WireWriter) {
        writer.write(self.recipient)
        switch self.reason {
        case .message: writer.write(UInt8(1))
        case .call(let isVideo, let until):
            writer.write(UInt8(2))
            writer.write(isVideo)
            writer.write(until)
        case .callOver: writer.write(UInt8(3))
        case .knock(let until):
            writer.write(UInt8(4))
            writer.write(until)
        case .room(let until):
            writer.write(UInt8(5))
            writer.write(until)
        }
        writer.write(self.wakeID)
        writer.write(self.queuedAt)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.recipient = try reader.read()
        switch try reader.read(UInt8.self) {
        case 1: self.reason = .message
        case 2: self.reason = .call(isVideo: try reader.readBool(), until: try reader.read())
        case 3: self.reason = .callOver
        case 4: self.reason = .knock(until: try reader.read())
        case 5: self.reason = .room(until: try reader.read())
        case let other: throw .unknown(other)
        }
        self.wakeID = try reader.read()
        self.queuedAt = try reader.read()
    }
}
