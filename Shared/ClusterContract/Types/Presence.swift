/// Where an identity's live connection is.
package struct Presence: Hashable, Sendable {
    package var node: NodeID
    package var connection: ConnectionID
    package var epoch: Epoch

    package init(node: NodeID, connection: ConnectionID, epoch: Epoch) {
        self.node = node
        self.connection = connection
        self.epoch = epoch
    }
}

extension Presence: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.node)
        writer.write(self.connection)
        writer.write(self.epoch)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.node = try reader.read()
        self.connection = try reader.read()
        self.epoch = try reader.read()
    }
}
