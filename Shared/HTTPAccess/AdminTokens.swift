package import Contract
package import Hummingbird
import ServerCrypto
package import Telemetry

/// A role on the ops listener.
package enum AdminRole: Comparable, Sendable {
    case viewer
    /// Everything that a viewer may, and to change things.
    case `operator`
}

/// Tells roles by their tokens. Keeps the SHA-256 of each token, never the token.
package struct AdminTokens: Sendable {
    /// A token is configured in a form that cannot be used.
    package struct Unusable: Error, CustomStringConvertible {
        package var description: String { "an admin token is \(AdminTokens.hashMark) without 64 hexadecimal digits" }
    }

    /// The prefix of a configured value that is the token's SHA-256, in hexadecimal, instead of the token.
    private static let hashMark = "sha256:"

    private let roles: [(role: AdminRole, hash: Bytes32)]

    private init() { self.roles = [] }

    /// Every role is nobody's.
    package static let none = AdminTokens()

    /// A role without a token is nobody's.
    package init(operator: Secret?, viewer: Secret?) throws(Unusable) {
        var roles: [(AdminRole, Bytes32)] = []
        if let `operator` { roles.append((.operator, try Self.hash(of: `operator`))) }
        if let viewer { roles.append((.viewer, try Self.hash(of: viewer))) }
        self.roles = roles
    }

    /// Takes the same time for every token of one length.
    package func role(of token: some Collection<UInt8>) -> AdminRole? {
        let hash = SHA256.hash(Array(token))
        var found: AdminRole?
        for (role, known) in self.roles where constantTimeEqual(hash, known) { found = max(found ?? role, role) }
        return found
    }

    /// The role of whoever shows a request's bearer token.
    package func role(of request: Request) -> AdminRole? {
        BearerToken.bytes(in: request.headers).flatMap { self.role(of: $0) }
    }

    /// The mark that a console session keeps instead of a token. It reveals nothing without `key`, and belongs to no
    /// role once the role has another token.
    /// - Returns: nil if the role has no token.
    package func mark(of role: AdminRole, under key: [UInt8]) -> Bytes32? {
        self.roles.first { $0.role == role }.map { hmacSHA256(key: key, $0.hash.bytes) }
    }

    /// The role that `mark(of:under:)` was asked for.
    package func role(marked mark: Bytes32, under key: [UInt8]) -> AdminRole? {
        self.roles.filter { constantTimeEqual(hmacSHA256(key: key, $0.hash.bytes), mark) }.map(\.role).max()
    }

    private static func hash(of secret: Secret) throws(Unusable) -> Bytes32 {
        guard secret.revealed.hasPrefix(Self.hashMark) else { return SHA256.hash(Array(secret.revealed.utf8)) }
        guard let hash = Hexadecimal.bytes(secret.revealed.dropFirst(Self.hashMark.count)).flatMap({ Bytes32($0) })
        else {
            throw Unusable()
        }
        return hash
    }
}
