import Contract
import Glibc

/// A text message from the server, looked at with byte searches: reading JSON would cost more than the servers do.
/// Valid only during the call that hands it over.
struct FrameBytes {
    enum Kind {
        case accepted, received, delivered, expired, pending, group, error, other
    }

    let bytes: UnsafeRawBufferPointer

    /// How a frame of each kind begins: our server writes the type first.
    private static let kinds: [(start: [UInt8], kind: Kind)] = [
        (Self.start(of: MessageReceived.type), .received), (Self.start(of: MessageAccepted.type), .accepted),
        (Self.start(of: MessageDelivered.type), .delivered), (Self.start(of: PendingMessages.type), .pending),
        (Self.start(of: ErrorFrame.type), .error), (Self.start(of: MessageExpired.type), .expired),
        (Self.start(of: GroupEvent.type), .group),
    ]

    static func start(of type: String) -> [UInt8] { Array(#"{"type":"\#(type)""#.utf8) }

    var kind: Kind {
        for (start, kind) in Self.kinds where self.begins(with: start) { return kind }
        return .other
    }

    func begins(with start: [UInt8]) -> Bool {
        start.withUnsafeBytes {
            self.bytes.count >= $0.count && memcmp(self.bytes.baseAddress!, $0.baseAddress!, $0.count) == 0
        }
    }

    /// The first `messageId`.
    var message: MessageNumber? {
        guard let start = self.bytes.end(of: Self.messageID) else { return nil }
        return MessageNumber(text: self.bytes, at: start)
    }

    private static let messageID: StaticString = #""messageId":""#

    /// Every `messageId` of a page, in order.
    func forEachMessage(_ body: (MessageNumber?) -> Void) {
        var offset = 0
        while let start = self.bytes.end(of: Self.messageID, from: offset) {
            body(MessageNumber(text: self.bytes, at: start))
            offset = start + MessageNumber.textLength
        }
    }

    /// A member of type string.
    /// - Parameter member: name and quotes, such as `"nextCursor":"`.
    func text(_ member: StaticString) -> String? {
        guard let start = self.bytes.end(of: member),
            let end = self.bytes[start...].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return String(decoding: self.bytes[start..<end], as: UTF8.self)
    }

    /// A member that is an integer of at least 0.
    /// - Parameter member: name and colon, such as `"epoch":`.
    func integer(_ member: StaticString) -> Int? { self.integers(member).first }

    /// A member that is an array of such integers.
    /// - Parameter member: name, colon and bracket, such as `"lines":[`.
    func integers(_ member: StaticString) -> [Int] {
        guard let start = self.bytes.end(of: member) else { return [] }
        var numbers: [Int] = []
        var number: Int?
        for byte in self.bytes[start...] {
            if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                number = (number ?? 0) * 10 + Int(byte - UInt8(ascii: "0"))
            } else {
                if let number { numbers.append(number) }
                number = nil
                guard byte == UInt8(ascii: ",") else { break }
            }
        }
        return numbers
    }
}
