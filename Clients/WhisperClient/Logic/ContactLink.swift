package import Contract

/// A link by which somebody is added, often shown as a QR code (contract §20.8). It vouches for the keys of its person.
///
/// Four forms are read: `whisper://add/{id}?v=1&…`, `https://{host[:port]}/add#{id}&v=1&…`, and
/// `whisper:{id}?s=…&e=…` of the first releases. Its parameters are `o` (host and port of the server), `f` (fingerprint of the keys),
/// `n` (a name), `s` and `e` (the keys themselves). Their order is free, and unknown ones are ignored.
package struct ContactLink: Equatable, Sendable {
    package let id: WhisperID
    /// The person's server. `nil` in the form of the first releases.
    package let server: ServerAddress?
    /// The name that the writer of the link gives the person, without control and direction marks. A suggestion: nothing vouches for it.
    package let name: String?
    /// First 16 bytes of a hash of the keys.
    package let fingerprint: [UInt8]?
    package let keys: PublicKeys?

    package enum Form: String, CaseIterable, Sendable { case app, web }

    package enum Fault: Error {
        case malformed
        /// A later release has written it.
        case newer
    }

    package static let charactersMax = 512
    package static let nameScalarsMax = 64
    private static let fingerprintBytes = 16

    /// - Parameter name: longer ones are cut.
    package init(id: WhisperID, keys: PublicKeys, server: ServerAddress, name: String? = nil) {
        self.id = id
        self.server = server
        self.name = name.flatMap(Self.cleaned)
        self.fingerprint = Self.fingerprint(of: keys)
        self.keys = nil
    }

    /// Whether these are the keys that the link vouches for.
    package func fits(_ keys: PublicKeys) -> Bool {
        keys.belong(to: self.id) && (self.keys ?? keys) == keys
            && (self.fingerprint ?? Self.fingerprint(of: keys)) == Self.fingerprint(of: keys)
    }

    private static func fingerprint(of keys: PublicKeys) -> [UInt8] {
        Array(
            Sodium.sha256(Array("whisper-add\n".utf8) + keys.sign.bytes + keys.box.bytes).prefix(Self.fingerprintBytes))
    }

    /// Drops scalars that a screen obeys or does not show.
    private static func cleaned(_ name: String) -> String? {
        let kept = name.unicodeScalars.filter {
            switch $0.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: false
            default: true
            }
        }
        let text = String(String.UnicodeScalarView(kept.prefix(Self.nameScalarsMax)))
        return text.allSatisfy(\.isWhitespace) ? nil : text
    }
}

// MARK: Text

extension ContactLink {
    private static let app = "whisper://add/"
    static let page = "/add#"
    private static let firstReleases = "whisper:"
    private static let version = 1

    /// ASCII, at most `charactersMax`: a name that is too long is cut. A link that was read from the form of the first releases has no server, and is written as
    /// `app` without one.
    package func text(_ form: Form) -> String {
        var name = self.name
        while true {
            let text = self.text(form, name: name)
            guard text.utf8.count > Self.charactersMax, name?.isEmpty == false else { return text }
            name?.unicodeScalars.removeLast()
        }
    }

    private func text(_ form: Form, name: String?) -> String {
        var values: [(String, String)] = [("v", "\(Self.version)")]
        if let server, form == .app { values.append(("o", server.hostAndPort)) }
        if let fingerprint { values.append(("f", Base64URL.encode(fingerprint))) }
        if let name { values.append(("n", PercentCoding.encode(name))) }
        let written = values.map { "\($0)=\($1)" }.joined(separator: "&")
        guard form == .web, let server else { return "\(Self.app)\(self.id)?\(written)" }
        return "\(server.origin)\(Self.page)\(self.id)&\(written)"
    }

    package init(_ text: String) throws(Fault) {
        guard text.utf8.count <= Self.charactersMax, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .malformed
        }
        let (person, parameters, origin) = try Self.parts(of: text)
        let values = try Self.values(of: parameters)
        guard let id = WhisperID(person) else { throw .malformed }
        self.id = id
        let isOfFirstReleases = !text.hasPrefix(Self.app) && origin == nil
        switch values["v"].map({ Int($0) }) {
        case .some(.some(Self.version)): break
        case .some(.some(let later)) where later > Self.version: throw .newer
        case .none where isOfFirstReleases: break
        default: throw .malformed
        }
        self.server = try (origin ?? values["o"].map { "https://" + $0 }).map { (text) throws(Fault) in
            guard let address = ServerAddress(text) else { throw .malformed }
            return address
        }
        guard self.server != nil || isOfFirstReleases else { throw .malformed }
        self.name = values["n"].flatMap(Self.cleaned)
        self.fingerprint = try values["f"].map { (text) throws(Fault) in
            try Self.bytes(text, count: Self.fingerprintBytes)
        }
        switch (values["s"], values["e"]) {
        case (nil, nil): self.keys = nil
        case (let sign?, let box?):
            self.keys = PublicKeys(
                sign: Bytes32(try Self.bytes(sign, count: 32))!, box: Bytes32(try Self.bytes(box, count: 32))!)
        default: throw .malformed
        }
        // The id alone vouches for 50 bits.
        guard self.fingerprint != nil || self.keys != nil else { throw .malformed }
    }

    /// - Returns: the id, the parameters, and the origin if the link is the address of a page.
    private static func parts(of text: String) throws(Fault) -> (String, Substring, String?) {
        let (rest, separator, origin): (Substring, Character, String?)
        if text.hasPrefix(Self.app) {
            (rest, separator, origin) = (text.dropFirst(Self.app.count), "?", nil)
        } else if let page = text.firstRange(of: Self.page), text.hasPrefix("https://") || text.hasPrefix("http://") {
            (rest, separator, origin) = (text[page.upperBound...], "&", String(text[..<page.lowerBound]))
        } else if text.hasPrefix(Self.firstReleases) {
            (rest, separator, origin) = (text.dropFirst(Self.firstReleases.count), "?", nil)
        } else {
            throw .malformed
        }
        let halves = rest.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2 else { throw .malformed }
        return (String(halves[0]), halves[1], origin)
    }

    private static func values(of parameters: Substring) throws(Fault) -> [String: String] {
        var values: [String: String] = [:]
        for parameter in parameters.split(separator: "&", omittingEmptySubsequences: false) {
            let halves = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, let value = PercentCoding.decode(halves[1].utf8),
                values.updateValue(value, forKey: String(halves[0])) == nil
            else { throw .malformed }
        }
        return values
    }

    private static func bytes(_ text: String, count: Int) throws(Fault) -> [UInt8] {
        guard let bytes = Base64URL.decode(text), bytes.count == count else { throw .malformed }
        return bytes
    }
}
