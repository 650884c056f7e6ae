package import Contract

/// The host of the client's features.
///
/// A feature is a class with private state that only the client's actor touches, or a value without state. The host passes itself
/// with each call that needs it: a feature has no reference to it, and the compiler proves that a call back stays on the actor.
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
    /// A store that fails ends the connection.
    @discardableResult
    func withStore<Result>(_ body: () throws -> Result) -> Result? {
        do { return try body() } catch {
            self.storeFailed(error as? ClientStoreError ?? .failed("\(error)"))
            return nil
        }
    }

    /// The door to the state of features from outside of the actor: `client.with { await $0.nearby.stop($0) }`.
    package func with<Result: Sendable>(
        _ body: @Sendable (isolated Self) async throws -> Result
    ) async rethrows -> Result {
        try await body(self)
    }
}

/// The host of a feature that speaks with the server.
package protocol ServerHost: ClientHost {
    /// By the server's clock, as far as it is known.
    var serverNow: Timestamp { get }
    /// The session, with or without a connection.
    var token: StoredSession? { get }
    /// Why the connection has ended for good; `nil`: it has not.
    var stopReason: StopReason? { get }

    /// Writes a frame, if there is a connection.
    func write(_ frame: some ClientFrame, _ tag: RequestTag)
    /// A number for `ask`.
    func nextQuestion() -> UInt64
    /// Writes a frame and waits for its answer, which is taken by the features first, in the order of arrival.
    /// - Returns: `nil` if the answer is of a type that this release does not know.
    @discardableResult
    func ask(_ frame: some ClientFrame, as number: UInt64?) async throws(LiveError) -> (any ServerFrame)?
    /// To be called after anything that may have brought a deadline nearer.
    func rearm()
    /// Ends the connection for good.
    func stop(_ reason: StopReason)
    /// Begins a task that ends with the connection. Without a connection nothing begins.
    func begin(_ task: @escaping @Sendable (isolated Self) async -> Void)
}

extension ServerHost {
    @discardableResult
    func ask(_ frame: some ClientFrame) async throws(LiveError) -> (any ServerFrame)? {
        try await self.ask(frame, as: nil)
    }
}

/// The host of the features of mail, which reach each other through it.
package protocol MailHost: ServerHost {
    var backup: Backup { get }
    var contacts: Contacts { get }
    var disappearing: Disappearing { get }
    var groups: KnownGroups { get }
    var nearby: Nearby { get }
    var outbox: Outbox { get }
    var receipts: Receipts { get }
    var transfers: Transfers { get }

    /// Verifies and stores messages that came together, by whichever way.
    /// - Returns: the receipts that may go out.
    func keep(_ messages: [MessageReceived]) -> [OwedReceipt]
    /// Writes a ping.
    /// - Returns: the time that its pong repeats.
    func ping() -> Int64
}
