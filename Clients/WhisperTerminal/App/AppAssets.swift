import CAppAssets
import Contract
import PlainSource
import WhisperClient

/// The page of `whisper app` and the files that it loads. The folder `Clients/App/Assets` has them.
enum AppAssets {
    struct File: Sendable {
        var type: String
        var bytes: [UInt8]
    }

    private static let types = [
        "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
        "webmanifest": "application/manifest+json", "html": "text/html; charset=utf-8",
    ]

    /// The files of the folder, by name.
    static let files: [String: File] = {
        var files: [String: File] = [:]
        var next = app_assets()!
        while let name = next.pointee.name {
            let name = String(cString: name)
            let kind = String(name.split(separator: ".").last ?? "")
            let source = Array(String(cString: next.pointee.text).utf8)
            let bytes =
                switch kind {
                case "js": PlainSource.bare(source)
                case "css": PlainSource.bareStyle(source)
                default: source
                }
            files[name] = File(type: Self.types[kind] ?? "application/octet-stream", bytes: bytes)
            next += 1
        }
        return files
    }()

    /// A hash of all files. It differs between releases that differ in any of them.
    static let hash: String = {
        let bytes = Self.files.sorted { $0.key < $1.key }.flatMap { name, file in
            Array("\(name)\n\(file.bytes.count)\n".utf8) + file.bytes
        }
        return Hexadecimal.text(Array(Sodium.sha256(bytes).prefix(16)))
    }()

    /// The page, whose links have the hash.
    static let page: File = {
        let source = Self.files["index.html"]!
        let text = String(decoding: source.bytes, as: UTF8.self)
        let parts = text.split(separator: "{hash}", omittingEmptySubsequences: false)
        return File(type: source.type, bytes: Array(parts.joined(separator: Self.hash).utf8))
    }()

    /// - Parameter path: `/a/HASH/NAME`.
    static func file(at path: String) -> File? {
        let prefix = "/a/\(Self.hash)/"
        guard path.hasPrefix(prefix) else { return nil }
        let name = String(path.dropFirst(prefix.count))
        return name == "index.html" ? nil : Self.files[name]
    }
}
