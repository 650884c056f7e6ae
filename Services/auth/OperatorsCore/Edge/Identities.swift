package import ClusterContract
package import Contract
package import Store

/// Operations on identities, guests and sessions that bans and reports need. Another core owns them.
/// `main` connects the two.
package protocol Identities: Sendable {
    /// Marks an identity or a guest as banned. Locks it, so that no login is under way at the commit.
    /// - Returns: its epoch; nil if there is none.
    func ban(_ principal: PrincipalID, in transaction: borrowing Transaction) async throws(StoreError) -> Epoch?

    /// - Returns: whether it exists. It need not have been banned.
    func unban(_ principal: PrincipalID, in transaction: borrowing Transaction) async throws(StoreError) -> Bool

    /// Erases an identity or guest, as an operator has decided.
    /// - Parameter forget: removes rows that name it, when it is locked.
    /// - Returns: `nil` if there is none.
    func erase(
        _ order: ErasureOrder, in transaction: borrowing Transaction,
        forget: (borrowing Transaction) async throws(StoreError) -> Void
    ) async throws(StoreError) -> DecidedErasure?

    /// The records about an identity or guest, as JSON.
    /// - Returns: `nil` if there is none.
    func document(of principal: PrincipalID) async throws(StoreError) -> [UInt8]?

    /// Closes what an erased identity or guest has open. Called after the commit.
    func enforce(_ erasure: DecidedErasure) async

    /// - Returns: nil if there is no such identity.
    func signKey(of identity: WhisperID) async throws(StoreError) -> Bytes32?

    /// Keeps the caller's epoch from ending before the transaction does.
    /// - Returns: what a caller is answered that is banned or stale; nil for one that is live.
    func refusal(of caller: Caller, in transaction: borrowing Transaction) async throws(StoreError) -> Answer?

    /// Where the cache has the tokens of these identities and guests.
    func cachedTokens(
        of principals: [PrincipalID], in transaction: borrowing Transaction
    ) async throws(StoreError) -> [KeyName]

    /// Takes tokens out of the cache: what it says of those who hold them has changed.
    func forget(_ tokens: [KeyName]) async
}
