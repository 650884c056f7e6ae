package import Contract

/// A frame about a call for one connection, which its gateway confirms with a `CallReceipt`.
package struct CallDelivery: Sendable {
    package var connection: ConnectionID
    package var share: CallShare
    /// The call, and the number of the frame in it, as the receipt repeats them.
    package var call: UUIDText
    package var number: Int64
    /// The request id of the client's frame that it answers.
    package var requestID: String?
    package var type: String
    package var payload: [UInt8]

    package init(
        connection: ConnectionID, share: CallShare, call: UUIDText, number: Int64, requestID: String?, type: String,
        payload: [UInt8]
    ) {
        self.connection = connection
        self.share = share
        self.call = call
        self.number = number
        self.requestID = requestID
        self.type = type
        self.payload = payload
    }
}

extension CallDelivery: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.connection)
        writer.write(self.share)
        writer.write(self.call)
        writer.write(self.number)
        writer.write(self.requestID ?? "")
        writer.write(self.type)
        writer.write(bytes: self.payload)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.connection = try reader.read()
        self.share = try reader.read()
        self.call = try reader.read()
        self.number = try reader.read()
        let requestID = try reader.readString()
        self.requestID = requestID.isEmpty ? nil : requestID
        self.type = try reader.readString()
        self.payload = try reader.readBytes()
    }
}
