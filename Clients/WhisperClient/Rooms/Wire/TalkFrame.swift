package import Contract

/// A message of a person in a room.
package struct TalkMessage: Hashable, Sendable {
    package var id: UUIDText
    /// By the clock of its author.
    package var time: Timestamp
    package var text: String
    /// The message that it answers.
    package var answered: UUIDText?

    package init(id: UUIDText, time: Timestamp, text: String, answered: UUIDText? = nil) {
        (self.id, self.time, self.text, self.answered) = (id, time, text, answered)
    }
}

/// One message of the channel `talk`: a JSON object (docs/rooms.md).
package enum TalkFrame: Hashable, Sendable {
    /// The first one on each connection, once.
    /// - Parameter epoch: names the life of the program. It remembers nothing of an earlier one.
    case hello(name: String?, epoch: [UInt8])
    case say(TalkMessage)
    /// These messages are shown there.
    case got([UUIDText])
    /// The other one leaves, and comes back by no connection.
    case bye
    /// A kind of a later release.
    case unknown

    /// - Returns: `nil` if the text is malformed.
    package init?(_ text: String) {
        guard text.utf8.count <= TalkLimits.messageBytesMax, case .object(let json)? = JSONText(Array(text.utf8)),
            let kind = json.string("t")
        else { return nil }
        switch kind {
        case "hello":
            guard let version = json.integer("v"), version > 0, json.strings("have") != nil,
                let epoch = json.string("epoch").flatMap({ Base64.decode($0) }), epoch.count == TalkLimits.epochBytes
            else { return nil }
            let name = json.string("name")
            guard json["name"] == nil || name.map(TalkName.isAllowed) ?? false else { return nil }
            self = .hello(name: name.flatMap(TalkName.cleaned), epoch: epoch)
        case "say":
            guard let id = json.string("id").flatMap(Self.id), let time = json.integer("at"), time >= 0,
                let text = json.string("text"), text.utf8.count <= TalkLimits.textBytesMax
            else { return nil }
            let answered = json.string("re").flatMap(Self.id)
            guard json["re"] == nil || answered != nil else { return nil }
            let at = Timestamp(milliseconds: time)
            self = .say(TalkMessage(id: id, time: at, text: text, answered: answered))
        case "got":
            guard let ids = json.strings("ids")?.map(Self.id), 1...TalkLimits.receiptsMax ~= ids.count,
                !ids.contains(nil)
            else { return nil }
            self = .got(ids.compactMap(\.self))
        case "bye": self = .bye
        default: self = .unknown
        }
    }

    private static func id(_ text: String) -> UUIDText? {
        UUIDText(text).flatMap { $0.upperCase == 0 ? $0 : nil }
    }

    /// As it goes over the channel.
    package var text: String {
        var json = JSONWriter()
        switch self {
        case .hello(let name, let epoch):
            json.add("t", "hello")
            json.add("v", Int64(1))
            json.add("name", name)
            json.add("have", strings: [])
            json.add("epoch", base64: epoch)
        case .say(let message):
            json.add("t", "say")
            json.add("id", message.id)
            json.add("at", message.time)
            json.add("text", message.text)
            if let answered = message.answered { json.add("re", answered) }
        case .got(let ids):
            json.add("t", "got")
            json.add("ids", strings: ids.map { "\($0)" })
        case .bye: json.add("t", "bye")
        case .unknown: json.add("t", "")
        }
        return String(decoding: json.finished(), as: UTF8.self)
    }
}

/// The name by which a participant wants to be seen. The server never learns it, and nobody vouches for it.
package enum TalkName {
    static func isAllowed(_ name: String) -> Bool { TalkLimits.nameScalars.contains(name.unicodeScalars.count) }

    /// Without scalars that a screen obeys or does not show, and no longer than a name may be. The pages do the same (`nameOf`).
    /// - Returns: `nil` if nothing is left.
    package static func cleaned(_ name: String) -> String? {
        let kept = name.unicodeScalars.filter {
            switch $0.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
        let isSpace = { (scalar: Unicode.Scalar) in scalar.properties.isWhitespace }
        guard let start = kept.firstIndex(where: { !isSpace($0) }), let end = kept.lastIndex(where: { !isSpace($0) })
        else { return nil }
        return String(String.UnicodeScalarView(kept[start...end].prefix(TalkLimits.nameScalars.upperBound)))
    }
}

extension JSONMembers {
    fileprivate func integer(_ name: String) -> Int64? {
        self[name].flatMap { Int64(String(decoding: $0, as: UTF8.self)) }
    }

    /// - Returns: `nil` if it is no array, or one of its elements is no string.
    fileprivate func strings(_ name: String) -> [String]? {
        guard let text = self[name], case .array(let texts)? = JSONText(text) else { return nil }
        let strings = texts.map { JSONText(Array(#"{"one":"#.utf8) + $0 + [UInt8(ascii: "}")])?.one }
        return strings.contains(nil) ? nil : strings.compactMap(\.self)
    }
}

extension JSONText {
    fileprivate var one: String? { if case .object(let members) = self { members.string("one") } else { nil } }
}
