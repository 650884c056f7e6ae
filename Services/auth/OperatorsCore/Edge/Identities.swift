package import Contract
package import Store

/// What bans and reports need of identities and sessions, which another core owns. `main` connects the two.
package protocol Identities: Sendable {
    /// Marks the identity as banned. Locks it, so that no login is under way at the commit.
    /// - Returns: the identity's epoch; nil if there is no such identity.
    func ban(_ identity: WhisperID, in transaction: borrowing Transaction) async throws(StoreError) -> Epoch?

    /// - Returns: whether the identity exists. It need not have been banned.
    func unban(_ identity: WhisperID, in transaction: borrowing Transaction) async throws(StoreError) -> Bool

    /// - Returns: nil if there is no such identity.
    func signKey(of identity: WhisperID) async throws(StoreError) -> Bytes32?

    /// Keeps the caller's epoch from ending before the transaction does.
    /// - Returns: what a caller is answered that is banned or stale; nil for one that is live.
    func refusal(of caller: Caller, in transaction: borrowing Transaction) async throws(StoreError) -> Answer?

    /// The sessions of these identities, by the hashes of their tokens.
    func tokenHashes(
        of identities: [WhisperID], in transaction: borrowing Transaction
    ) async throws(StoreError) -> [Bytes32]

    /// Takes sessions out of the cache: what it says of their identities has changed.
    func forget(_ tokenHashes: [Bytes32]) async
}
