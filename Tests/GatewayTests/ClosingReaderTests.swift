import NIOCore
import TestKit
import Testing

@testable import GatewayCore

@Suite struct ClosingReaderTests {
    /// The header of a client's frame without its mask, in bytes, at most.
    private static let headerBytesMax = 10

    /// In which of these chunks the client's close frame ends; `nil` if in none.
    private func end(_ chunks: [[UInt8]], isReadable: Bool = true, bytesMax: Int = 1 << 20) -> Int? {
        var reader = ClosingReader(isReadable: isReadable, bytesMax: bytesMax)
        var buffer = ByteBuffer()
        for (index, chunk) in chunks.enumerated() {
            buffer.writeBytes(chunk)
            if reader.isOver(&buffer) { return index }
            #expect(buffer.readableBytes < Self.headerBytesMax, "it keeps nothing but a header")
        }
        return nil
    }

    /// Random frames that a client may still send, valid or not.
    private func frames(_ random: inout SeededGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<random.upTo(5) {
            let opcodes: [UInt8] = [0, 1, 2, 3, 9, 10, 15]
            let sizes = [0, 1, 4, 125, 126, 300, 65_535, 65_536]
            bytes +=
                ClientFrame(
                    opcode: opcodes[random.upTo(opcodes.count)], payload: random.bytes(sizes[random.upTo(sizes.count)]),
                    isFinal: random.upTo(2) == 0,
                    mask: random.upTo(4) == 0 ? nil : UInt32(truncatingIfNeeded: random.next())
                ).bytes
        }
        return bytes
    }

    @Test(arguments: UInt64(0)..<50)
    func theCloseFrameIsFoundBehindAnything(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let before = self.frames(&random)
        let close = ClientFrame(opcode: 8, payload: random.bytes(random.upTo(126))).bytes
        let stream = before + close
        #expect(self.end([before]) == nil)
        #expect(self.end([stream]) == 0)
        let split = random.upTo(stream.count)
        #expect(self.end([Array(stream[..<split]), Array(stream[split...])]) == 1)
        if stream.count < 2_000 { #expect(self.end(stream.map { [$0] }) == stream.count - 1) }
    }

    @Test func aFrameWithoutAnEndHidesWhatFollows() {
        let close = ClientFrame(opcode: 8).bytes
        for length in [UInt64.max, UInt64(Int.max), 1 << 32] {
            let header = [0x82, 0xFF] + (0..<8).map { UInt8(truncatingIfNeeded: length >> (56 - 8 * $0)) }
            #expect(self.end([header, close, close]) == nil)
        }
    }

    @Test func afterAnErrorInTheProtocolNothingIsACloseFrame() {
        #expect(self.end([ClientFrame(opcode: 8).bytes], isReadable: false) == nil)
    }

    @Test(arguments: [true, false]) func moreThanTheBoundIsTheEnd(isReadable: Bool) {
        let frame = ClientFrame(opcode: 2, payload: [UInt8](repeating: 0, count: 94)).bytes
        #expect(frame.count == 100)
        #expect(self.end([[UInt8]](repeating: frame, count: 11), isReadable: isReadable, bytesMax: 1_000) == 10)
        #expect(self.end([[UInt8]](repeating: frame, count: 10), isReadable: isReadable, bytesMax: 1_000) == nil)
    }
}
