import Contract
import Glibc

/// A frame of the server, looked into without a parser: the texts in it hold no escapes, for nobody here writes any.
struct ServerText {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The value behind the first name of this kind at or behind `start`.
    func text(_ name: StaticString, from start: Int = 0) -> String? {
        guard let value = self.value(name, from: start) else { return nil }
        return String(decoding: self.bytes[value], as: UTF8.self)
    }

    private func value(_ name: StaticString, from start: Int) -> Range<Int>? {
        guard let start = self.end(of: name, followedBy: "\":\"", from: start),
            let end = self.bytes[start...].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return start..<end
    }

    /// The value behind the first name of this kind that has a whole number.
    func number(_ name: StaticString) -> Int64? {
        guard let start = self.end(of: name, followedBy: "\":", from: 0) else { return nil }
        return Int64(String(decoding: self.bytes[start...].prefix { (48...57).contains($0) }, as: UTF8.self))
    }

    /// Messages in the frame: their ids and senders, in order.
    var messages: [(id: UUIDText, sender: WhisperID)] {
        var messages: [(UUIDText, WhisperID)] = []
        var place = 0
        while let value = self.value("messageId", from: place) {
            place = value.upperBound
            guard let id = UUIDText(ascii: self.bytes[value]),
                let sender = self.text("from", from: place).flatMap({ WhisperID($0) })
            else { break }
            messages.append((id, sender))
        }
        return messages
    }

    /// Where the first name that is quoted and followed so is over, with what follows.
    private func end(of name: StaticString, followedBy rest: StaticString, from start: Int) -> Int? {
        let (count, restCount) = (name.utf8CodeUnitCount, rest.utf8CodeUnitCount)
        return self.bytes.withUnsafeBytes { bytes in
            // Nothing is read behind the end.
            let last = bytes.count - 1 - count - restCount
            var quote = start
            while quote <= last {
                defer { quote += 1 }
                guard bytes[quote] == UInt8(ascii: "\"") else { continue }
                let text = bytes.baseAddress! + quote + 1
                guard memcmp(text, name.utf8Start, count) == 0, memcmp(text + count, rest.utf8Start, restCount) == 0 else { continue }
                return quote + 1 + count + restCount
            }
            return nil
        }
    }
}
