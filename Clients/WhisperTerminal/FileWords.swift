import TerminalText
import WhisperClient

/// A file that goes into a chat or comes out of it.
enum ChatFile {
    /// By the end of a name. The server sees it, and has other bounds for pictures and sounds than for the rest.
    static func type(of path: String) -> String {
        let types = [
            "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
            "mp3": "audio/mpeg", "ogg": "audio/ogg", "wav": "audio/wav", "mp4": "video/mp4", "pdf": "application/pdf",
        ]
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return "application/octet-stream" }
        return types[name[dot...].dropFirst().lowercased()] ?? "application/octet-stream"
    }

    /// - Parameter folder: the one in which the person is.
    static func absolute(_ path: String, in folder: String) -> String {
        path.hasPrefix("/") ? path : folder + "/" + path
    }
}

/// A message with its file, and what others think of it.
func shown(_ message: Message) -> String {
    guard message.content != .deleted else { return shown(message.content) }
    let reactions = message.reactions.map { " [\(harmlessLine($0.text))]" }.joined()
    let marks = (message.isMentioned ? " (names you)" : "") + (message.isEdited ? " (edited)" : "")
    return content(of: message) + marks + reactions
}

private func content(of message: Message) -> String {
    if let poll = message.poll { return shown(message.content) + words(of: poll) }
    guard let attachment = message.attachment else { return shown(message.content) }
    let file = "[\(describe(attachment.details))\(words(of: attachment.state))]"
    guard case .text(let text) = message.content, !text.isEmpty else { return file }
    return "\(file) \(harmless(text))"
}

func describe(_ details: FileDetails) -> String {
    let name =
        details.voice.map { "voice message \(length($0))" } ?? details.name.map { harmlessLine($0) } ?? "a file"
    return "\(name), \(size(of: details.size))" + (details.isUnsigned ? ", not signed" : "")
}

/// Minutes and seconds, begun seconds counted.
private func length(_ voice: VoiceNote) -> String {
    let seconds = (voice.durationMs + 999) / 1_000
    return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
}

/// The options with their numbers, for `/vote`, and how many have chosen each.
private func words(of poll: Poll) -> String {
    let options = poll.options.enumerated().map { place, option in
        let count = poll.votes.count { $0.choices.contains(place) }
        return "\(place + 1) \(harmlessLine(option)): \(count)"
    }
    let kind = poll.isMany ? "poll, choose any" : "poll"
    return " [\(kind): \(options.joined(separator: " · "))]"
}

private func words(of state: Attachment.State) -> String {
    switch state {
    case .offered, .complete, .kept: ""
    case .waiting: ", on its way"
    case .failed(let failure): ": \(describe(failure))"
    }
}

private func size(of bytes: Int64) -> String {
    if bytes < 1_000 { return "\(bytes) B" }
    if bytes < 1_000_000 { return "\(bytes / 1_000) KB" }
    return "\(bytes / 1_000_000).\(bytes % 1_000_000 / 100_000) MB"
}

func describe(_ failure: FileFailure) -> String {
    switch failure {
    case .tooLarge: "the server takes no file of this size"
    case .quota: "the server keeps no more files of yours"
    case .gone: "the server has it no more"
    case .forbidden: "the server does not give it to you"
    case .damaged: "it is not what its sender has sealed"
    case .unreadable: "this device cannot read or write it"
    case .rejected: "the server did not take it"
    case .triedTooOften: "tried too often without success"
    }
}
