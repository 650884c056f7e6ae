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

    private static func address(of place: String) -> String? {
        if place.hasPrefix(Self.appScheme) { return "wss://" + place.dropFirst(Self.appScheme.count) }
        guard place.hasSuffix(Self.page), place.hasPrefix("https://") || place.hasPrefix("http://") else { return nil }
        return String(place.dropLast(Self.page.count))
    }

    private static let appScheme = "whisper://invite/"
    private static let page = "/invite"
}
