import Contract
import Contract
import TerminalText
import WhisperClient
import WhisperCore

/// Words for a whisperer.
/// - Parameter hint: how to decide about who asks to listen.
/// - Returns: `nil` for what is nothing to people.
func describe(_ news: LiveNews, hint: (PrincipalID) -> String) -> String? {
    switch news {
    case .started(let isResumed): isResumed ? "● The stream goes on." : "● You are live."
    case .stopped(.stopped): "○ The stream has ended."
    case .stopped(.takenOver): "○ Another device of yours has the stream now."
    case .stopped(.removed): "○ This device may not whisper here any more."
    case .asks(let caller, let name, let note):
        "? \(harmlessLine(name)) asks to listen (\(caller))." + (note.map { " \"\(harmlessLine($0))\"" } ?? "")
            + " \(hint(caller))"
    case .listener(_, let name, .joined, let joined): "+ \(harmlessLine(name)) listens (\(listening(joined)))."
    case .listener(_, let name, .left, let joined): "- \(harmlessLine(name)) has left (\(listening(joined)))."
    case .listener(_, let name, .refused, _): "- \(harmlessLine(name)) was declined."
    case .listener(_, let name, .blocked, _): "- \(harmlessLine(name)) is blocked."
    case .listener: nil
    case .attention(_, let name, .hand): "! \(harmlessLine(name)) raises a hand."
    case .attention(_, let name, .repeat): "! \(harmlessLine(name)) asks you to say it again."
    case .attention(_, let name, .slower): "! \(harmlessLine(name)) asks you to go slower."
    case .keysChanged(let generation): "● New keys are in use (number \(generation))."
    case .refused(let code): "✗ The server refuses the stream (\(code.rawValue))."
    case .said, .waiting, .joined, .state, .heard, .over: nil
    }
}

private func listening(_ count: Int) -> String {
    switch count {
    case 0: "nobody listens"
    case 1: "1 listens"
    default: "\(count) listen"
    }
}

/// Words for a listener, but for the text itself.
func describe(_ news: LiveNews, whisperer: String) -> String? {
    let name = harmlessLine(whisperer)
    return switch news {
    case .waiting: "○ Waiting for \(name) to let you in."
    case .joined(.live, let isTranscribed): "● Connected." + (isTranscribed ? " Lines are kept." : "")
    case .joined(.paused, _): "○ Connected. \(name) is away for the moment."
    case .joined(.idle, _): "○ Connected. \(name) has not begun yet."
    case .state(.live): "● \(name) is live."
    case .state(.paused): "○ \(name) is away for the moment."
    case .state(.ended): "○ \(name) has ended. You will hear the next time from here on."
    case .heard(.missing(let lines)):
        lines.count == 1
            ? "… line \(lines.lowerBound) is missing"
            : "… lines \(lines.lowerBound) to \(lines.upperBound) are missing"
    case .heard(.cue(.sound(let sound))): "♪ \(sound.rawValue)"
    case .heard(.cue(.say(let text))): "♪ \(harmlessLine(text.string))"
    case .heard(.cue(.transcript)): "♪ \(name) shares a transcript."
    default: nil
    }
}

func describe(_ end: ListeningMachine.End, whisperer: String, note: String?) -> String {
    let name = harmlessLine(whisperer)
    let words: String =
        switch end {
        case .notFound: "This link is incomplete or has expired."
        case .forbidden: "\(name) does not let you knock."
        case .broken: "The server does not take what this client says."
        case .refused(.declined): "\(name) does not let you in."
        case .refused(.passcode): "The passcode is wrong."
        case .refused(.removed): "\(name) removed you."
        case .refused(.expired): "Nobody has let you in. Knock again later."
        case .refused(.deleted): "The conversation is no more."
        }
    return words + (note.map { " \"\(harmlessLine($0))\"" } ?? "")
}

func describe(_ error: LiveError) -> String {
    switch error {
    case .offline: "There is no session with the server yet."
    case .inUse: "Conversations of this profile are here."
    case .changed: "Another device was faster."
    case .outdated: "The server shows something old."
    case .unreadable: "The server has something that no key here opens."
    case .newer: "A later release has written it."
    case .noAnswer: "The server does not answer."
    case .refused(let code, _): "The server refuses (\(code?.rawValue ?? "unknown"))."
    case .server(let status): "The server answered strangely (\(status)); try again later."
    case .unreachable(.unreachable(let why)): "Can't reach the server: \(why)."
    case .unreachable: "Can't reach the server."
    case .notFound: "This link is incomplete or has expired."
    case .forged: "DANGER: what the server shows is not what the link names. Nothing was sent."
    case .nameTaken: "You have a conversation of this name already."
    case .tooLong: "The transcript has more keys than one link can give."
    case .store: "The local store cannot be written (is the disk full?)."
    }
}

/// What the core says of a conversation that is not listened to.
func describe(listening refusal: CoreClient.Refusal) -> String {
    switch CoreError.Code(rawValue: refusal.code) {
    case .notFound: describe(LiveError.notFound)
    case .foreignKeys: describe(LiveError.forged)
    case .invalidField where refusal.field == "link": "That is a link of another server."
    case .busy: "Another program of this profile listens to it already."
    default: describe(live: refusal)
    }
}

/// What the core says to a whisperer.
func describe(whispering refusal: CoreClient.Refusal) -> String {
    switch CoreError.Code(rawValue: refusal.code) {
    case .notFound where refusal.field == "listener": "They are not here any more."
    case .notFound: "The stream is over: another program has ended it."
    case .busy: "Another program of this profile whispers there already."
    default: describe(live: refusal)
    }
}

/// What the core says of a conversation of the user's own that was not changed.
func describe(live refusal: CoreClient.Refusal) -> String {
    switch CoreError.Code(rawValue: refusal.code) {
    case .notFound: "The server has no such lines or share: they were deleted, or their time is over."
    case .offline: describe(LiveError.offline)
    case .unreachable: "Can't reach the server."
    case .server: "The server answered strangely; try again later."
    case .tooLong: describe(LiveError.tooLong)
    case .nameTaken: describe(LiveError.nameTaken)
    default: refusal.words
    }
}

/// A conversation of the user's own, in a list.
func describe(_ own: ListedConversation) -> String {
    let name = own.title == own.name ? "" : " (\(harmlessLine(own.title)))"
    let state =
        switch own.state {
        case .live: "live"
        case .paused: "paused"
        case .idle: "nobody whispers"
        case nil: "never whispered in"
        }
    let kept = own.transcriptDays == 0 ? "lines are not kept" : "lines are kept for \(own.transcriptDays) d"
    return "\(harmlessLine(own.name))\(name): \(state), \(own.admission), \(kept)"
}

func describe(_ transcript: ListedTranscript) -> String {
    let end = transcript.endedAt.map { "to \(day($0))" } ?? "goes on"
    let lines = transcript.lines == 1 ? "1 line" : "\(transcript.lines) lines"
    let time = "\(day(transcript.startedAt)) \(end)"
    return "\(transcript.content)  \(time), \(lines), kept until \(day(transcript.expiresAt))"
}
