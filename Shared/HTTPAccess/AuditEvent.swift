package import Store

/// Something that an operator asked or did, or that a ban has done.
package struct AuditEvent: Equatable, Sendable {
    package enum Actor: String, Sendable {
        case `operator`, viewer
        /// Somebody without a valid token.
        case nobody
        /// The service itself.
        case system

        /// - Parameter role: nil for somebody without one.
        package init(_ role: AdminRole?) {
            self =
                switch role {
                case .operator: .operator
                case .viewer: .viewer
                case nil: .nobody
                }
        }
    }

    package var actor: Actor
    /// The name of an operation, or of something that a ban does.
    package var action: String
    /// An identity, a report or a message, as text.
    package var target: String?
    /// `ok`, or the error code that was answered.
    package var result: String
    /// The reason that was given. Written by operators.
    package var note: String?

    package init(_ actor: Actor, _ action: String, target: String? = nil, result: String = Self.ok, note: String? = nil)
    {
        self.actor = actor
        self.action = action
        self.target = target
        self.result = result
        self.note = note
    }

    package static let ok = "ok"
}

/// The audit log of auth, for services other than auth.
package struct GrantedAuditLog: Sendable {
    private let pool: PostgresPool

    /// - Parameter pool: of a role that auth has granted `auth.record_event` to.
    package init(_ pool: PostgresPool) { self.pool = pool }

    /// Adds an event, at the database's time. The function that auth grants takes no target.
    package func add(_ event: AuditEvent) async throws(StoreError) {
        _ = try await self.pool.query(
            "SELECT auth.record_event(\(event.actor.rawValue), \(event.action), \(event.result), \(event.note))")
    }
}
