import Contract
import ServerCrypto
package import Telemetry

/// What somebody may do on the ops listener.
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

    /// What a configured value begins with that is the token's SHA-256, in hexadecimal, instead of the token.
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

    private static func hash(of secret: Secret) throws(Unusable) -> Bytes32 {
        guard secret.revealed.hasPrefix(Self.hashMark) else { return SHA256.hash(Array(secret.revealed.utf8)) }
        guard let hash = Hexadecimal.bytes(secret.revealed.dropFirst(Self.hashMark.count)).flatMap({ Bytes32($0) }) else {
            throw Unusable()
        }
        return hash
    }
}
