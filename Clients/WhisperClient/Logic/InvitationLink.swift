package import Contract

/// An invitation as people pass it on (contract §20.6): its token, or a link that names the server, too.
package struct InvitationLink: Equatable {
    package let token: InvitationToken
    /// `nil` if only the token was given.
    package let server: ServerAddress?

    /// Reads `whisper://invite/{host[:port]}#{token}`, `https://{host[:port]}/invite#{token}` and a token alone. Fields that a later
    /// release puts behind the token, after `&`, are ignored.
    package init?(_ text: String) {
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        guard let token = InvitationToken(parts[parts.count - 1].prefix { $0 != "&" }) else { return nil }
        self.token = token
        guard parts.count == 2 else {
            self.server = nil
            return
        }
        let address = Self.address(of: String(parts[0]))
        guard let server = address.flatMap({ ServerAddress($0) }) else { return nil }
        self.server = server
    }

    package init(_ token: InvitationToken, server: ServerAddress) { (self.token, self.server) = (token, server) }

    /// A link without its server is the token alone.
    package func text(_ form: ContactLink.Form) -> String {
        switch (form, self.server) {
        case (_, nil): self.token.text
        case (.app, let server?): "\(Self.appScheme)\(server.hostAndPort)#\(self.token.text)"
        case (.web, let server?): "\(server.origin)\(Self.page)#\(self.token.text)"
        }
    }

    private static func address(of place: String) -> String? {
        if place.hasPrefix(Self.appScheme) { return "wss://" + place.dropFirst(Self.appScheme.count) }
        guard place.hasSuffix(Self.page) else { return nil }
        let origin = String(place.dropLast(Self.page.count))
        // Without TLS to this machine alone: a link must not make somebody talk in the clear.
        let isLocal = ServerAddress(origin).map { ["127.0.0.1", "::1", "localhost"].contains($0.host) } ?? false
        return origin.hasPrefix("https://") || origin.hasPrefix("http://") && isLocal ? origin : nil
    }

    package static let charactersMax = 512
    private static let appScheme = "whisper://invite/"
    private static let page = "/invite"
}
