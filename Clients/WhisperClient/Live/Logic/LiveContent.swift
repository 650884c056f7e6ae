package import Contract

/// The content of one packet (contract §14.9).
package enum LiveContent: Hashable, Sendable {
    /// - Parameter count: the scalars of the text, as the packet says. The listener checks it.
    case snapshot(LiveText, count: Int)
    /// - Parameter count: the scalars of the resulting text, as the packet says. The listener checks it.
    case diff([TextEdit], count: Int)
    case line(LiveText)
    case cue(LiveCue)

    package var kind: LivePacketKind {
        switch self {
        case .snapshot: .snapshot
        case .diff: .diff
        case .line: .line
        case .cue: .cue
        }
    }
}

package enum LiveCue: Hashable, Sendable {
    case sound(LiveSound)
    /// Text to speak if reading aloud is on.
    case say(LiveText)
    case transcript(SharedTranscript)
}

package enum LiveSound: String, CaseIterable, Sendable {
    case airHorn = "air-horn"
    case bikeHorn = "bike-horn"
    case bikeBell = "bike-bell"

    /// An unknown sound becomes a bike's horn.
    package init(name: some StringProtocol) { self = LiveSound(rawValue: String(name)) ?? .bikeHorn }
}

/// The id and the secret of a transcript share, as in its link.
package struct SharedTranscript: Hashable, Sendable, CustomStringConvertible {
    package let share: UUIDText
    package let secret: [UInt8]

    package init(share: UUIDText, secret: [UInt8]) {
        self.share = share
        self.secret = secret
    }

    /// Without the secret: descriptions get into logs.
    package var description: String { "\(self.share)#***" }
}
