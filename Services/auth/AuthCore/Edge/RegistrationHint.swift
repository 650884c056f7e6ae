import Contract
import Store
import Synchronization

/// The mode of registration as challenges name it, so that a client asks for an invitation before the person waits. A database is
/// asked once a second for all of them (`AuthLimits.registrationModeAge`).
final class RegistrationHint: Sendable {
    private let pool: PostgresPool
    private let usual: RegistrationMode
    private let known = Mutex<(mode: RegistrationMode, readAt: Timestamp)?>(nil)

    init(_ pool: PostgresPool, usual: RegistrationMode) {
        self.pool = pool
        self.usual = usual
    }

    func mode(at now: Timestamp) async throws(StoreError) -> RegistrationMode {
        if let known = self.known.withLock({ $0 }), known.readAt...known.readAt + AuthLimits.registrationModeAge ~= now
        {
            return known.mode
        }
        // Others use the earlier mode meanwhile: one of them asks.
        self.known.withLock { if let earlier = $0 { $0 = (earlier.mode, now) } }
        let mode = try await self.pool.query(RegistrationDoor.mode(usual: self.usual))
        self.known.withLock { $0 = (mode, now) }
        return mode
    }
}
