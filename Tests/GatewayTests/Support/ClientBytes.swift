import NIOCore
import TestKit

/// A WebSocket frame as a client writes it, with every freedom to do it wrong.
struct ClientFrame: CustomStringConvertible {
    var description: String { "opcode \(self.opcode), \(self.payload.count) bytes" }

    var opcode: UInt8
    var payload: [UInt8] = []
    var isFinal = true
    var mask: UInt32? = 0x7856_3412
    /// The RSV bits, in place.
    var reserved: UInt8 = 0

    static func text(_ text: String, isFinal: Bool = true) -> ClientFrame {
        ClientFrame(opcode: 1, payload: Array(text.utf8), isFinal: isFinal)
    }

    var bytes: [UInt8] {
        ClientFraming.frame(
            ClientFraming.Opcode(rawValue: self.opcode), self.payload, isFinal: self.isFinal, mask: self.mask,
            reservedBits: self.reserved)
    }
}

/// Splits the frames of a server.
struct ServerFrames {
    private var held = ByteBuffer()

    /// A malformed frame counts as none: the test waits for a frame that does not come.
    mutating func add(_ bytes: [UInt8]) -> [(opcode: UInt8, payload: [UInt8])] {
        self.held.writeBytes(bytes)
        var frames: [(opcode: UInt8, payload: [UInt8])] = []
        while let frame = try? IncomingFrame.next(&self.held) { frames.append((frame.opcode.rawValue, frame.payload)) }
        return frames
    }
}

extension SeededGenerator {
    mutating func upTo(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
    }
}
