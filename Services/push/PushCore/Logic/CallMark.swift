package import Contract

/// The result of one call's wake-up, under `Keyspace.callWake`.
package enum CallMark: Equatable, Sendable {
    /// The push was sent, or perhaps was. The ring ends then.
    case sent(until: Timestamp)
    /// The call is over: no push of its ringing goes out any more.
    case over

    package var bytes: [UInt8] {
        switch self {
        case .sent(let until): Array("sent \(until.milliseconds)".utf8)
        case .over: Array("over".utf8)
        }
    }

    package init?(_ bytes: [UInt8]) {
        let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
        if words == ["over"] {
            self = .over
        } else if words.count == 2, words[0] == "sent", let until = Int64(words[1]) {
            self = .sent(until: Timestamp(milliseconds: until))
        } else {
            return nil
        }
    }
}
