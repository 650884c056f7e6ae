package import Bus
package import Contract
package import Logging
package import Store

/// Identities and their sessions, for the operators' core of the same process.
///
/// A ban or a report writes tables of both cores in one transaction, hence the transactions in the arguments.
package struct IdentityAccess: Sendable {
    private let identities: IdentityTable
    private let sessions: SessionTable
    private let directory: SessionDirectory

    package init(pool: PostgresPool, keys: any KeyBus, clock: ServiceClock, logger: Logger) {
        self.identities = IdentityTable(pool)
        self.sessions = SessionTable(pool)
        self.directory = SessionDirectory(self.sessions, keys: keys, clock: clock, logger: logger)
    }

    /// Marks the identity as banned. Locks it, so that no login is under way at the commit.
    /// - Returns: the identity's epoch; nil if there is no such identity.
    package func ban(_ identity: WhisperID, in transaction: borrowing Transaction) async throws(StoreError) -> Epoch? {
        try await self.identities.ban(identity, in: transaction)
    }

    /// - Returns: whether the identity exists. It need not have been banned.
    package func unban(_ identity: WhisperID, in transaction: borrowing Transaction) async throws(StoreError) -> Bool {
        try await self.identities.unban(identity, in: transaction)
    }

    /// - Returns: nil if there is no such identity.
    package func signKey(of identity: WhisperID) async throws(StoreError) -> Bytes32? {
        try await self.identities.signKey(of: identity)
    }

    /// Keeps the caller's epoch from ending before the transaction does.
    /// - Returns: what a caller is answered that is banned or stale; nil for one that is live.
    package func refusal(
        of caller: Caller, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Answer? {
        switch try await self.identities.hold(caller, in: transaction) {
        case .live: nil
        case .banned: Replies.banned
        case .stale: .stale
        }
    }

    /// The sessions of these identities, by the hashes of their tokens.
    package func tokenHashes(
        of identities: [WhisperID], in transaction: borrowing Transaction
    ) async throws(StoreError) -> [Bytes32] {
        try await self.sessions.tokenHashes(of: identities, in: transaction)
    }

    /// Takes sessions out of the cache: what it says of their identities has changed.
    package func forget(_ tokenHashes: [Bytes32]) async { await self.directory.forget(tokenHashes) }
}
