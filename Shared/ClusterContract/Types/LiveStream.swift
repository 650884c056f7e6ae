package import Contract

/// A conversation's stream, as gateways need to know it.
package struct LiveStream: Hashable, Sendable {
    package var conversation: ConversationID
    /// `nil` while it is idle.
    package var content: UUIDText?
    /// Counts every taking of the conversation's stream. 0 before the first one.
    package var epoch: Int64
    /// The newest generation of content keys, from 1.
    package var generation: Int
    package var state: LiveStreamState
    /// The gateway of the holder's connection, while somebody holds it.
    package var home: NodeID?
    /// Its lines are kept.
    package var isTranscribed: Bool
    /// Why the stream before has ended: told once, with the change to `idle`.
    package var ending: LiveEnding?
    /// When it became so.
    package var changedAt: Timestamp

    package init(
        conversation: ConversationID, content: UUIDText?, epoch: Int64, generation: Int, state: LiveStreamState,
        home: NodeID?, isTranscribed: Bool, ending: LiveEnding? = nil, changedAt: Timestamp
    ) {
        self.conversation = conversation
        self.content = content
        self.epoch = epoch
        self.generation = generation
        self.state = state
        self.home = home
        self.isTranscribed = isTranscribed
        self.ending = ending
        self.changedAt = changedAt
    }
}

extension LiveStream: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.conversation)
        writer.write(self.content)
        writer.write(self.epoch)
        writer.write(Int64(self.generation))
        writer.write(self.state)
        writer.write(self.home)
        writer.write(self.isTranscribed)
        writer.write(self.ending)
        writer.write(self.changedAt)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.conversation = try reader.read()
        self.content = try reader.readOptional()
        self.epoch = try reader.read()
        self.generation = Int(try reader.read(Int64.self))
        self.state = try reader.read()
        self.home = try reader.readOptional()
        self.isTranscribed = try reader.readBool()
        self.ending = try reader.readOptional()
        self.changedAt = try reader.read()
    }
}
