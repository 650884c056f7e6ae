package import Contract
package import NIOCore

/// Takes WebSocket frames (RFC 6455) from a client's bytes and puts messages together. No socket, no clock.
package struct WebSocketParser {
    package enum Event: Equatable {
        /// A whole text message, unmasked. Not yet checked for UTF-8.
        case text([UInt8])
        case ping([UInt8])
        case pong([UInt8])
        /// The client says goodbye, and is answered with this: `normal`, or what was wrong with its own code or reason.
        case close(CloseCode)
    }

    /// A client that does not keep to the protocol; the connection closes with this code.
    package enum Violation: Error, Equatable {
        /// 1002
        case protocolError
        /// 1003
        case binary
        /// 1009
        case tooBig

        package static let all: [Violation] = [.protocolError, .binary, .tooBig]
    }

    private enum Opcode {
        static let continuation: UInt8 = 0
        static let text: UInt8 = 1
        static let binary: UInt8 = 2
        static let close: UInt8 = 8
        static let ping: UInt8 = 9
        static let pong: UInt8 = 10
    }

    /// A control frame's payload, in bytes (RFC 6455 §5.5).
    private static let controlBytesMax = 125

    private let messageBytesMax: Int
    /// The fragments of a message that is not complete; `nil` between messages.
    private var fragments: [UInt8]?

    /// Bytes of a message that is not complete.
    package var heldBytes: Int { self.fragments?.count ?? 0 }

    package init(messageBytesMax: Int) {
        self.messageBytesMax = messageBytesMax
    }

    /// Takes the next event off `buffer`, or leaves it untouched until more has come.
    package mutating func next(_ buffer: inout ByteBuffer) throws(Violation) -> Event? {
        while true {
            guard let header = try self.header(buffer) else { return nil }
            guard buffer.readableBytes >= header.size + header.payloadBytes else { return nil }
            buffer.moveReaderIndex(forwardBy: header.size)
            let payload = Self.unmask(&buffer, count: header.payloadBytes, mask: header.mask)
            switch header.opcode {
            case Opcode.ping: return .ping(payload)
            case Opcode.pong: return .pong(payload)
            case Opcode.close: return .close(Self.answer(toClose: payload))
            case Opcode.text:
                if header.isFinal { return .text(payload) }
                self.fragments = payload
            default:
                // `header` has checked that a continuation continues something.
                self.fragments!.append(contentsOf: payload)
                guard header.isFinal else { continue }
                defer { self.fragments = nil }
                return .text(self.fragments!)
            }
        }
    }

    /// RFC 6455 §5.5.1, §7.4: a code of two bytes that may stand in a frame, and a reason in UTF-8; or nothing at all.
    private static func answer(toClose payload: [UInt8]) -> CloseCode {
        if payload.isEmpty { return .normal }
        guard payload.count >= 2 else { return .protocolError }
        switch UInt16(payload[0]) << 8 | UInt16(payload[1]) {
        // Registered, but for 1004 to 1006, which never stand in a frame; of libraries; of applications.
        case 1000...1003, 1007...1014, 3000...4999:
            return isValidUTF8(Array(payload[2...])) ? .normal : .invalidText
        default: return .protocolError
        }
    }

    private struct Header {
        var opcode: UInt8
        var isFinal: Bool
        var mask: UInt32
        /// Bytes of the header itself.
        var size: Int
        var payloadBytes: Int
    }

    private func header(_ buffer: ByteBuffer) throws(Violation) -> Header? {
        let start = buffer.readerIndex
        guard buffer.readableBytes >= 2 else { return nil }
        let first: UInt8 = buffer.getInteger(at: start)!
        let second: UInt8 = buffer.getInteger(at: start + 1)!
        let opcode = first & 0x0F
        let isFinal = first & 0x80 != 0
        // No extension was agreed on, and clients must mask (RFC 6455 §5.1, §5.2).
        guard first & 0x70 == 0, second & 0x80 != 0 else { throw .protocolError }
        try self.check(opcode, isFinal: isFinal)

        var size = 2
        var count = UInt64(second & 0x7F)
        if opcode >= Opcode.close && count > Self.controlBytesMax { throw .protocolError }
        if count == 126 {
            guard let length = buffer.getInteger(at: start + 2, as: UInt16.self) else { return nil }
            count = UInt64(length)
            size += 2
            guard count > 125 else { throw .protocolError }
        } else if count == 127 {
            guard let length = buffer.getInteger(at: start + 2, as: UInt64.self) else { return nil }
            count = length
            size += 8
            // The fewest bytes must be used, and the highest bit is 0 (RFC 6455 §5.2).
            guard (UInt64(UInt16.max) + 1)...UInt64(Int64.max) ~= count else { throw .protocolError }
        }
        let held = opcode < Opcode.close ? self.fragments?.count ?? 0 : 0
        guard count <= UInt64(self.messageBytesMax - held) else { throw .tooBig }
        guard let mask = buffer.getInteger(at: start + size, endianness: .little, as: UInt32.self) else { return nil }
        return Header(opcode: opcode, isFinal: isFinal, mask: mask, size: size + 4, payloadBytes: Int(count))
    }

    private func check(_ opcode: UInt8, isFinal: Bool) throws(Violation) {
        switch opcode {
        case Opcode.text: guard self.fragments == nil else { throw .protocolError }
        case Opcode.continuation: guard self.fragments != nil else { throw .protocolError }
        case Opcode.binary: throw self.fragments == nil ? .binary : .protocolError
        case Opcode.close, Opcode.ping, Opcode.pong: guard isFinal else { throw .protocolError }
        default: throw .protocolError
        }
    }

    /// Copies the payload out and takes the mask off, eight bytes at a time.
    private static func unmask(_ buffer: inout ByteBuffer, count: Int, mask: UInt32) -> [UInt8] {
        defer { buffer.moveReaderIndex(forwardBy: count) }
        return buffer.withUnsafeReadableBytes { source in
            [UInt8](unsafeUninitializedCapacity: count) { output, written in
                let wide = UInt64(mask) | UInt64(mask) << 32
                let target = UnsafeMutableRawBufferPointer(output)
                var index = 0
                while index + 8 <= count {
                    let word = source.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    target.storeBytes(of: UInt64(littleEndian: word) ^ wide, toByteOffset: index, as: UInt64.self)
                    index += 8
                }
                while index < count {
                    target[index] = source[index] ^ UInt8(truncatingIfNeeded: mask >> UInt32(8 * (index & 3)))
                    index += 1
                }
                written = count
            }
        }
    }
}

