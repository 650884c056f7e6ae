/// A message of this tool: which conversation it belongs to, and its place there. Told by the last 62 bits of its id;
/// the first are as random as those of any client, because databases notice.
struct MessageNumber: Equatable {
    var conversation: Int
    var sequence: Int

    static let textLength = 36

    /// Reads the last 16 digits of an id.
    @inline(__always)
    init?(text: UnsafeRawBufferPointer, at start: Int) {
        guard text.count >= start + Self.textLength else { return nil }
        var low: UInt64 = 0
        for offset in 19..<36 where offset != 23 {
            let byte = text[start + offset]
            let value = byte <= UInt8(ascii: "9") ? byte &- UInt8(ascii: "0") : byte &- UInt8(ascii: "a") &+ 10
            low = low << 4 | UInt64(value & 15)
        }
        self.conversation = Int(low >> 40 & 0x3F_FFFF)
        self.sequence = Int(low & 0xFF_FFFF_FFFF)
    }

    init(conversation: Int, sequence: Int) {
        self.conversation = conversation
        self.sequence = sequence
    }

    /// Writes the id as text.
    /// - Parameter seed: makes the ids of one run different from those of another.
    @inline(__always)
    func write(seed: UInt64, to output: UnsafeMutableRawBufferPointer) {
        let low = UInt64(self.conversation) << 40 | UInt64(self.sequence)
        let high = Self.scattered(low ^ seed) & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let variant = low | 0x8000_0000_0000_0000
        var position = 0
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                output[position] = UInt8(ascii: "-")
                position += 1
            }
            let word = digit < 16 ? high : variant
            let value = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (digit % 16))) & 15
            output[position] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
            position += 1
        }
    }

    func text(seed: UInt64) -> String {
        String(unsafeUninitializedCapacity: Self.textLength) { buffer in
            self.write(seed: seed, to: UnsafeMutableRawBufferPointer(buffer))
            return Self.textLength
        }
    }

    /// The finalizer of SplitMix64.
    @inline(__always)
    private static func scattered(_ value: UInt64) -> UInt64 {
        var z = value &+ 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
