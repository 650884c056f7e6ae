/// The way to sealed files, by URLs that the server has signed. Other servers may be behind these.
package protocol FileLink: Sendable {
    /// One `PUT` of a file, piece by piece.
    /// - Parameter piece: from a place on, at most `SecretboxPieces.pieceBytes`; `nil` ends the upload.
    /// - Returns: the HTTP status.
    func upload(
        to url: String, bytes: Int64, piece: @escaping @Sendable (_ place: Int64) async -> [UInt8]?
    ) async throws(LinkError) -> Int

    /// One `GET` of a file, or of what is behind its beginning.
    /// - Parameters:
    ///   - start: bytes that are here. A server that does not know `Range` sends the whole.
    ///   - take: gets each piece with its place. `false` ends the download.
    /// - Returns: the HTTP status.
    func download(
        from url: String, startingAt start: Int64,
        take: @escaping @Sendable (_ piece: [UInt8], _ place: Int64) async -> Bool
    ) async throws(LinkError) -> Int
}

/// Links of hosts that transfer no files.
extension FileLink {
    package func upload(
        to url: String, bytes: Int64, piece: @escaping @Sendable (_ place: Int64) async -> [UInt8]?
    ) async throws(LinkError) -> Int {
        throw .unreachable("no files here")
    }

    package func download(
        from url: String, startingAt start: Int64,
        take: @escaping @Sendable (_ piece: [UInt8], _ place: Int64) async -> Bool
    ) async throws(LinkError) -> Int {
        throw .unreachable("no files here")
    }
}

/// The parts of a URL that a request needs.
struct FileURL: Sendable, Equatable {
    var server: ServerAddress
    /// As the URL has it: it is a part of what was signed.
    var authority: String
    var path: String

    init?(_ text: String) {
        guard text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), let server = ServerAddress(text),
            let scheme = text.firstRange(of: "://")
        else { return nil }
        let rest = text[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = rest[authority.endIndex...].prefix { $0 != "#" }
        self.server = server
        self.authority = String(authority)
        self.path = path.hasPrefix("/") ? String(path) : "/" + path
    }
}