/// Writes the frames of a server: never masked, never fragmented.
package enum WebSocketWriter {
    package static func text(_ parts: [UInt8]..., to buffer: inout ByteBuffer) {
        let count = parts.reduce(0) { $0 + $1.count }
        Self.head(0x81, count, to: &buffer)
        for part in parts { buffer.writeBytes(part) }
    }

    package static func ping(_ payload: [UInt8], to buffer: inout ByteBuffer) {
        Self.head(0x89, payload.count, to: &buffer)
        buffer.writeBytes(payload)
    }

    /// A number as a ping's payload.
    static func payload(_ number: UInt64) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    package static func pong(_ payload: [UInt8], to buffer: inout ByteBuffer) {
        Self.head(0x8A, payload.count, to: &buffer)
        buffer.writeBytes(payload)
    }

    package static func close(_ code: UInt16, reason: String, to buffer: inout ByteBuffer) {
        let reason = Array(reason.utf8.prefix(123))
        Self.head(0x88, 2 + reason.count, to: &buffer)
        buffer.writeInteger(code)
        buffer.writeBytes(reason)
    }

    private static func head(_ first: UInt8, _ count: Int, to buffer: inout ByteBuffer) {
        buffer.writeInteger(first)
        if count < 126 {
            buffer.writeInteger(UInt8(count))
        } else if count <= UInt16.max {
            buffer.writeInteger(UInt8(126))
            buffer.writeInteger(UInt16(count))
        } else {
            buffer.writeInteger(UInt8(127))
            buffer.writeInteger(UInt64(count))
        }
    }
}
