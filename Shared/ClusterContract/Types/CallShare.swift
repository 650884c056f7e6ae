package import Contract

/// A share of all calls. Everything that concerns one call goes through one share, in order; one calls process at a time
/// owns a share.
///
/// A share is that of the pair who call each other: both sides' frames meet in it, and so do two calls that cross.
package struct CallShare: Hashable, Comparable, Sendable {
    package let index: Int

    /// Also the largest number of calls processes that share the work.
    package static let count = 8
    package static let all = (0..<Self.count).map { CallShare(index: $0) }

    private init(index: Int) { self.index = index }

    package init?(_ index: Int) {
        guard (0..<Self.count).contains(index) else { return nil }
        self.index = index
    }

    /// The same in either order. A caller without a callee forms a pair with itself.
    package init(of one: WhisperID, and other: WhisperID) {
        let sum = Self.mixed(one.bits) &+ Self.mixed(other.bits)
        self.index = Int(Self.mixed(sum) % UInt64(Self.count))
    }

    /// The finalizer of SplitMix64: each bit of the argument moves every bit of the result.
    static func mixed(_ value: UInt64) -> UInt64 {
        var z = value &+ 0x9E37_79B9_7F4A_7C15
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }

    package static func < (a: CallShare, b: CallShare) -> Bool { a.index < b.index }
}

extension CallShare: WireCodable {
    package func encode(into writer: inout WireWriter) { writer.write(UInt8(self.index)) }

    package init(from reader: inout WireReader) throws(WireError) {
        guard let share = CallShare(Int(try reader.read(UInt8.self))) else { throw .malformed }
        self = share
    }
}
