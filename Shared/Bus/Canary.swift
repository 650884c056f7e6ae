package import ClusterContract
import Contract

/// A key of a process, by which it notices that Redis has lost everything. Belongs to one actor, which checks it about
/// once a second.
///
/// In a cluster the key is on one master. The bus itself reports which master was replaced or has come back.
package final class Canary {
    private let key: KeyName
    /// It was there once.
    private var wasSet = false
    /// It was found missing, and whoever looks has not been told.
    private var isMissing = false
    /// As of the last look; nil before the first.
    private var replacements: Replacements?
    /// As of the last look at which the key was there or was set.
    private var whenSeen: Replacements?
    private var extendedAt: ContinuousClock.Instant?

    package init(_ process: NodeID) { self.key = Keyspace.canary(process) }

    /// Sets the key if it is not there.
    /// - Returns: what may be lost since the last look that did not throw. The first such look says: nothing.
    package func look(
        _ bus: any KeyBus, isolation: isolated (any Actor)? = #isolation
    ) async throws(BusError) -> BusLosses {
        var isSeen = true
        do throws(BusError) {
            if try await bus.get(self.key) == nil {
                // The key may be written, and the answer lost: then the next look finds a key, and still has this to tell.
                self.isMissing = true
                try await bus.set(self.key, to: [1], for: BusLimits.canaryTTL)
            } else {
                self.extend(on: bus)
            }
        } catch {
            // In a cluster this may be one master's outage, in which the others go on.
            guard error == .unavailable, bus.replacements.areCounted else { throw error }
            isSeen = false
        }
        let now = bus.replacements
        let before = self.replacements ?? now
        self.replacements = now
        guard isSeen else { return BusLosses(isEverything: false, since: before, now: now) }
        // A new master may never have had the key, also one that came while the key's master could not be reached.
        let isEverything =
            self.wasSet && self.isMissing && !now.hasChanged(since: self.whenSeen ?? now, at: self.key.name)
        (self.wasSet, self.isMissing, self.whenSeen) = (true, false, now)
        return BusLosses(isEverything: isEverything, since: before, now: now)
    }

    /// Makes the key live longer, if it is time. It is not written: written, it could hide that it was gone for a moment.
    private func extend(on bus: any KeyBus) {
        guard self.extendedAt.map({ .now - $0 >= BusLimits.canaryExtendedEvery }) ?? true else { return }
        self.extendedAt = .now
        bus.extendWithoutWaiting([self.key], for: BusLimits.canaryTTL)
    }
}
