package import Contract

/// An invitation as people pass it on (contract §20.6): its token, or a link that names the server, too.
package struct InvitationLink: Equatable {
    package let token: InvitationToken
    /// `nil` if only the token was given.
    package let server: ServerAddress?
    /// The person who invites, as a link that adds them. `nil` if the invitation names nobody.
    package let inviter: ContactLink?

    /// Reads `whisper://invite/{host[:port]}#{token}`, `https://{host[:port]}/invite#{token}` and a token alone. Behind `&add=` stand
    /// the fields of a contact link of the same server. Others, which a later release puts behind `&`, are ignored.
    package init?(_ text: String) {
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        guard let token = InvitationToken(parts[parts.count - 1].prefix { $0 != "&" }) else { return nil }
        self.token = token
        guard parts.count == 2 else {
            (self.server, self.inviter) = (nil, nil)
            return
        }
        let address = Self.address(of: String(parts[0]))
        guard let server = address.flatMap({ ServerAddress($0) }) else { return nil }
        self.server = server
        self.inviter = parts[1].firstRange(of: Self.inviterField).flatMap { field in
            try? ContactLink("\(server.origin)\(ContactLink.page)\(parts[1][field.upperBound...])")
        }
    }

    /// - Parameter inviter: of the same server.
    package init(_ token: InvitationToken, server: ServerAddress, inviter: ContactLink? = nil) {
        (self.token, self.server, self.inviter) = (token, server, inviter)
    }

    /// A link without its server is the token alone.
    package func text(_ form: ContactLink.Form) -> String {
        guard let server else { return self.token.text }
        let place =
            switch form {
            case .app: "\(Self.appScheme)\(server.hostAndPort)#"
            case .web: "\(server.origin)\(Self.page)#"
            }
        let fields = self.inviter?.text(.web).drop { $0 != "#" }.dropFirst()
        return place + self.token.text + (fields.map { Self.inviterField + $0 } ?? "")
    }

    private static func address(of place: String) -> String? {
        if place.hasPrefix(Self.appScheme) { return "wss://" + place.dropFirst(Self.appScheme.count) }
        guard place.hasSuffix(Self.page) else { return nil }
        let origin = String(place.dropLast(Self.page.count))
        // Without TLS to this machine alone: a link must not make somebody talk in the clear.
        let isLocal = ServerAddress(origin).map { ["127.0.0.1", "::1", "localhost"].contains($0.host) } ?? false
        return origin.hasPrefix("https://") || origin.hasPrefix("http://") && isLocal ? origin : nil
    }

    package static let charactersMax = 1_024
    private static let inviterField = "&add="
    private static let appScheme = "whisper://invite/"
    private static let page = "/invite"
}
