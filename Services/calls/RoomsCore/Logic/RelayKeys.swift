import Contract
import Participants

/// The keys of the periods in which credentials for relays are made now: for identities, and for guests, whose credentials
/// live for a shorter time.
struct RelayKeys {
    var identities: (period: RelayPeriod, key: [UInt8])?
    var guests: (period: RelayPeriod, key: [UInt8])?

    /// The periods that begin to count at this time, in the order of `take`.
    static func periods(life: Duration, at now: Timestamp) -> [RelayPeriod] {
        [
            RelayPeriod(at: now, life: life),
            RelayPeriod(at: now, life: min(life, RoomLimits.guestTurnTTL), parts: RelayPeriod.guestParts),
        ]
    }

    func has(_ periods: [RelayPeriod]) -> Bool {
        self.identities?.period == periods[0] && self.guests?.period == periods[1]
    }
}
