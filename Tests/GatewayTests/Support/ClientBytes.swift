import NIOCore
import TestKit

/// Writes WebSocket frames as a client does (RFC 6455 §5.2), byte by byte, with every freedom to do it wrong.
struct ClientFrame: CustomStringConvertible {
    var description: String { "opcode \(self.opcode), \(self.payload.count) bytes" }

    var opcode: UInt8
    var payload: [UInt8] = []
    var isFinal = true
    var mask: [UInt8]? = [0x12, 0x34, 0x56, 0x78]
    /// The RSV bits, in place.
    var reserved: UInt8 = 0

    static func text(_ text: String, isFinal: Bool = true) -> ClientFrame {
        ClientFrame(opcode: 1, payload: Array(text.utf8), isFinal: isFinal)
    }

    var bytes: [UInt8] {
        var bytes = [(self.isFinal ? 0x80 : 0) | self.reserved | self.opcode]
        let maskBit: UInt8 = self.mask == nil ? 0 : 0x80
        switch self.payload.count {
        case 0..<126: bytes.append(maskBit | UInt8(self.payload.count))
        case 126..<65_536:
            bytes.append(maskBit | 126)
            bytes += [UInt8(self.payload.count >> 8), UInt8(self.payload.count & 255)]
        default:
            bytes.append(maskBit | 127)
            bytes += (0..<8).map { UInt8(self.payload.count >> (56 - 8 * $0) & 255) }
        }
        guard let mask = self.mask else { return bytes + self.payload }
        bytes += mask
        for (index, byte) in self.payload.enumerated() { bytes.append(byte ^ mask[index % 4]) }
        return bytes
    }
}

/// Splits the frames of a server. Its frames are unmasked and whole.
struct ServerFrames {
    private var held: [UInt8] = []

    mutating func add(_ bytes: [UInt8]) -> [(opcode: UInt8, payload: [UInt8])] {
        self.held += bytes
        var frames: [(opcode: UInt8, payload: [UInt8])] = []
        while self.held.count >= 2 {
            var count = Int(self.held[1])
            var head = 2
            if count == 126 { head = 4 } else if count == 127 { head = 10 }
            guard self.held.count >= head else { break }
            if head > 2 { count = self.held[2..<head].reduce(0) { $0 << 8 | Int($1) } }
            guard self.held.count >= head + count else { break }
            frames.append((self.held[0] & 15, Array(self.held[head..<head + count])))
            self.held.removeFirst(head + count)
        }
        return frames
    }
}

extension SeededGenerator {
    mutating func upTo(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
    }
}
