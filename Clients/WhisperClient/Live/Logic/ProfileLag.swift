import Contract

/// Documents of which other devices have seen a later one than this device was shown. Notices and answers are late or lost:
/// only after a while the server is said to go back. Holds no clock.
struct ProfileLag {
    private var since: [ProfileDocumentName: ContinuousClock.Instant] = [:]
    private var told: Set<ProfileDocumentName> = []

    mutating func learned(_ behind: Set<ProfileDocumentName>, at now: ContinuousClock.Instant) {
        self.since = self.since.filter { behind.contains($0.key) }
        for name in behind where self.since[name] == nil { self.since[name] = now }
        self.told.formIntersection(behind)
    }

    mutating func told(_ name: ProfileDocumentName) { self.told.insert(name) }

    /// Another connection: what is still behind is told again.
    mutating func bound() { self.told = [] }

    private var dueAt: [(name: ProfileDocumentName, at: ContinuousClock.Instant)] {
        self.since.filter { !self.told.contains($0.key) }.map { ($0.key, $0.value + ProfileLimits.behindFor) }
    }

    func due(at now: ContinuousClock.Instant) -> [ProfileDocumentName] {
        self.dueAt.filter { $0.at <= now }.map(\.name).sorted { $0.rawValue < $1.rawValue }
    }

    func isBehind(_ name: ProfileDocumentName) -> Bool { self.since[name] != nil }

    var nextWake: ContinuousClock.Instant? { self.dueAt.map(\.at).min() }
}
