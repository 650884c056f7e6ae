/// The kind of one packet of content (contract §14.9).
package enum LivePacketKind: String, CaseIterable, Sendable {
    /// The whole live text. Needs no packet before it.
    case snapshot
    /// A change of the live text. Needs the packet before it, unless it begins at 0.
    case diff
    /// A completed line. The live text is empty afterwards.
    case line
    /// A sound, a text to say, or a transcript. Changes no text.
    case cue
}

/// Where a packet stands in its stream: the newest `seq` of the newest epoch is what counts.
package struct LivePosition: Hashable, Comparable, Sendable {
    package var epoch: Int64
    package var seq: Int64

    package init(epoch: Int64, seq: Int64) {
        self.epoch = epoch
        self.seq = seq
    }

    /// Before any packet: epochs and numbers begin at 1.
    package static let start = LivePosition(epoch: 0, seq: 0)

    package static func < (a: LivePosition, b: LivePosition) -> Bool { (a.epoch, a.seq) < (b.epoch, b.seq) }

    /// Whether no packet is between the two. Packets of another epoch never follow directly.
    package func directlyFollows(_ other: LivePosition) -> Bool {
        self.epoch == other.epoch && self.seq == other.seq + 1
    }
}

/// The part of a content packet that the server sees. The seal covers all of it (contract §14.9).
package struct LivePacketHeader: Hashable, Sendable {
    package var conversation: ConversationID
    package var position: LivePosition
    package var kind: LivePacketKind
    /// A line's number, counted from 1. For other kinds: how many lines are completed so far.
    package var line: Int
    /// Which content key seals it.
    package var generation: Int
    /// The only listener that gets it; `nil`: all. Such a packet is outside the sequence: `position` is that of the newest
    /// packet to all.
    package var to: PrincipalID?

    package init(
        conversation: ConversationID, position: LivePosition, kind: LivePacketKind, line: Int, generation: Int,
        to: PrincipalID? = nil
    ) {
        self.conversation = conversation
        self.position = position
        self.kind = kind
        self.line = line
        self.generation = generation
        self.to = to
    }
}
