package import Contract
package import Telemetry

/// The relays that clients are sent to.
package struct TurnConfiguration: Sendable {
    /// `turn:` and `turns:` URIs (RFC 7065), 1 to 16.
    package var urls: [String]
    /// Relays for guests alone, with a smaller quota (contract §13b). `nil`, or the same: they share `urls`.
    package var guestURLs: [String]?
    /// The relays' `static-auth-secret`.
    package var secret: Secret
    /// How long credentials are good.
    package var ttl: Duration

    package init(
        urls: [String], guestURLs: [String]? = nil, secret: Secret, ttl: Duration = Limits.turnCredentialsTTL
    ) {
        self.urls = urls
        self.guestURLs = guestURLs
        self.secret = secret
        self.ttl = ttl
    }

    /// Behind `secret`, the `static-auth-secret` of the relays for guests: a guest's credentials open no other relay.
    package static let guestSuffix = "/guests"

    /// The relays of this principal, and the secret that they know.
    package func relays(for principal: PrincipalID) -> (urls: [String], secret: Secret) {
        guard case .guest = principal, let guestURLs, guestURLs != self.urls else { return (self.urls, self.secret) }
        return (guestURLs, Secret(self.secret.revealed + Self.guestSuffix))
    }

    /// The relays are configured in a way that no client could use.
    package struct Unusable: Error, Equatable, CustomStringConvertible {
        package var description: String { "TURN_URLS must be 1 to 16 of turn:… or turns:…, with commas between" }
    }

    package static let urlsMax = 16

    /// - Throws: if there are none, too many, or other things than relays.
    package static func checked(_ urls: [String]) throws(Unusable) -> [String] {
        guard (1...Self.urlsMax).contains(urls.count),
            urls.allSatisfy({ $0.hasPrefix("turn:") || $0.hasPrefix("turns:") })
        else { throw Unusable() }
        return urls
    }
}
