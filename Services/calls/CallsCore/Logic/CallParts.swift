package import ClusterContract
package import Contract

/// The two who call each other. The numbers are those of the table.
package enum CallSide: Int16, CaseIterable, Sendable {
    case caller = 0
    case callee = 1

    package var other: CallSide { self == .caller ? .callee : .caller }
}

/// The connection by which a side is reached.
package struct CallLeg: Hashable, Sendable {
    package var node: NodeID
    package var connection: ConnectionID

    package init(node: NodeID, connection: ConnectionID) {
        self.node = node
        self.connection = connection
    }
}

/// Why a call is over, as clients say it (`CallEnd.reasons`).
package enum CallEndReason: String, CaseIterable, Sendable {
    case ended, declined, busy, timeout, failed, cancelled
}

/// A signalling frame for one side, kept until that side certainly has it.
package struct PendingCallFrame: Equatable, Sendable {
    package enum Kind: Int16, Sendable {
        case incoming = 1
        case ringing = 2
        case answer = 3
        case candidate = 4
        case end = 5

        package var type: String {
            switch self {
            case .incoming: CallIncoming.type
            case .ringing: CallRinging.type
            case .answer: CallAnswered.type
            case .candidate: CallCandidate.type
            case .end: CallEnded.type
            }
        }
    }

    package enum Progress: Equatable, Sendable {
        /// To be sent when the side is there.
        case waiting
        /// On its way to the leg of the side. It becomes `waiting` again if the gateway does not report it.
        case sent(at: Timestamp)
        /// Written to the socket of the leg, which proves nothing about the client. It is kept until the side sends
        /// something, and for a callee while the call rings. A new connection of the side gets it again.
        case written
    }

    /// Grows within a call: the order in which a side gets its frames.
    package let number: Int64
    package let side: CallSide
    package let kind: Kind
    package let payload: [UInt8]
    package var progress = Progress.waiting

    package init(number: Int64, side: CallSide, kind: Kind, payload: [UInt8]) {
        self.number = number
        self.side = side
        self.kind = kind
        self.payload = payload
    }
}
