/// How often each part of the bus has been replaced by a copy, or has come back: it may lack what was written last.
///
/// A value of one moment. Two of them say what was replaced in between. A single server is one part, and its canary key says
/// whether it was emptied, so nothing is counted there.
package struct Replacements: Sendable {
    /// Rises whenever any part is replaced.
    package private(set) var total = 0
    /// Replacements of each part; empty if nothing is counted.
    private var counts: [UInt32]
    private let part: @Sendable (String) -> Int

    /// Nothing is counted.
    package static let none = Replacements(parts: 0) { _ in 0 }

    /// - Parameter part: where a key, stream or channel is: an index below `parts`.
    package init(parts: Int, part: @escaping @Sendable (String) -> Int) {
        self.counts = [UInt32](repeating: 0, count: parts)
        self.part = part
    }

    /// Whether parts are lost and replaced one by one.
    package var areCounted: Bool { !self.counts.isEmpty }

    /// Replacements of the part in which this key, stream or channel is.
    package func count(of name: String) -> Int { self.areCounted ? Int(self.counts[self.part(name)]) : 0 }

    /// Whether the part of this name has been replaced since `older`.
    package func hasChanged(since older: Replacements, at name: String) -> Bool {
        self.total != older.total && self.count(of: name) != older.count(of: name)
    }

    package mutating func note(_ parts: some Sequence<Int>) {
        self.total += 1
        for part in parts { self.counts[part] += 1 }
    }
}

/// Losses that one check of the bus has found, since the check before.
package struct BusLosses: Sendable {
    /// Redis was emptied.
    package let isEverything: Bool
    private let before: Replacements
    /// As of this look.
    package let replacements: Replacements

    package init(isEverything: Bool, since before: Replacements, now: Replacements) {
        self.isEverything = isEverything
        self.before = before
        self.replacements = now
    }

    package var isEmpty: Bool { !self.isEverything && self.replacements.total == self.before.total }

    /// Whether what stands under this key or in this stream, or what was published there, may be lost.
    package func includes(_ name: String) -> Bool {
        self.isEverything || self.replacements.hasChanged(since: self.before, at: name)
    }
}
