package import Contract
import FoundationEssentials

/// The sealed content of a packet: JSON `{"p": […], "n"?: …, "sig"?: …}`, padded with spaces (contract §14.9).
package struct PacketPlaintext: Hashable, Sendable {
    package var content: LiveContent
    /// The conversation's signature of a line.
    package var signature: [UInt8]?

    package init(_ content: LiveContent, signature: [UInt8]? = nil) {
        self.content = content
        self.signature = signature
    }

    package var bytes: [UInt8] {
        var json = Array(#"{"p":["#.utf8)
        for (number, packet) in self.content.packets.enumerated() {
            if number > 0 { json.append(UInt8(ascii: ",")) }
            Self.append(packet, to: &json)
        }
        json.append(UInt8(ascii: "]"))
        if let count = self.content.count { json += #","n":\#(count)"#.utf8 }
        if let signature = self.signature {
            json += #","sig":""#.utf8
            json += Base64.encode(signature)
            json.append(UInt8(ascii: "\""))
        }
        json.append(UInt8(ascii: "}"))
        let padding = (-json.count % LiveLimits.paddingBytes + LiveLimits.paddingBytes) % LiveLimits.paddingBytes
        return json + [UInt8](repeating: UInt8(ascii: " "), count: padding)
    }

    /// - Parameter kind: as the header says.
    /// - Returns: `nil` if the bytes break contract §14.9.
    package init?(_ bytes: [UInt8], kind: LivePacketKind) {
        struct Members: Decodable {
            var p: [String]
            var n: Int?
            var sig: String?
        }
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(bytes)),
            let content = LiveContent(members.p, count: members.n, kind: kind)
        else { return nil }
        if let text = members.sig {
            guard let signature = Base64.decode(text), signature.count == Limits.signatureBytes else { return nil }
            self.signature = signature
        }
        self.content = content
    }

    /// Writes the shortest escapes, as `LiveText` counts them.
    private static func append(_ text: String, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): json += [UInt8(ascii: "\\"), byte]
            case UInt8(ascii: "\t"): json += [UInt8(ascii: "\\"), UInt8(ascii: "t")]
            default: json.append(byte)
            }
        }
        json.append(UInt8(ascii: "\""))
    }
}

/// Numbers before the `|` that are not offsets.
private enum ControlOffset {
    static let line = -2
    static let snapshot = -3
    static let sound = -7
    static let say = -8
    static let transcript = -50
}

extension LiveContent {
    /// Each has the form `offset|data`.
    fileprivate var packets: [String] {
        switch self {
        case .snapshot(let text, _): ["\(ControlOffset.snapshot)|\(text.string)"]
        case .diff(let edits, _): edits.map { "\($0.offset)|\($0.text.string)" }
        case .line(let text): ["\(ControlOffset.line)|\(text.string)"]
        case .cue(.sound(let sound)): ["\(ControlOffset.sound)|\(sound.rawValue)"]
        case .cue(.say(let text)): ["\(ControlOffset.say)|\(text.string)"]
        case .cue(.transcript(let transcript)):
            ["\(ControlOffset.transcript)|\(transcript.share)#\(Base64URL.encode(transcript.secret))"]
        }
    }

    fileprivate var count: Int? {
        switch self {
        case .snapshot(_, let count), .diff(_, let count): count
        case .line, .cue: nil
        }
    }

    fileprivate init?(_ packets: [String], count: Int?, kind: LivePacketKind) {
        // Split by scalars: a combining mark after the bar forms one character with it.
        let parts = packets.compactMap { packet -> (offset: Int, data: Substring)? in
            let scalars = packet.unicodeScalars
            guard let bar = scalars.firstIndex(of: "|"), let offset = Int(packet[..<bar]),
                "\(offset)" == packet[..<bar]
            else { return nil }
            return (offset, Substring(scalars[scalars.index(after: bar)...]))
        }
        guard parts.count == packets.count, let first = parts.first, parts.count == 1 || kind == .diff else {
            return nil
        }
        switch (kind, first.offset) {
        case (.diff, _):
            let edits = parts.compactMap { part in
                part.offset < 0 ? nil : LiveText(part.data).map { TextEdit(offset: part.offset, text: $0) }
            }
            guard let count, edits.count == parts.count, LiveLimits.editsPerDiff.contains(edits.count) else {
                return nil
            }
            self = .diff(edits, count: count)
        case (.snapshot, ControlOffset.snapshot):
            guard let count, let text = LiveText(first.data) else { return nil }
            self = .snapshot(text, count: count)
        case (.line, ControlOffset.line):
            guard let text = LiveText(first.data) else { return nil }
            self = .line(text)
        case (.cue, ControlOffset.sound): self = .cue(.sound(LiveSound(name: first.data)))
        case (.cue, ControlOffset.say):
            guard let text = LiveText(first.data) else { return nil }
            self = .cue(.say(text))
        case (.cue, ControlOffset.transcript):
            let halves = first.data.split(separator: "#", omittingEmptySubsequences: false)
            guard halves.count == 2, let share = UUIDText(String(halves[0])), share.upperCase == 0,
                let secret = Base64URL.decode(halves[1]), secret.count == LiveLimits.shareSecretBytes
            else { return nil }
            self = .cue(.transcript(SharedTranscript(share: share, secret: secret)))
        default: return nil
        }
    }
}
