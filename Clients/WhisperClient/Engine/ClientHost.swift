package import Contract

/// The host of the client's features.
///
/// A feature is a class with private state on the client's actor. The host passes itself with each call, so a feature
/// needs no reference to it, and the compiler proves that a call back stays on the actor.
package protocol ClientHost: Actor {
    /// Known since the first login.
    var id: WhisperID? { get }
    /// Whether the connection is bound to a session.
    var isOnline: Bool { get }

    func publish(_ event: ClientEvent)
    func storeFailed(_ error: ClientStoreError)
    /// Sends everything that may be sent now. To be called after a change that may make something sendable.
    func pump()
}

extension ClientHost {
    /// The only door to features from outside of the actor: `client.with { $0.nearby.stop($0) }`.
    package func with<Result: Sendable>(
        _ body: @Sendable (isolated Self) async throws -> Result
    ) async rethrows -> Result {
        try await body(self)
    }
}
