/// The additional data of AES-256-GCM in the seals of live conversations: facts that a seal vouches for besides its
/// content.
///
/// A seal that is moved to another place, or shown under another name, does not open.
package enum LiveSeals {
    /// For a packet of content (contract §14.9).
    package static func packet(_ header: LivePacketHeader) -> [UInt8] {
        self.lines([
            "live_packet", "\(header.conversation)", "\(header.position.epoch)", "\(header.position.seq)",
            header.kind.rawValue, "\(header.line)", "\(header.generation)", header.to.map { "\($0)" } ?? "all",
        ])
    }

    /// For the info of a conversation that `look` shows (contract §14.6).
    package static func info(_ conversation: ConversationID) -> [UInt8] {
        self.lines(["live_info", "\(conversation)"])
    }

    /// For a BOX. Both are lines of the signature that comes with it (contract §14.5, §19.13).
    package static func box(type: LiveSignature.FrameType, id: String) -> [UInt8] {
        self.lines([type.rawValue, id])
    }

    /// For the BOX of a signal between two participants of a room (contract §15.2).
    package static func signal(in room: UUIDText) -> [UInt8] { self.lines([RoomSignature.type, "\(room)"]) }

    /// For the line keys that the reader of a shared transcript gets (contract §19.22).
    package static func share(_ conversation: ConversationID, content: UUIDText) -> [UInt8] {
        self.lines(["live_share", "\(conversation)", "\(content)"])
    }

    static func lines(_ lines: [String]) -> [UInt8] {
        (["v1"] + lines).flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }
    }
}
