/// Exactly 32 bytes without a heap allocation: a public key, a digest, a challenge.
package struct Bytes32: Hashable, Sendable {
    private var a: UInt64 = 0
    private var b: UInt64 = 0
    private var c: UInt64 = 0
    private var d: UInt64 = 0

    package init() {}

    package init?<C: Collection<UInt8>>(_ bytes: C) {
        guard bytes.count == 32 else { return nil }
        self.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    }

    package var bytes: [UInt8] { self.withUnsafeBytes { Array($0) } }

    package func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try Swift.withUnsafeBytes(of: self, body)
    }

    package mutating func withUnsafeMutableBytes<R, E: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try Swift.withUnsafeMutableBytes(of: &self, body)
    }
}

/// Exactly 64 bytes without a heap allocation: an Ed25519 signature.
package struct Bytes64: Hashable, Sendable {
    package var first: Bytes32
    package var second: Bytes32

    package init() {
        self.first = Bytes32()
        self.second = Bytes32()
    }

    package init?<C: Collection<UInt8>>(_ bytes: C) {
        guard bytes.count == 64 else { return nil }
        self.init()
        self.withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
    }

    package var bytes: [UInt8] { self.withUnsafeBytes { Array($0) } }

    package func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try Swift.withUnsafeBytes(of: self, body)
    }

    package mutating func withUnsafeMutableBytes<R, E: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try Swift.withUnsafeMutableBytes(of: &self, body)
    }
}
