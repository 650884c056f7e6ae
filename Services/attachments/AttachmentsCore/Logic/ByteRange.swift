/// The bytes of a file that a request asks for (RFC 9110 §14). One range is honoured; several at once, other units and what
/// is not well formed count as none, as §14.2 allows.
package enum ByteRange: Equatable, Sendable {
    case whole
    /// Answered with 206. Not empty.
    case part(ClosedRange<Int64>)
    /// Answered with 416.
    case unsatisfiable

    /// - Parameters:
    ///   - header: the value of `Range`.
    ///   - size: of the file, in bytes.
    package init(_ header: String?, size: Int64) {
        guard let header, let spec = Self.singleSpec(header) else {
            self = .whole
            return
        }
        switch spec {
        case (let first?, let last):
            if let last, last < first {
                self = .whole  // Not valid: §14.1.1.
            } else {
                self = first < size ? .part(first...min(last ?? .max, size - 1)) : .unsatisfiable
            }
        case (nil, let suffix?):
            self = suffix > 0 && size > 0 ? .part(max(0, size - suffix)...(size - 1)) : .unsatisfiable
        case (nil, nil):
            self = .whole
        }
    }

    /// - Parameters:
    ///   - ifRange: the value of `If-Range`; honoured if it is the file's strong entity tag (§13.1.5).
    ///   - tag: of the file.
    package init(_ header: String?, ifRange: String?, tag: String, size: Int64) {
        self.init(ifRange == nil || ifRange == tag ? header : nil, size: size)
    }

    private static func singleSpec(_ header: String) -> (first: Int64?, last: Int64?)? {
        let parts = header.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, parts[0].trimmed.lowercased() == "bytes" else { return nil }
        let spec = parts[1].trimmed
        let ends = spec.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, !spec.contains(",") else { return nil }
        let numbers = ends.map { end -> Int64?? in
            if end.isEmpty { return .some(nil) }
            guard end.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
            // More than any file has is as good as its end.
            return Int64(end) ?? .max
        }
        guard let first = numbers[0], let last = numbers[1] else { return nil }
        return (first, last)
    }
}

extension StringProtocol {
    /// Without spaces and tabs at both ends.
    fileprivate var trimmed: String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(self.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
