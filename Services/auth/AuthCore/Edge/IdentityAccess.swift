package import Bus
package import ClusterContract
package import Contract
package import Logging
package import Store
import Telemetry

/// Identities with their sessions, and guests, for the operators' core of the same process.
///
/// A ban or a report writes tables of both cores in one transaction, hence the transactions in the arguments.
package struct IdentityAccess: Sendable {
    private let identities: IdentityTable
    private let sessions: SessionTable
    private let guests: GuestTable
    private let held: HeldRecords
    private let eraser: Eraser
    private let keys: any KeyBus
    private let logger: Logger

    package init(pool: PostgresPool, keys: any Bus, clock: ServiceClock = .real, logger: Logger) {
        self.eraser = Eraser(pool: pool, bus: keys, clock: clock, logger: logger)
        self.identities = IdentityTable(pool)
        self.sessions = SessionTable(pool)
        self.guests = GuestTable(pool)
        self.held = HeldRecords(pool)
        self.keys = keys
        self.logger = logger
    }

    /// Marks an identity or a guest as banned. Locks it, so that no login is under way at the commit.
    /// - Returns: its epoch; nil if there is none.
    package func ban(
        _ principal: PrincipalID, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Epoch? {
        switch principal {
        case .identity(let identity): try await self.identities.ban(identity, in: transaction)
        case .guest(let guest): try await self.guests.ban(guest, in: transaction)
        }
    }

    /// - Returns: whether it exists. It need not have been banned.
    package func unban(
        _ principal: PrincipalID, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Bool {
        switch principal {
        case .identity(let identity): try await self.identities.unban(identity, in: transaction)
        case .guest(let guest): try await self.guests.unban(guest, in: transaction)
        }
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
        case .banned: Replies.banned(for: nil)
        case .stale: .stale
        }
    }

    /// Erases an identity or guest, as an operator has decided.
    /// - Parameter forget: removes rows that name it, when it is locked.
    /// - Returns: `nil` if there is none.
    package func erase(
        _ order: ErasureOrder, in transaction: borrowing Transaction,
        forget: (borrowing Transaction) async throws(StoreError) -> Void
    ) async throws(StoreError) -> DecidedErasure? {
        try await self.eraser.erase(order, in: transaction, forget: forget)
    }

    /// The records about an identity or guest, as JSON.
    /// - Returns: `nil` if there is none.
    package func document(of principal: PrincipalID) async throws(StoreError) -> [UInt8]? {
        try await self.held.document(of: principal)
    }

    /// Closes what an erased identity or guest has open.
    package func enforce(_ erasure: DecidedErasure) async {
        await self.eraser.enforce(erasure, by: .operator)
        self.eraser.close(erasure)
    }

    /// Where the cache has the tokens of these identities and guests.
    package func cachedTokens(
        of principals: [PrincipalID], in transaction: borrowing Transaction
    ) async throws(StoreError) -> [KeyName] {
        var (identities, guests): ([WhisperID], [GuestID]) = ([], [])
        for principal in principals {
            switch principal {
            case .identity(let identity): identities.append(identity)
            case .guest(let guest): guests.append(guest)
            }
        }
        var tokens: [KeyName] = []
        if !identities.isEmpty {
            tokens += try await self.sessions.tokenHashes(of: identities, in: transaction).map { Keyspace.session($0) }
        }
        if !guests.isEmpty {
            tokens += try await self.guests.tokenHashes(of: guests, in: transaction).map { Keyspace.guest($0) }
        }
        return tokens
    }

    /// Takes tokens out of the cache: what it says of those who hold them has changed. If Redis is away they stay for at most
    /// `AuthLimits.cacheLifeMax`.
    package func forget(_ tokens: [KeyName]) async {
        do throws(BusError) {
            try await self.keys.delete(tokens)
        } catch {
            self.logger.warning(
                "ended tokens left in the cache", [.error: "\(error)", .count: .number(tokens.count)])
        }
    }
}
