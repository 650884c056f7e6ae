import Glibc

/// A text message from the server, looked at with byte searches: reading JSON would cost more than the servers do.
/// Valid only during the call that hands it over.
struct ServerFrame {
    enum Kind {
        case accepted, received, delivered, expired, pending, group, error, other
    }

    let bytes: UnsafeRawBufferPointer

    private static let head: StaticString = #"{"type":""#
    private static let kinds: [(name: StaticString, kind: Kind)] = [
        ("message_received\"", .received), ("message_accepted\"", .accepted), ("message_delivered\"", .delivered),
        ("pending_messages\"", .pending), ("error\"", .error), ("message_expired\"", .expired),
        ("group_event\"", .group),
    ]

    /// By the type, which our server writes first.
    var kind: Kind {
        guard self.has(Self.head, at: 0) else { return .other }
        for (name, kind) in Self.kinds where self.has(name, at: Self.head.utf8CodeUnitCount) { return kind }
        return .other
    }

    private func has(_ text: StaticString, at offset: Int) -> Bool {
        self.bytes.count >= offset + text.utf8CodeUnitCount
            && memcmp(self.bytes.baseAddress! + offset, text.utf8Start, text.utf8CodeUnitCount) == 0
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
}
