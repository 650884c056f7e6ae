package import Contract
package import HTTPAccess
import ServerCrypto
import Store

/// Somebody who is signed in at the console.
package struct ConsoleSession: Equatable, Sendable {
    /// The value of the browser's cookie. Secret.
    package let id: [UInt8]
    package let role: AdminRole
    package let endsAt: Timestamp

    package init(id: [UInt8], role: AdminRole, endsAt: Timestamp) {
        self.id = id
        self.role = role
        self.endsAt = endsAt
    }

    /// A token that stands in the forms of this session, and nowhere else. It proves that a form came from such a page.
    package var formToken: String {
        String(decoding: Base64.encode(hmacSHA256(key: self.id, Array("form".utf8)).bytes), as: UTF8.self)
    }

    /// - Parameter token: the one that a form brought.
    package func owns(formToken token: String?) -> Bool {
        guard let token else { return false }
        return constantTimeEqual(SHA256.hash(Array(token.utf8)), SHA256.hash(Array(self.formToken.utf8)))
    }
}

/// The sessions of the console.
///
/// They are in the database, so that they begin and end at all auth processes at once.
package struct ConsoleSessions: Sendable {
    /// Bytes of a session's id: too many to guess, and a multiple of three, which base64 writes without padding.
    private static let idBytes = 33

    private let table: ConsoleSessionTable
    private let tokens: AdminTokens

    package init(table: ConsoleSessionTable, tokens: AdminTokens) {
        self.table = table
        self.tokens = tokens
    }

    /// The role of an admin token.
    func role(of token: String) -> AdminRole? { self.tokens.role(of: token.utf8) }

    func begin(as role: AdminRole, at now: StoreTime) async throws(StoreError) -> ConsoleSession? {
        let id = randomBytes(Self.idBytes)
        guard let mark = self.tokens.mark(of: role, under: id) else { return nil }
        let end = try await self.table.add(
            SHA256.hash(id), mark: mark, for: OperatorsLimits.consoleSessionLife, at: now)
        return ConsoleSession(id: id, role: role, endsAt: end)
    }

    /// - Parameter cookie: the cookie's value.
    /// - Returns: the session, and the time by the clock that it ends by. Nil if there is no such session, or if its role
    ///   has got another token.
    func session(
        _ cookie: String, at now: StoreTime
    ) async throws(StoreError) -> (session: ConsoleSession, now: Timestamp)? {
        guard let id = Base64.decode(cookie), id.count == Self.idBytes,
            let found = try await self.table.session(SHA256.hash(id), at: now),
            let role = self.tokens.role(marked: found.mark, under: id)
        else { return nil }
        return (ConsoleSession(id: id, role: role, endsAt: found.endsAt), found.now)
    }

    func end(_ session: ConsoleSession) async throws(StoreError) {
        try await self.table.remove(SHA256.hash(session.id))
    }
}
