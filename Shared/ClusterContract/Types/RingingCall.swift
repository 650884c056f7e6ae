package import Contract

/// A call that rings, as Redis keeps it for the woken app's question (`Keyspace.call`).
package struct RingingCall: Hashable, Sendable {
    package var callID: UUIDText
    package var caller: WhisperID
    package var callee: WhisperID
    package var isVideo: Bool
    /// The id that the push carried instead of names.
    package var wakeID: UUIDText
    package var ringsUntil: Timestamp

    package init(
        callID: UUIDText, caller: WhisperID, callee: WhisperID, isVideo: Bool, wakeID: UUIDText, ringsUntil: Timestamp
    ) {
        self.callID = callID
        self.caller = caller
        self.callee = callee
        self.isVideo = isVideo
        self.wakeID = wakeID
        self.ringsUntil = ringsUntil
    }
}

extension RingingCall: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.callID)
        writer.write(self.caller)
        writer.write(self.callee)
        writer.write(self.isVideo)
        writer.write(self.wakeID)
        writer.write(self.ringsUntil)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.callID = try reader.read()
        self.caller = try reader.read()
        self.callee = try reader.read()
        self.isVideo = try reader.readBool()
        self.wakeID = try reader.read()
        self.ringsUntil = try reader.read()
    }
}
