import CWebAssets
import Contract
import PlainSource
import ServerCrypto

/// A page in a browser, or a file that a page loads, as the browser gets it.
package struct WebAsset: Sendable {
    package let type: String
    package let bytes: [UInt8]
    /// The header `Permissions-Policy`: the devices that a page may ask for.
    package var permissions = "camera=(), microphone=(), geolocation=()"

    fileprivate static func file(_ name: String, _ source: [UInt8]) -> WebAsset {
        switch name.split(separator: ".").last {
        case "js": WebAsset(type: "text/javascript; charset=utf-8", bytes: PlainSource.bare(source))
        case "css": WebAsset(type: "text/css; charset=utf-8", bytes: PlainSource.bareStyle(source))
        default: WebAsset(type: "image/svg+xml", bytes: source)
        }
    }

    fileprivate static func page(_ bytes: [UInt8]) -> WebAsset {
        WebAsset(type: "text/html; charset=utf-8", bytes: bytes)
    }
}

/// The pages in a browser and the files that they load (contract §16.1). The folder `Assets` has their sources.
package enum WebAssets {
    /// The header `Content-Security-Policy` of pages and files (contract §16.1).
    package static let policy = """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'
        """

    /// Loads the scripts of a page. The only file that is served under the hash of another release.
    package static let start = "start.js"

    /// The files of the folder, by name.
    private static let sources: [String: [UInt8]] = {
        var sources: [String: [UInt8]] = [:]
        var next = web_assets()!
        while let name = next.pointee.name {
            sources[String(cString: name)] = Array(String(cString: next.pointee.text).utf8)
            next += 1
        }
        return sources
    }()

    /// The pages without the release's hash, by name.
    private static let templates = Dictionary(
        uniqueKeysWithValues: Self.sources.compactMap { name, source in
            name.hasSuffix(".html") ? (String(name.dropLast(".html".count)), source) : nil
        })

    /// The files that pages load, by name.
    package static let files = Dictionary(
        uniqueKeysWithValues: Self.sources.compactMap { name, source in
            name.hasSuffix(".html") ? nil : (name, WebAsset.file(name, source))
        })

    /// A hash of all pages and files. It differs between releases that differ in any of them.
    package static let hash: String = {
        let parts = Self.files.mapValues(\.bytes).merging(Self.templates) { file, _ in file }
        // The hash covers names and lengths, so that bytes cannot move from one file to the next.
        let bytes = parts.sorted { $0.key < $1.key }.flatMap { name, bytes in
            Array("\(name)\n\(bytes.count)\n".utf8) + bytes
        }
        return Hexadecimal.text(Array(SHA256.hash(bytes).bytes.prefix(PageOperations.hashBytes)))
    }()

    /// The listener's page.
    package static let listen = Self.page("listen")
    /// A shared transcript.
    package static let transcript = Self.page("transcript")
    /// The page of rooms. A button on it asks for camera and microphone.
    package static let join = {
        var page = Self.page("join")
        page.permissions = "camera=(self), microphone=(self), geolocation=()"
        return page
    }()
    /// Links that Whisper opens, for people who have them in a browser: to a person, and an invitation.
    package static let add = Self.page("add")
    package static let invite = Self.page("invite")
    /// The page that answers a malformed address.
    package static let missing = Self.page("missing")

    /// A page whose links to files have the release's hash.
    private static func page(_ name: String) -> WebAsset {
        let text = String(decoding: Self.templates[name]!, as: UTF8.self)
        return .page(
            Array(text.split(separator: "{hash}", omittingEmptySubsequences: false).joined(separator: Self.hash).utf8))
    }
}
