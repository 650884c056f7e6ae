package import NIOCore

/// Looks for the client's close frame in what comes after the server's (RFC 6455 §7.1.1). Keeps nothing else: payloads
/// are skipped by their length. No socket, no clock.
package struct ClosingReader {
    private enum Stage {
        case header
        /// - left: bytes of the frame that are still to be skipped.
        case payload(left: UInt64, isClose: Bool)
        /// Nobody knows where a frame begins: all is skipped.
        case unreadable
    }

    private static let closeOpcode: UInt8 = 8

    private var stage: Stage
    /// Bytes that may still be read.
    private var bytesLeft: Int

    /// - Parameter isReadable: what comes begins with a frame. Not so after an error in the protocol.
    package init(isReadable: Bool, bytesMax: Int = GatewayLimits.closingBytesMax) {
        self.stage = isReadable ? .header : .unreadable
        self.bytesLeft = bytesMax
    }

    /// Takes all off `buffer` but a header that is not complete.
    /// - Returns: whether the client has said close, or sent more than it may.
    package mutating func isOver(_ buffer: inout ByteBuffer) -> Bool {
        while self.bytesLeft >= 0 {
            switch self.stage {
            case .header:
                guard let (size, stage) = Self.header(buffer) else { return false }
                self.skip(size, of: &buffer)
                self.stage = stage
            case .payload(let left, let isClose):
                let count = Int(min(left, UInt64(buffer.readableBytes)))
                self.skip(count, of: &buffer)
                guard UInt64(count) == left else {
                    self.stage = .payload(left: left - UInt64(count), isClose: isClose)
                    return self.bytesLeft < 0
                }
                if isClose { return true }
                self.stage = .header
            case .unreadable:
                self.skip(buffer.readableBytes, of: &buffer)
                return self.bytesLeft < 0
            }
        }
        return true
    }

    private mutating func skip(_ count: Int, of buffer: inout ByteBuffer) {
        buffer.moveReaderIndex(forwardBy: count)
        self.bytesLeft -= count
    }

    /// - Returns: the size of the header up to its mask, and what follows it; `nil` if it is not complete.
    private static func header(_ buffer: ByteBuffer) -> (size: Int, Stage)? {
        let start = buffer.readerIndex
        guard let first = buffer.getInteger(at: start, as: UInt8.self),
            let second = buffer.getInteger(at: start + 1, as: UInt8.self)
        else { return nil }
        var size = 2
        var count = UInt64(second & 0x7F)
        if count == 126 {
            guard let length = buffer.getInteger(at: start + 2, as: UInt16.self) else { return nil }
            count = UInt64(length)
            size += 2
        } else if count == 127 {
            guard let length = buffer.getInteger(at: start + 2, as: UInt64.self) else { return nil }
            count = length
            size += 8
        }
        let mask: UInt64 = second & 0x80 == 0 ? 0 : 4
        // More than anybody can send, either way.
        let left = min(count, .max - mask) + mask
        return (size, .payload(left: left, isClose: first & 0x0F == Self.closeOpcode))
    }
}
