import Contract

/// A frame of the server, looked into without a parser: the texts in it hold no escapes, for nobody here writes any.
struct ServerText {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The value behind the first name of this kind at or behind `start`.
    func text(_ name: String, from start: Int = 0) -> String? {
        guard let (value, end) = self.value(name, from: start) else { return nil }
        return String(decoding: self.bytes[value..<end], as: UTF8.self)
    }

    private func value(_ name: String, from start: Int) -> (start: Int, end: Int)? {
        let pattern = Array("\"\(name)\":\"".utf8)
        guard let found = self.bytes[start...].firstRange(of: pattern),
            let end = self.bytes[found.upperBound...].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return (found.upperBound, end)
    }

    /// The value behind the first name of this kind that has a whole number.
    func number(_ name: String) -> Int64? {
        guard let found = self.bytes.firstRange(of: Array("\"\(name)\":".utf8)) else { return nil }
        return Int64(String(decoding: self.bytes[found.upperBound...].prefix { (48...57).contains($0) }, as: UTF8.self))
    }

    /// Messages in the frame: their ids and senders, in order.
    var messages: [(id: UUIDText, sender: WhisperID)] {
        var messages: [(UUIDText, WhisperID)] = []
        var place = 0
        while let (start, end) = self.value("messageId", from: place) {
            place = end
            guard let id = UUIDText(ascii: self.bytes[start..<end]),
                let sender = self.text("from", from: end).flatMap({ WhisperID($0) })
            else { break }
            messages.append((id, sender))
        }
        return messages
    }
}
