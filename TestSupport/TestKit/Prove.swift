import Foundation

/// `make test` runs at least one test of each kind; `make prove` sets `WHISPER_PROVE=1` and runs all tests.
///
/// A test whose kind another test shows sooner has the trait `.enabled(if: Prove.isAsked, "make prove runs it")`. So the short
/// run names it among the skipped ones.
package enum Prove {
    package static let isAsked = ProcessInfo.processInfo.environment["WHISPER_PROVE"] == "1"

    /// The arguments of a test: all of them, or those that stay in the short run, which says what it leaves out.
    package static func all<C: Collection>(
        _ arguments: C, butInShort short: [C.Element]
    ) -> [C.Element] where C.Element: Equatable & Sendable {
        guard !self.isAsked else { return Array(arguments) }
        let left = arguments.filter { !short.contains($0) }.map { "\($0)" }.joined(separator: ", ")
        print("· make prove runs it with these arguments too: \(left)")
        return short
    }

    /// Seeds of what a test plays at random: all of them, or the first quarter in the short run.
    package static func seeds(_ all: Range<UInt64>) -> Range<UInt64> {
        self.isAsked ? all : all.lowerBound..<all.lowerBound + (UInt64(all.count) + 3) / 4
    }
}
