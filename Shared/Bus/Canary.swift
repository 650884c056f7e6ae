package import Contract

/// By a key of its own a process notices that Redis has lost everything. Belongs to one actor, which looks about once a second.
package final class Canary {
    private let key: KeyName
    /// It was there once.
    private var wasSet = false
    /// It was found missing, and whoever looks has not been told.
    private var isMissing = false
    /// Replacements of the bus that whoever looks has been told of.
    private var replacements = 0

    package init(_ process: NodeID) { self.key = Keyspace.canary(process) }

    /// Sets the key if it is not there.
    /// - Returns: whether Redis has been emptied, or a part of it replaced, since the last look that did not throw. The first such
    ///   look says no.
    package func sawEmptied(
        _ bus: any KeyBus, isolation: isolated (any Actor)? = #isolation
    ) async throws(BusError) -> Bool {
        let replacements = bus.replacements
        if try await bus.get(self.key) == nil {
            // The key may be written, and the answer lost: then the next look finds a key, and still has this to tell.
            self.isMissing = true
            try await bus.set(self.key, to: [1], for: BusLimits.canaryTTL)
        } else {
            // Made to live longer, not written: written, it could hide that it was gone for a moment.
            bus.extendWithoutWaiting([self.key], for: BusLimits.canaryTTL)
        }
        defer { (self.wasSet, self.isMissing, self.replacements) = (true, false, replacements) }
        return self.wasSet && (self.isMissing || replacements != self.replacements)
    }
}
