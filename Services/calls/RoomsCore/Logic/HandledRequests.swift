package import ClusterContract
import Contract

/// Requests that were handled a moment ago. A stream whose master was replaced is read again from its start: what somebody asked
/// for before must not be done after what it has asked for since. Pure: the time is an argument.
package struct HandledRequests: Sendable {
    private var present: Set<AnswerAddress> = []
    private var former: Set<AnswerAddress> = []
    /// Since when `present` is filled.
    private var since: ContinuousClock.Instant?

    package init() {}

    package func contains(_ address: AnswerAddress) -> Bool {
        self.present.contains(address) || self.former.contains(address)
    }

    /// Remembers them for `RoomOwnerLimits.handledFor` at least, unless there are very many.
    package mutating func note(_ addresses: some Sequence<AnswerAddress>, at now: ContinuousClock.Instant) {
        for address in addresses {
            if self.since.map({ now - $0 >= RoomOwnerLimits.handledFor }) ?? true
                || self.present.count >= RoomOwnerLimits.handledMax
            {
                (self.former, self.present, self.since) = (self.present, [], now)
            }
            self.present.insert(address)
        }
    }
}
