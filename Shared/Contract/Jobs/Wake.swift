/// Mail waits for somebody who is not connected. Carries no content.
package struct Wake: Job {
    package enum Reason: UInt8, Sendable {
        case message = 1
    }

    package var recipient: WhisperID
    package var reason: Reason
    /// What the push provider sees instead of a name. Random.
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
        writer.write(self.reason.rawValue)
        writer.write(self.wakeID)
        writer.write(self.queuedAt)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.recipient = try reader.read()
        let reason: UInt8 = try reader.read()
        guard let reason = Reason(rawValue: reason) else { throw .unknown(reason) }
        self.reason = reason
        self.wakeID = try reader.read()
        self.queuedAt = try reader.read()
    }
}
