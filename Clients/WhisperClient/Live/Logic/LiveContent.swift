package import Contract

/// What one packet says (contract §14.9).
package enum LiveContent: Hashable, Sendable {
    /// - Parameter count: the scalars of the text, as the packet says. A reader compares.
    case snapshot(LiveText, count: Int)
    /// - Parameter count: the scalars of live text afterwards, as the packet says. A reader compares.
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
    /// To be said if reading aloud is on.
    case say(LiveText)
    case transcript(SharedTranscript)
}

package enum LiveSound: String, CaseIterable, Sendable {
    case airHorn = "air-horn"
    case bikeHorn = "bike-horn"
    case bikeBell = "bike-bell"

    /// A sound that this release does not know is a bike's horn.
    package init(name: some StringProtocol) { self = LiveSound(rawValue: String(name)) ?? .bikeHorn }
}

/// The way to a transcript: what stands in its link.
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
