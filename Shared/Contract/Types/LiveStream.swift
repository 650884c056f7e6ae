/// The state of a conversation's stream.
package enum LiveStreamState: String, CaseIterable, Sendable {
    /// Nobody whispers. Becomes `live`.
    case idle
    /// Somebody holds it. Becomes `paused`, or `idle` when it ends.
    case live
    /// Its holder has gone, and may come back. Becomes `live` or `idle`.
    case paused
}

extension LiveStreamState: WireCodable {
    package func encode(into writer: inout WireWriter) {
        let number: UInt8 =
            switch self {
            case .idle: 0
            case .live: 1
            case .paused: 2
            }
        writer.write(number)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        let number: UInt8 = try reader.read()
        switch number {
        case 0: self = .idle
        case 1: self = .live
        case 2: self = .paused
        default: throw .unknown(number)
        }
    }
}

/// Why a stream has ended (`live_state`, contract §14.8).
package enum LiveEnding: String, CaseIterable, Sendable {
    /// A device of the profile has stopped it.
    case stopped
    /// It was paused for too long.
    case timeout
    /// The conversation is deleted.
    case deleted
}

extension LiveEnding: WireCodable {
    package func encode(into writer: inout WireWriter) {
        let number: UInt8 =
            switch self {
            case .stopped: 0
            case .timeout: 1
            case .deleted: 2
            }
        writer.write(number)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        let number: UInt8 = try reader.read()
        switch number {
        case 0: self = .stopped
        case 1: self = .timeout
        case 2: self = .deleted
        default: throw .unknown(number)
        }
    }
}

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

/// How far a listener has the stream, as it says itself (`after` of `live_join`, contract §14.10).
package struct LivePoint: Hashable, Sendable {
    package var content: UUIDText
    package var position: LivePosition
    /// Lines that it has.
    package var line: Int

    package init(content: UUIDText, position: LivePosition, line: Int) {
        self.content = content
        self.position = position
        self.line = line
    }
}

extension LivePoint: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.content)
        writer.write(self.position.epoch)
        writer.write(self.position.seq)
        writer.write(Int64(self.line))
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.content = try reader.read()
        self.position = LivePosition(epoch: try reader.read(), seq: try reader.read())
        self.line = Int(try reader.read(Int64.self))
    }
}
