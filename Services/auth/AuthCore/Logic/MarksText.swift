import Contract
import ServerCrypto

/// The marks of erased identities as text, for a file beside a backup (contract §20.4). It names nobody:
/// ```
/// whisper-erasures 1
/// cluster 7577436163528293716
/// 0b5e… 20785
/// end 1 c41a…
/// ```
/// A line for each mark, in ascending order, with its day since 1970. The last line has their number, and a digest: the
/// SHA-256 of the digest so far and a line, over all lines before it, from 32 zeros.
enum MarksText {
    /// Bytes of the longest line, with its end. A reader need not take more.
    static let lineBytesMax = 100

    /// Digest and number of the lines so far, in the writer and in the reader.
    private struct Sum {
        private(set) var digest = Bytes32()
        var marks = 0

        mutating func add(_ line: some Sequence<UInt8>) { self.digest = SHA256.hash(self.digest.bytes + line) }

        var end: String { "end \(self.marks) \(Hexadecimal.text(self.digest.bytes))\n" }
    }

    private static let heading = "whisper-erasures 1\n"
    private static func name(of cluster: Int64) -> String { "cluster \(cluster)\n" }
    private static func line(_ tombstone: Tombstone) -> String {
        "\(Hexadecimal.text(tombstone.mark.bytes)) \(tombstone.day)\n"
    }

    struct Writer {
        private var sum = Sum()

        /// - Returns: the first lines.
        mutating func begin(_ cluster: Int64) -> String {
            self.add(MarksText.heading) + self.add(MarksText.name(of: cluster))
        }

        /// - Parameter tombstones: in ascending order, and above those before.
        mutating func lines(_ tombstones: [Tombstone]) -> String {
            self.sum.marks += tombstones.count
            return tombstones.map { self.add(MarksText.line($0)) }.joined()
        }

        /// - Returns: the last line.
        func end() -> String { self.sum.end }

        private mutating func add(_ line: String) -> String {
            self.sum.add(line.utf8)
            return line
        }
    }

    struct Reader {
        private enum Place {
            case heading, cluster, marks, end
        }

        private let cluster: Int64
        private var sum = Sum()
        private var place = Place.heading
        private var last: [UInt8] = []
        private var number = 0

        /// - Parameter cluster: whose marks are taken.
        init(of cluster: Int64) { self.cluster = cluster }

        /// - Parameter line: with its end.
        /// - Returns: the mark that stands in the line, if it is of that kind.
        mutating func take(_ line: [UInt8]) throws(MarksFault) -> Tombstone? {
            self.number += 1
            let text = String(decoding: line, as: UTF8.self)
            switch self.place {
            case .heading:
                guard text == MarksText.heading else { throw .otherFile }
                self.place = .cluster
            case .cluster:
                guard text == MarksText.name(of: self.cluster) else { throw .otherCluster(expected: self.cluster) }
                self.place = .marks
            case .marks where text == self.sum.end:
                self.place = .end
                return nil
            case .marks:
                let tombstone = try self.tombstone(text)
                self.sum.marks += 1
                self.sum.add(line)
                return tombstone
            case .end: throw self.damaged
            }
            self.sum.add(line)
            return nil
        }

        /// - Throws: `.damaged` if the last line is missing.
        func finish() throws(MarksFault) {
            guard self.place != .heading else { throw .otherFile }
            guard self.place == .end else { throw self.damaged }
        }

        private var damaged: MarksFault { .damaged(line: self.number) }

        /// Takes a line only as the writer writes it.
        private mutating func tombstone(_ text: String) throws(MarksFault) -> Tombstone {
            let words = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
            guard words.count == 2, let bytes = Hexadecimal.bytes(words[0]), let mark = Bytes32(bytes),
                let day = Int32(words[1]), day >= 0, self.last.lexicographicallyPrecedes(bytes)
            else { throw self.damaged }
            let tombstone = Tombstone(mark: mark, day: day)
            guard text == MarksText.line(tombstone) else { throw self.damaged }
            self.last = bytes
            return tombstone
        }
    }
}

/// Why a file of marks was not taken. Nothing was changed.
package enum MarksFault: Error, Equatable, CustomStringConvertible {
    case unreadable(path: String)
    case otherFile
    case otherCluster(expected: Int64)
    case damaged(line: Int)

    package var description: String {
        switch self {
        case .unreadable(let path): "\(path) cannot be read"
        case .otherFile: "this is no file of erasure marks, or one of a later release"
        case .otherCluster(let expected):
            "these are the marks of another database; those of this one say \"cluster \(expected)\""
        case .damaged(let line): "the file is damaged or incomplete at line \(line); take an older copy of it"
        }
    }
}
