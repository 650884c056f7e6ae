import NIOCore

/// What a WebSocket client puts on the wire (RFC 6455 §5.2), right or wrong.
package enum ClientFraming {
    package enum Opcode: UInt8, Sendable {
        case continuation = 0
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10
    }

    /// - Parameters:
    ///   - isFinal: false for a fragment that others follow.
    ///   - isMasked: clients must; a test may not.
    package static func frame(
        _ opcode: Opcode, _ payload: some Collection<UInt8>, isFinal: Bool = true, isMasked: Bool = true,
        reservedBits: UInt8 = 0
    ) -> [UInt8] {
        let payload = ContiguousArray(payload)
        let count = payload.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(14 + count)
        bytes.append((isFinal ? 0x80 : 0) | reservedBits | opcode.rawValue)
        let maskBit: UInt8 = isMasked ? 0x80 : 0
        if count < 126 {
            bytes.append(maskBit | UInt8(count))
        } else if count <= UInt16.max {
            bytes.append(maskBit | 126)
            bytes += [UInt8(count >> 8), UInt8(count & 0xFF)]
        } else {
            bytes.append(maskBit | 127)
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
        }
        guard isMasked else { return bytes + payload }
        let mask = (0..<4).map { _ in UInt8.random(in: .min ... .max) }
        bytes += mask
        for index in 0..<count { bytes.append(payload[index] ^ mask[index & 3]) }
        return bytes
    }
}

/// Takes the frames of a server, which are never masked, off what has arrived.
struct ServerFrameParser {
    struct Malformed: Error {}

    /// - Returns: nil until a whole frame is there. Every frame is final: this server does not fragment.
    static func next(_ buffer: inout ByteBuffer) throws(Malformed) -> (opcode: ClientFraming.Opcode, payload: [UInt8])? {
        let start = buffer.readerIndex
        guard let first: UInt8 = buffer.getInteger(at: start), let second: UInt8 = buffer.getInteger(at: start + 1)
        else { return nil }
        guard first & 0xF0 == 0x80, second & 0x80 == 0, let opcode = ClientFraming.Opcode(rawValue: first & 0x0F)
        else { throw Malformed() }
        var (head, count) = (2, Int(second))
        if second == 126 {
            guard let length: UInt16 = buffer.getInteger(at: start + 2) else { return nil }
            (head, count) = (4, Int(length))
        } else if second == 127 {
            guard let length: UInt64 = buffer.getInteger(at: start + 2) else { return nil }
            (head, count) = (10, Int(length))
        }
        guard buffer.readableBytes >= head + count else { return nil }
        buffer.moveReaderIndex(forwardBy: head)
        return (opcode, buffer.readBytes(length: count)!)
    }
}
