import NIOCore

/// WebSocket frames as a client writes them: whole and masked (RFC 6455 §5).
enum ClientFraming {
    static let text: UInt8 = 0x1
    static let close: UInt8 = 0x8
    static let ping: UInt8 = 0x9
    static let pong: UInt8 = 0xA

    /// Appends one frame to `buffer`.
    /// - Parameter fill: writes the payload of `count` bytes; it is masked in place afterwards.
    @inline(__always)
    static func write(
        _ opcode: UInt8, count: Int, mask: UInt32, to buffer: inout ByteBuffer,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        let head = count < 126 ? 6 : count < 65_536 ? 8 : 14
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: head + count) { bytes in
            bytes[0] = 0x80 | opcode
            switch head {
            case 6: bytes[1] = 0x80 | UInt8(count)
            case 8:
                bytes[1] = 0x80 | 126
                bytes.storeBytes(of: UInt16(count).bigEndian, toByteOffset: 2, as: UInt16.self)
            default:
                bytes[1] = 0x80 | 127
                bytes.storeBytes(of: UInt64(count).bigEndian, toByteOffset: 2, as: UInt64.self)
            }
            bytes.storeBytes(of: mask, toByteOffset: head - 4, as: UInt32.self)
            let payload = UnsafeMutableRawBufferPointer(rebasing: bytes[head..<head + count])
            fill(payload)
            Self.apply(mask, to: payload)
            return head + count
        }
    }

    @inline(__always)
    private static func apply(_ mask: UInt32, to payload: UnsafeMutableRawBufferPointer) {
        let wide = UInt64(mask) << 32 | UInt64(mask)
        var offset = 0
        while offset + 8 <= payload.count {
            let word = payload.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            payload.storeBytes(of: word ^ wide, toByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < payload.count {
            payload[offset] ^= UInt8(truncatingIfNeeded: mask >> UInt32(8 * (offset % 4)))
            offset += 1
        }
    }
}

/// A frame that a server wrote: never masked, and by ours never fragmented.
struct IncomingFrame {
    var opcode: UInt8
    /// Where its payload stands.
    var payload: Range<Int>

    enum Malformed: Error { case fragmented, masked, tooLong }

    /// More than the largest page.
    static let bytesMax = 1_048_576

    /// The frame at the start of `bytes`; `nil` until it is complete.
    @inline(__always)
    init?(_ bytes: UnsafeRawBufferPointer) throws(Malformed) {
        guard bytes.count >= 2 else { return nil }
        guard bytes[0] & 0x80 != 0 else { throw .fragmented }
        guard bytes[1] & 0x80 == 0 else { throw .masked }
        self.opcode = bytes[0] & 0x0F
        var head = 2
        var count = Int(bytes[1])
        if count == 126 {
            head = 4
            guard bytes.count >= head else { return nil }
            count = Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        } else if count == 127 {
            head = 10
            guard bytes.count >= head else { return nil }
            let long = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            guard long <= UInt64(Self.bytesMax) else { throw .tooLong }
            count = Int(long)
        }
        guard bytes.count >= head + count else { return nil }
        self.payload = head..<head + count
    }
}
