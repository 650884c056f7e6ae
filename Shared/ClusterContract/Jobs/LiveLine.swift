package import Contract

/// A completed line, as its whisperer has sealed it, and who has sent it. Storing it twice changes nothing.
package struct LiveLine: Hashable, Sendable {
    package var conversation: ConversationID
    /// The stream, as the gateway knows it.
    package var content: UUIDText
    package var connection: LiveConnection
    package var position: LivePosition
    /// From 1.
    package var line: Int
    package var generation: Int
    package var seal: LineSeal

    package init(
        conversation: ConversationID, content: UUIDText, connection: LiveConnection, position: LivePosition, line: Int,
        generation: Int, seal: LineSeal
    ) {
        self.conversation = conversation
        self.content = content
        self.connection = connection
        self.position = position
        self.line = line
        self.generation = generation
        self.seal = seal
    }
}

extension LiveLine: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.conversation)
        writer.write(self.content)
        writer.write(self.connection)
        writer.write(self.position.epoch)
        writer.write(self.position.seq)
        writer.write(Int64(self.line))
        writer.write(Int64(self.generation))
        writer.write(bytes: self.seal.nonce)
        writer.write(bytes: self.seal.ciphertext)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.conversation = try reader.read()
        self.content = try reader.read()
        self.connection = try reader.read()
        self.position = LivePosition(epoch: try reader.read(), seq: try reader.read())
        self.line = Int(try reader.read(Int64.self))
        self.generation = Int(try reader.read(Int64.self))
        self.seal = LineSeal(nonce: try reader.readBytes(), ciphertext: try reader.readBytes())
    }
}
