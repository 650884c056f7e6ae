package import NIOCore

/// Frames as a WebSocket client writes them (RFC 6455 §5.2): tests, simulation and load tool write with this, and read
/// with `IncomingFrame`.
package enum ClientFraming {
    /// Any four bits: a test may send a reserved one.
    package struct Opcode: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let continuation = Opcode(rawValue: 0)
        package static let text = Opcode(rawValue: 1)
        package static let binary = Opcode(rawValue: 2)
        package static let close = Opcode(rawValue: 8)
        package static let ping = Opcode(rawValue: 9)
        package static let pong = Opcode(rawValue: 10)
    }

    /// Appends one frame.
    /// - Parameters:
    ///   - first: the first byte: FIN, the reserved bits and the opcode.
    ///   - count: of the payload, in bytes.
    ///   - mask: `nil` leaves the payload unmasked, which a client must not do.
    ///   - fill: writes the payload. It is masked in place afterwards.
    @inline(__always)
    package static func write(
        first: UInt8, count: Int, mask: UInt32?, to buffer: inout ByteBuffer,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        let length = count < 126 ? 2 : count < 65_536 ? 4 : 10
        let head = length + (mask == nil ? 0 : 4)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: head + count) { bytes in
            bytes[0] = first
            switch length {
            case 2: bytes[1] = maskBit | UInt8(count)
            case 4:
                bytes[1] = maskBit | 126
                bytes.storeBytes(of: UInt16(count).bigEndian, toByteOffset: 2, as: UInt16.self)
            default:
                bytes[1] = maskBit | 127
                bytes.storeBytes(of: UInt64(count).bigEndian, toByteOffset: 2, as: UInt64.self)
            }
            let payload = UnsafeMutableRawBufferPointer(rebasing: bytes[head..<head + count])
            fill(payload)
            if let mask {
                bytes.storeBytes(of: mask, toByteOffset: length, as: UInt32.self)
                Self.apply(mask, to: payload)
            }
            return head + count
        }
    }

    /// Appends one whole frame, masked.
    @inline(__always)
    package static func write(
        _ opcode: Opcode, count: Int, mask: UInt32, to buffer: inout ByteBuffer,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        self.write(first: 0x80 | opcode.rawValue, count: count, mask: mask, to: &buffer, fill: fill)
    }

    /// One frame, right or wrong.
    /// - Parameters:
    ///   - isFinal: false for a fragment that others follow.
    ///   - mask: clients must; a test may not.
    ///   - reservedBits: in their places.
    package static func frame(
        _ opcode: Opcode, _ payload: some Collection<UInt8>, isFinal: Bool = true,
        mask: UInt32? = .random(in: .min ... .max), reservedBits: UInt8 = 0
    ) -> [UInt8] {
        let payload = Array(payload)
        var buffer = ByteBuffer()
        self.write(
            first: (isFinal ? 0x80 : 0) | reservedBits | opcode.rawValue, count: payload.count, mask: mask, to: &buffer
        ) { $0.copyBytes(from: payload) }
        return Array(buffer.readableBytesView)
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
package struct IncomingFrame {
    package let opcode: ClientFraming.Opcode
    /// Where its payload stands.
    package let payload: Range<Int>

    package enum Malformed: Error { case fragmented, masked, tooLong, unknown }

    /// More than the largest page.
    private static let bytesMax = 1_048_576

    /// The frame at the start of `bytes`; `nil` until it is complete.
    @inline(__always)
    package init?(_ bytes: UnsafeRawBufferPointer) throws(Malformed) {
        guard bytes.count >= 2 else { return nil }
        guard bytes[0] & 0xF0 == 0x80 else { throw .fragmented }
        guard bytes[1] & 0x80 == 0 else { throw .masked }
        self.opcode = ClientFraming.Opcode(rawValue: bytes[0] & 0x0F)
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

    /// Takes the first frame off a buffer; `nil` until it is complete.
    package static func next(
        _ buffer: inout ByteBuffer
    ) throws(Malformed) -> (opcode: ClientFraming.Opcode, payload: [UInt8])? {
        let result = buffer.withUnsafeReadableBytes { bytes in
            Result { () throws(Malformed) -> (ClientFraming.Opcode, [UInt8], Int)? in
                guard let frame = try IncomingFrame(bytes) else { return nil }
                return (frame.opcode, Array(bytes[frame.payload]), frame.payload.upperBound)
            }
        }
        guard let (opcode, payload, end) = try result.get() else { return nil }
        buffer.moveReaderIndex(forwardBy: end)
        return (opcode, payload)
    }
}
