package import Contract

/// News from one gateway to another: content of live conversations, and who attends them (contract §14.1). Nothing else may
/// travel on this channel. Lost, it is asked for again.
package struct FeedNotice: Notice {
    /// The sender.
    package var from: NodeID
    package var events: [FeedEvent]

    package init(from: NodeID, events: [FeedEvent]) {
        self.from = from
        self.events = events
    }

    package func encode(into writer: inout WireWriter) {
        writer.write(self.from)
        writer.write(list: self.events)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.from = try reader.read()
        self.events = try reader.readList()
    }
}

package enum FeedEvent: Sendable {
    /// A packet that the home has accepted. `previous`: the `seq` of the packet to all before it in its epoch; 0 for none.
    case packet(FeedPacket, previous: Int64)
    /// The node attends these conversations.
    case attends([FeedAttendance])
    /// Nobody at the node attends the conversation any more.
    case attendsNoLonger(ConversationID)
    /// The home's memory of a stream.
    case memory(FeedMemory)
    /// Packets that the home may not remember. The whisperer is to send them.
    case wanted(FeedWish)
    /// A listener's `live_attention`, for the holder.
    case attention(ConversationID, listener: PrincipalID, want: LiveAttention.Want)
}

/// A packet, and the bytes that listeners get.
package struct FeedPacket: Hashable, Sendable {
    package var header: LivePacketHeader
    /// When the home read it.
    package var at: Timestamp
    /// The whole WebSocket message.
    package var frame: [UInt8]

    package init(header: LivePacketHeader, at: Timestamp, frame: [UInt8]) {
        self.header = header
        self.at = at
        self.frame = frame
    }
}

package struct FeedAttendance: Hashable, Sendable {
    package var conversation: ConversationID
    /// The newest packet that the node has. If it is not the home's newest, the home answers with its memory.
    package var position: LivePosition
    /// The home is to answer whatever the position is.
    package var wantsMemory: Bool

    package init(conversation: ConversationID, position: LivePosition, wantsMemory: Bool) {
        self.conversation = conversation
        self.position = position
        self.wantsMemory = wantsMemory
    }
}

/// A home's memory of a stream.
package struct FeedMemory: Hashable, Sendable {
    package var stream: LiveStream
    /// The newest packet to all.
    package var position: LivePosition
    /// Lines that are completed; `nil` if no packet has said so yet.
    package var completed: Int?
    package var snapshot: FeedPacket?
    /// Packets behind the snapshot, none missing between them.
    package var behind: [FeedPacket]
    /// The newest lines, by their numbers.
    package var lines: [FeedPacket]

    package init(
        stream: LiveStream, position: LivePosition, completed: Int?, snapshot: FeedPacket?, behind: [FeedPacket],
        lines: [FeedPacket]
    ) {
        self.stream = stream
        self.position = position
        self.completed = completed
        self.snapshot = snapshot
        self.behind = behind
        self.lines = lines
    }
}

/// Packets that listeners of a node miss.
package struct FeedWish: Hashable, Sendable {
    package var conversation: ConversationID
    package var want: Want

    package enum Want: Hashable, Sendable {
        case snapshot
        /// Lines from this number on, for one listener. None completed before `since`.
        case lines(listener: PrincipalID, from: Int, since: Timestamp)
    }

    package init(conversation: ConversationID, want: Want) {
        self.conversation = conversation
        self.want = want
    }
}

// MARK: On the wire

extension FeedEvent: WireCodable {
    package func encode(into writer: inout WireWriter) {
        switch self {
        case .packet(let packet, let previous):
            writer.write(UInt8(1))
            writer.write(packet)
            writer.write(previous)
        case .attends(let attendances):
            writer.write(UInt8(2))
            writer.write(list: attendances)
        case .attendsNoLonger(let conversation):
            writer.write(UInt8(3))
            writer.write(conversation)
        case .memory(let memory):
            writer.write(UInt8(4))
            writer.write(memory)
        case .wanted(let wish):
            writer.write(UInt8(5))
            writer.write(wish)
        case .attention(let conversation, let listener, let want):
            writer.write(UInt8(6))
            writer.write(conversation)
            writer.write(listener)
            writer.write(want)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 1: self = .packet(try reader.read(), previous: try reader.read())
        case 2: self = .attends(try reader.readList())
        case 3: self = .attendsNoLonger(try reader.read())
        case 4: self = .memory(try reader.read())
        case 5: self = .wanted(try reader.read())
        case 6: self = .attention(try reader.read(), listener: try reader.read(), want: try reader.read())
        case let other: throw .unknown(other)
        }
    }
}

extension FeedPacket: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.header)
        writer.write(self.at)
        writer.write(bytes: self.frame)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.header = try reader.read()
        self.at = try reader.read()
        self.frame = try reader.readBytes()
    }
}

extension FeedAttendance: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.conversation)
        writer.write(self.position)
        writer.write(self.wantsMemory)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.conversation = try reader.read()
        self.position = try reader.read()
        self.wantsMemory = try reader.readBool()
    }
}

extension FeedMemory: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.stream)
        writer.write(self.position)
        writer.write(Int64(self.completed ?? -1))
        writer.write(self.snapshot)
        writer.write(list: self.behind)
        writer.write(list: self.lines)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.stream = try reader.read()
        self.position = try reader.read()
        let completed: Int64 = try reader.read()
        self.completed = completed < 0 ? nil : Int(completed)
        self.snapshot = try reader.readOptional()
        self.behind = try reader.readList()
        self.lines = try reader.readList()
    }
}

extension FeedWish: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.conversation)
        switch self.want {
        case .snapshot: writer.write(UInt8(0))
        case .lines(let listener, let from, let since):
            writer.write(UInt8(1))
            writer.write(listener)
            writer.write(Int64(from))
            writer.write(since)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.conversation = try reader.read()
        switch try reader.read(UInt8.self) {
        case 0: self.want = .snapshot
        case 1:
            self.want = .lines(
                listener: try reader.read(), from: Int(try reader.read(Int64.self)), since: try reader.read())
        case let other: throw .unknown(other)
        }
    }
}

extension LivePosition: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.epoch)
        writer.write(self.seq)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.init(epoch: try reader.read(), seq: try reader.read())
    }
}

extension LivePacketHeader: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.conversation)
        writer.write(self.position)
        writer.write(self.kind)
        writer.write(Int64(self.line))
        writer.write(Int64(self.generation))
        writer.write(self.to)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.init(
            conversation: try reader.read(), position: try reader.read(), kind: try reader.read(),
            line: Int(try reader.read(Int64.self)), generation: Int(try reader.read(Int64.self)),
            to: try reader.readOptional())
    }
}

extension LivePacketKind: WireCodable {
    package func encode(into writer: inout WireWriter) {
        let number: UInt8 =
            switch self {
            case .snapshot: 0
            case .diff: 1
            case .line: 2
            case .cue: 3
            }
        writer.write(number)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        let number: UInt8 = try reader.read()
        switch number {
        case 0: self = .snapshot
        case 1: self = .diff
        case 2: self = .line
        case 3: self = .cue
        default: throw .unknown(number)
        }
    }
}

extension LiveAttention.Want: WireCodable {
    package func encode(into writer: inout WireWriter) {
        let number: UInt8 =
            switch self {
            case .hand: 0
            case .repeat: 1
            case .slower: 2
            }
        writer.write(number)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        let number: UInt8 = try reader.read()
        switch number {
        case 0: self = .hand
        case 1: self = .repeat
        case 2: self = .slower
        default: throw .unknown(number)
        }
    }
}
