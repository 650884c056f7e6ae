/// The version of a backup or document as HTTP writes it, and the versions that a client still expects to find (RFC 9110, 8.8.3 and 13.1.1).
package enum EntityTag {
    /// The versions that `If-Match` requires, or that `If-None-Match` excludes.
    package enum Expectation: Equatable, Sendable {
        /// `*`: whatever is there, if anything is.
        case any
        /// None of them when the header names no version of ours: then nothing matches.
        case oneOf([Int64])
    }

    package static func text(_ revision: Int64) -> String { "\"\(revision)\"" }

    /// - Parameters:
    ///   - header: the value of `If-Match` or `If-None-Match`. Tags that we never gave match nothing.
    ///   - isWeak: whether weak tags match too, as in the `If-None-Match` of a `GET` (RFC 9110, 8.8.3.2).
    package static func expectation(_ header: String, isWeak: Bool = false) -> Expectation {
        let parts = header.utf8.split(separator: UInt8(ascii: ",")).map { part in
            part.drop { $0 == 0x20 || $0 == 0x09 }
        }.map { part in
            String(
                Substring(
                    part.prefix(
                        upTo: part.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { part.index(after: $0) }
                            ?? part.startIndex)))
        }
        if parts == ["*"] { return .any }
        return .oneOf(
            parts.map { part in
                isWeak && part.hasPrefix("W/") ? String(part.dropFirst(2)) : part
            }.compactMap { part in
                guard part.count > 2, part.hasPrefix("\""), part.hasSuffix("\""),
                    let revision = Int64(part.dropFirst().dropLast()), Self.text(revision) == part
                else { return nil }
                return revision
            })
    }
}
