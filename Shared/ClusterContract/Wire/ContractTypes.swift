package import Contract

/// How the contract's own types travel between services.
extension ReceiptStatus: WireCodable {
    package func encode(into writer: inout WireWriter) { writer.write(self.rawValue) }

    package init(from reader: inout WireReader) throws(WireError) {
        let value: UInt8 = try reader.read()
        guard let status = ReceiptStatus(rawValue: value) else { throw .unknown(value) }
        self = status
    }
}

extension Platform: WireCodable {
    package func encode(into writer: inout WireWriter) { writer.write(UInt8(self == .ios ? 0 : 1)) }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 0: self = .ios
        case 1: self = .android
        case let other: throw .unknown(other)
        }
    }
}

extension ErrorCode: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(UInt8(Self.allCases.firstIndex(of: self)!))
    }

    package init(from reader: inout WireReader) throws(WireError) {
        let index: UInt8 = try reader.read()
        guard Int(index) < Self.allCases.count else { throw .unknown(index) }
        self = Self.allCases[Int(index)]
    }
}

extension RateClassName: WireCodable {
    package func encode(into writer: inout WireWriter) { writer.write(self.description) }

    package init(from reader: inout WireReader) throws(WireError) {
        guard let name = RateClassName(try reader.readString()) else { throw .malformed }
        self = name
    }
}

extension ConversationID: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.uuid.high)
        writer.write(self.uuid.low)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.init(high: try reader.read(), low: try reader.read())
    }
}

extension Bytes32: WireCodable {
    package func encode(into writer: inout WireWriter) {
        self.withUnsafeBytes { bytes in
            for word in 0..<4 { writer.write(bytes.load(fromByteOffset: 8 * word, as: UInt64.self)) }
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.init()
        for word in 0..<4 {
            let value: UInt64 = try reader.read()
            self.withUnsafeMutableBytes { $0.storeBytes(of: value, toByteOffset: 8 * word, as: UInt64.self) }
        }
    }
}

extension Bytes64: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.first)
        writer.write(self.second)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.init()
        self.first = try reader.read()
        self.second = try reader.read()
    }
}

extension GuestID: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.high)
        writer.write(self.low)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.init(high: try reader.read(), low: try reader.read())
    }
}

extension LiveStreamState: WireCodable {
    package func encode(into writer: inout WireWriter) {
        let number: UInt8 =
            switch self {
            case .idle: 0
            case .live: 1
            case .paused: 2
            }
        writer.write(number)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        let number: UInt8 = try reader.read()
        switch number {
        case 0: self = .idle
        case 1: self = .live
        case 2: self = .paused
        default: throw .unknown(number)
        }
    }
}

extension LiveEnding: WireCodable {
    package func encode(into writer: inout WireWriter) {
        let number: UInt8 =
            switch self {
            case .stopped: 0
            case .timeout: 1
            case .deleted: 2
            }
        writer.write(number)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        let number: UInt8 = try reader.read()
        switch number {
        case 0: self = .stopped
        case 1: self = .timeout
        case 2: self = .deleted
        default: throw .unknown(number)
        }
    }
}

extension LivePoint: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.content)
        writer.write(self.position.epoch)
        writer.write(self.position.seq)
        writer.write(Int64(self.line))
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.init(
            content: try reader.read(),
            position: LivePosition(epoch: try reader.read(), seq: try reader.read()),
            line: Int(try reader.read(Int64.self)))
    }
}

extension PrincipalID: WireCodable {
    package func encode(into writer: inout WireWriter) {
        switch self {
        case .identity(let identity):
            writer.write(UInt8(0))
            writer.write(identity)
        case .guest(let guest):
            writer.write(UInt8(1))
            writer.write(guest)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        let kind: UInt8 = try reader.read()
        switch kind {
        case 0: self = .identity(try reader.read())
        case 1: self = .guest(try reader.read())
        default: throw .malformed
        }
    }
}

extension Timestamp: WireCodable {
    package func encode(into writer: inout WireWriter) { writer.write(self.milliseconds) }
    package init(from reader: inout WireReader) throws(WireError) {
        self.init(milliseconds: try reader.read())
    }
}

extension UUIDText: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.high)
        writer.write(self.low)
        writer.write(self.upperCase)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.init(high: try reader.read(), low: try reader.read(), upperCase: try reader.read())
    }
}

extension WhisperID: WireCodable {
    package func encode(into writer: inout WireWriter) { writer.write(self.bits) }

    package init(from reader: inout WireReader) throws(WireError) {
        guard let id = WhisperID(bits: try reader.read()) else { throw .malformed }
        self = id
    }
}

extension Refusal: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.code)
        writer.write(self.message)
        // A reason is a number below -1, which processes of older releases read as no time to wait.
        let reason = self.reason.map { -2 - Int64(RefusalReason.allCases.firstIndex(of: $0)!) }
        writer.write(self.retryAfterMilliseconds ?? reason ?? -1)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        let (code, message): (ErrorCode, String) = (try reader.read(), try reader.readString())
        let retryAfter: Int64 = try reader.read()
        self.init(code, message, retryAfterMilliseconds: retryAfter < 0 ? nil : retryAfter)
        // A reason of a newer release is left out.
        let reasons = RefusalReason.allCases
        self.reason = (-1 - Int64(reasons.count)...(-2)).contains(retryAfter) ? reasons[Int(-2 - retryAfter)] : nil
    }
}

extension PresenceState: WireCodable {
    package func encode(into writer: inout WireWriter) {
        switch self {
        case .online: writer.write(UInt8(1))
        case .offline(let lastSeen):
            writer.write(UInt8(2))
            writer.write(lastSeen)
        }
    }

    package init(from reader: inout WireReader) throws(WireError) {
        switch try reader.read(UInt8.self) {
        case 1: self = .online
        case 2: self = .offline(lastSeen: try reader.read())
        case let other: throw .unknown(other)
        }
    }
}
