/// Which of the 16,384 slots of a Redis Cluster a name belongs to (Redis Cluster specification, "Key distribution model").
/// Names of keys, streams and sharded channels are treated alike.
enum HashSlot {
    static let count = 16_384

    static func of(_ name: String) -> Int {
        var name = name
        return name.withUTF8 { Int(self.crc16(self.hashed($0)) % UInt16(self.count)) }
    }

    /// The bytes to hash: the bytes within the first pair of braces if there are any, else all of them.
    private static func hashed(_ name: UnsafeBufferPointer<UInt8>) -> Slice<UnsafeBufferPointer<UInt8>> {
        guard let open = name.firstIndex(of: 0x7B), let close = name[(open + 1)...].firstIndex(of: 0x7D),
            close > open + 1
        else { return name[...] }
        return name[(open + 1)..<close]
    }

    /// CRC-16/XMODEM: polynomial 0x1021, nothing reflected, from 0.
    static func crc16(_ bytes: some Sequence<UInt8>) -> UInt16 {
        var remainder: UInt16 = 0
        for byte in bytes {
            remainder = remainder << 8 ^ self.table[Int(UInt8(truncatingIfNeeded: remainder >> 8) ^ byte)]
        }
        return remainder
    }

    private static let table: [UInt16] = (0..<256).map { byte in
        (0..<8).reduce(UInt16(byte) << 8) { word, _ in word & 0x8000 == 0 ? word << 1 : word << 1 ^ 0x1021 }
    }
}
