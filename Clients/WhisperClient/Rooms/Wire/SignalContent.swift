package import Contract
import FoundationEssentials

/// The sealed content of a signal (contract §15.1).
package struct SignalContent: Hashable, Sendable {
    package let kind: RoomSignalKind
    package let sdp: String?
    package let candidate: RoomCandidate?

    /// - Parameter sdp: a session description (RFC 8866). `restart` without one asks for an offer.
    package init(_ kind: RoomSignalKind, sdp: String? = nil) {
        self.kind = kind
        self.sdp = sdp
        self.candidate = nil
    }

    package init(_ candidate: RoomCandidate) {
        self.kind = .candidate
        self.sdp = nil
        self.candidate = candidate
    }

    private struct Text: Codable {
        var kind: String
        var sdp: String?
        var candidate: RoomCandidate?
    }

    package var bytes: [UInt8] {
        // Our own plain values: encoding them cannot fail.
        try! Array(JSONEncoder().encode(Text(kind: self.kind.rawValue, sdp: self.sdp, candidate: self.candidate)))
    }

    /// - Returns: `nil` if the bytes are no content of a signal, or of another kind than the given one.
    package init?(_ bytes: [UInt8], kind: RoomSignalKind) {
        guard let text = try? JSONDecoder().decode(Text.self, from: Data(bytes)), text.kind == kind.rawValue else {
            return nil
        }
        switch kind {
        case .offer, .answer: guard text.sdp != nil else { return nil }
        case .candidate: guard text.candidate != nil else { return nil }
        case .restart, .bye: break
        }
        self.kind = kind
        self.sdp = text.sdp
        self.candidate = text.candidate
    }
}

/// An address at which a connection may be reached, as WebRTC stacks write it (`RTCIceCandidateInit`).
package struct RoomCandidate: Codable, Hashable, Sendable {
    package var candidate: String
    package var sdpMLineIndex: Int?
    package var sdpMid: String?

    package init(candidate: String, sdpMLineIndex: Int?, sdpMid: String?) {
        self.candidate = candidate
        self.sdpMLineIndex = sdpMLineIndex
        self.sdpMid = sdpMid
    }
}
