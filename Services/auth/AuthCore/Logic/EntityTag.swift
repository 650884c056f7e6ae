/// The version of a backup as HTTP writes it, and the versions that a client still expects to find (RFC 9110, 8.8.3 and 13.1.1).
package enum EntityTag {
    /// What `If-Match` asks for.
    package enum Expectation: Equatable, Sendable {
        /// `*`: whatever is there, if anything is.
        case any
        /// None of them when the header names no version of ours: then nothing matches.
        case oneOf([Int64])
    }

    package static func text(_ revision: Int64) -> String { "\"\(revision)\"" }

    /// - Parameter header: the value of `If-Match`. Weak tags and tags that we never gave match nothing.
    package static func expectation(_ header: String) -> Expectation {
        let parts = header.utf8.split(separator: UInt8(ascii: ",")).map { part in
            part.drop { $0 == 0x20 || $0 == 0x09 }
        }.map { part in
            String(Substring(part.prefix(upTo: part.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { part.index(after: $0) } ?? part.startIndex)))
        }
        if parts == ["*"] { return .any }
        return .oneOf(parts.compactMap { part in
            guard part.count > 2, part.hasPrefix("\""), part.hasSuffix("\""),
                let revision = Int64(part.dropFirst().dropLast()), Self.text(revision) == part
            else { return nil }
            return revision
        })
    }
}
