import Contract
import WhisperClient

extension JSONMembers {
    /// - Returns: `nil` also for what a later release has added.
    func choice<Choice: RawRepresentable<String>>(_ name: String) -> Choice? {
        self.string(name).flatMap { Choice(rawValue: $0) }
    }

    /// Somebody, and how they call themselves.
    var listener: (id: PrincipalID, name: String)? {
        guard let id = self.string("listener").flatMap({ PrincipalID($0) }), let name = self.string("name") else {
            return nil
        }
        return (id, name)
    }

    fileprivate var liveText: LiveText? { self.string("text").flatMap { LiveText($0) } }
}

extension ClientEvent {
    /// - Returns: `nil` for what is no event of a live conversation.
    static func live(_ json: JSONMembers) -> ClientEvent? {
        guard let id = json.string("conversationId").flatMap({ ConversationID($0) }) else { return nil }
        return (LiveNews(whisperer: json) ?? LiveNews(listener: json)).map { .live(id, $0) }
    }
}

extension LiveNews {
    /// Reads events of our own conversations.
    fileprivate init?(whisperer json: JSONMembers) {
        switch json.string("type") {
        case "liveStarted": self = .started(isResumed: json.bool("isResumed") ?? false)
        case "liveStopped":
            guard let reason: LiveStopped.Reason = json.choice("reason") else { return nil }
            self = .stopped(reason)
        case "liveFailed":
            guard let code: ErrorCode = json.choice("code") else { return nil }
            self = .refused(code)
        case "liveKnocked":
            guard let caller = json.listener else { return nil }
            self = .asks(caller.id, name: caller.name, note: json.string("note"))
        case "liveListener":
            guard let one = json.listener, let status: LiveListenerChanged.Status = json.choice("status"),
                let joined = json.integer("joined")
            else { return nil }
            self = .listener(one.id, name: one.name, status, joined: Int(joined))
        case "liveAttention":
            guard let one = json.listener, let want: LiveAttention.Want = json.choice("want") else { return nil }
            self = .attention(one.id, name: one.name, want)
        case "liveKeysChanged":
            guard let generation = json.integer("generation") else { return nil }
            self = .keysChanged(generation: Int(generation))
        case "liveSaid":
            guard let number = json.integer("line"), let text = json.liveText else { return nil }
            self = .said(Int(number), text)
        default: return nil
        }
    }

    /// Reads events of other people's conversations.
    fileprivate init?(listener json: JSONMembers) {
        switch json.string("type") {
        case "liveWaiting": self = .waiting
        case "liveJoined":
            guard let state: LiveStreamState = json.choice("state") else { return nil }
            self = .joined(state, isTranscribed: json.bool("isTranscribed") ?? false)
        case "liveState":
            guard let state: LiveState.State = json.choice("state") else { return nil }
            self = .state(state)
        case "liveEnded":
            guard let end = json.string("reason").flatMap({ ListeningMachine.End($0) }) else { return nil }
            self = .over(end, note: json.string("note"))
        default:
            guard let heard = ListenerMachine.Action(json) else { return nil }
            self = .heard(heard)
        }
    }
}

extension ListeningMachine.End {
    fileprivate init?(_ word: String) {
        switch word {
        case "notFound": self = .notFound
        case "forbidden": self = .forbidden
        case "broken": self = .broken
        default:
            guard let reason = LiveRefused.Reason(rawValue: word) else { return nil }
            self = .refused(reason)
        }
    }
}

extension ListenerMachine.Action {
    fileprivate init?(_ json: JSONMembers) {
        switch json.string("type") {
        case "liveBegan":
            guard let content = json.string("contentId").flatMap({ UUIDText($0) }) else { return nil }
            self = .began(content)
        case "liveText":
            guard let text = json.liveText else { return nil }
            self = .text(text)
        case "liveLine":
            guard let number = json.integer("line"), let text = json.liveText else { return nil }
            self = .line(Int(number), text)
        case "liveMissing":
            guard let from = json.integer("from"), let to = json.integer("to"), from <= to else { return nil }
            self = .missing(Int(from)...Int(to))
        case "liveCue":
            guard let cue = LiveCue(json) else { return nil }
            self = .cue(cue)
        default: return nil
        }
    }
}

extension LiveCue {
    fileprivate init?(_ json: JSONMembers) {
        if let sound = json.string("sound") {
            self = .sound(LiveSound(name: sound))
        } else if let text = json.string("say").flatMap({ LiveText($0) }) {
            self = .say(text)
        } else {
            guard let halves = json.string("transcript")?.split(separator: "#"), halves.count == 2,
                let share = halves[0].split(separator: "/").last.flatMap({ UUIDText(String($0)) }),
                let secret = Base64URL.decode(halves[1])
            else { return nil }
            self = .transcript(SharedTranscript(share: share, secret: secret))
        }
    }
}
