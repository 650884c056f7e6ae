package import Contract

/// One member's copy of something of ours that goes to a group. All copies have the same message id.
package struct GroupDeliveryID: Hashable, Sendable {
    package var id: UUIDText
    package var member: WhisperID

    package init(id: UUIDText, member: WhisperID) {
        self.id = id
        self.member = member
    }
}

/// How one member's copy stands.
package struct GroupDelivery: Hashable, Sendable {
    package var member: WhisperID
    package var state: MessageState
}

/// How a message of ours to a group stands, over all members.
package struct GroupProgress: Hashable, Sendable {
    package var state: MessageState
    /// Members whose copy has failed.
    package var failed: Int

    /// The message is queued while any copy is. After that it is as far as the slowest copy that arrived at all.
    /// It has failed, or expired, when no copy got further.
    package init(of copies: some Sequence<MessageState>) {
        var isQueued = false
        var hasExpired = false
        var slowest: MessageState?
        var failure: FailureReason?
        self.failed = 0
        for copy in copies {
            switch copy {
            case .queued, .sending: isQueued = true
            case .failed(let reason):
                self.failed += 1
                failure = failure ?? reason
            case .expired: hasExpired = true
            case .sent: slowest = .sent
            case .delivered: if slowest != .sent { slowest = .delivered }
            case .read: slowest = slowest ?? .read
            }
        }
        if isQueued {
            self.state = .queued
        } else if let slowest {
            self.state = slowest
        } else if let failure {
            self.state = .failed(failure)
        } else {
            // Without any other member there is nothing to send.
            self.state = hasExpired ? .expired : .sent
        }
    }
}
