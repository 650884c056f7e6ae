package import Contract

/// The link for listeners: `{origin}/listen/{CID}[/{name}]#{secret}` (contract §14.5). Its secret is the fragment,
/// which no browser sends.
package struct ListenLink: Sendable {
    /// Scheme, host and port: `https://whisper.example`.
    package let origin: String
    package let conversation: ConversationID
    /// For people who read links. The server sees it, so it is left out unless the user wants it.
    package let name: String?
    package let secret: SecretBytes

    private static let folder = "/listen/"

    /// - Parameter secret: 16 random bytes.
    package init(origin: String, conversation: ConversationID, name: String? = nil, secret: SecretBytes) {
        precondition(secret.bytes.count == LiveLimits.linkSecretBytes)
        self.origin = origin
        self.conversation = conversation
        self.name = name.map(Self.pathName)
        self.secret = secret
    }

    /// - Returns: `nil` if the text is no such link.
    package init?(_ text: String) {
        let halves = text.split(separator: "#", omittingEmptySubsequences: false)
        guard halves.count == 2, let secret = Base64URL.decode(halves[1]), secret.count == LiveLimits.linkSecretBytes
        else { return nil }
        let address = halves[0]
        guard let scheme = ["https://", "http://"].first(where: { address.hasPrefix($0) }) else { return nil }
        let rest = address.dropFirst(scheme.count)
        guard let slash = rest.firstIndex(of: "/"), slash != rest.startIndex, rest[slash...].hasPrefix(Self.folder)
        else { return nil }
        let path = rest[slash...].dropFirst(Self.folder.count).split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let conversation = ConversationID(String(path[0])) else { return nil }
        var name: String?
        if path.count == 2 {
            guard let decoded = PercentCoding.decode(path[1].utf8), decoded == Self.pathName(decoded) else {
                return nil
            }
            name = decoded
        }
        self.init(
            origin: scheme + rest[..<slash], conversation: conversation, name: name, secret: SecretBytes(secret))
    }

    /// The whole link, with its secret: for the user's eyes and clipboard, never for a log.
    package var text: String {
        let name = self.name.map { "/" + PercentCoding.encode($0) } ?? ""
        return self.origin + Self.folder + "\(self.conversation)" + name + "#" + Base64URL.encode(self.secret.bytes)
    }

    /// Anything but letters and digits becomes `-`.
    private static func pathName(_ name: String) -> String {
        String(name.map { $0.isLetter || $0.isNumber ? $0 : "-" })
    }
}
