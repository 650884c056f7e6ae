/// The bounds of calls' owners. The bounds that clients can see are `Limits`.
package enum CallLimits {
    /// Between two looks at how many Jobs wait.
    package static let streamsMeasuredEvery = Duration.seconds(5)
    /// A frame of which its gateway says nothing is sent again after this.
    package static let resendAfter = Duration.seconds(2)
    /// How long operators may have a call ring, in seconds: longer than it takes to find out that a callee is away, and shorter
    /// than an unanswered call is remembered.
    package static let ringSeconds = 6...59
    /// A callee who seems connected and has not been reached after this is woken all the same.
    package static let wakeUnreachedAfter = Duration.seconds(3)
    /// Between two looks for sides that a call has just lost.
    package static let locatePause = Duration.milliseconds(50)
    /// How long a gateway that did not hear a Notice counts as gone. Presence keys outlive their gateway.
    package static let silenceRemembered = Duration.seconds(5)
    /// Candidates on their way to a connected side.
    package static let candidatesUnderWayMax = 256
    /// Candidates kept for one side, in bytes.
    package static let candidateBytesMax = 1_048_576
    /// Signatures remembered of one call, to know a repeated candidate by.
    package static let marksMax = 256
    /// How long the end of an answered call is remembered.
    package static let endedTTL = Duration.seconds(60)
    /// A side of an answered call that has not been connected for this long can be called by others.
    package static let slotLostAfter = Duration.seconds(60)
    /// Between two notes of who of the answered calls is connected, and looks for such calls that have lost a slot.
    package static let slotSeenInterval = Duration.seconds(20)
    /// An answered call in which nobody has said anything for this long keeps no candidates: who changes networks is back by then.
    package static let quietAfter = Duration.seconds(60)
    /// How long keys of a refused call linger in Redis.
    package static let engagedMin = Duration.seconds(60)
    /// Calls named in one answer to "is it still ringing?".
    package static let ringingMax = 16
}
