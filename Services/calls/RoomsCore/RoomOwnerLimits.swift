/// The bounds of rooms' owners. The bounds that clients can see are `RoomLimits`.
package enum RoomOwnerLimits {
    /// From one read of Jobs to the next, while several come within it.
    package static let readInterval = Duration.milliseconds(8)
    /// Jobs expected within `readInterval` for which a read waits, and over how long their rate is measured.
    package static let jobsWorthWaiting = 3.0
    package static let rateWindow = Duration.milliseconds(200)
    /// Requests are remembered for this at least once they are handled. Longer than one may wait in its stream
    /// (`ClusterLimits.frameAgeMax`), by clocks that differ by a second.
    package static let handledFor = Duration.seconds(12)
    /// Requests remembered in that time. Beyond it the oldest are forgotten sooner.
    package static let handledMax = 20_000
    /// Between two checks what time has done to rooms. It walks all rooms.
    package static let tickEvery = Duration.milliseconds(200)
    /// A seat goes back to its former connection if the new one turns out to have ended within this time: two reports of gateways.
    package static let moveDoubtedFor = Duration.seconds(10)
    /// Codes drawn besides those that a batch may need, because other rooms have some of them.
    package static let spareCodes = 16
    /// A wake-up because of a room is worth nothing after this (contract §14.14).
    package static let wakeWorth = Duration.seconds(600)
}
