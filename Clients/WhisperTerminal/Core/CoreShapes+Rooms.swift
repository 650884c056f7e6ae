import Contract
import WhisperClient

extension ClientEvent {
    /// - Returns: `nil` for what is no event of a room.
    static func room(_ json: JSONMembers) -> ClientEvent? {
        if json.string("type") == "roomChanged" {
            return json.object("room").flatMap { RoomView($0) }.map { .room($0.room.room, .shown($0)) }
        }
        guard let id = json.string("roomId").flatMap({ UUIDText($0) }) else { return nil }
        return RoomNews(json).map { .room(id, $0) }
    }
}

extension RoomNews {
    fileprivate init?(_ json: JSONMembers) {
        switch json.string("type") {
        case "roomEvent":
            guard let event: RoomEvent.Event = json.choice("event") else { return nil }
            self = .told(event, json.principal("participant"))
        case "roomSignal":
            guard let peer = json.principal("from"), let number = json.integer("link"), let order = LinkOrder(json)
            else { return nil }
            self = .link(peer, number: Int(number), order)
        case "roomForged":
            guard let participant = json.principal("participant") else { return nil }
            self = .forged(participant)
        case "roomData":
            guard let peer = json.principal("to"), let number = json.integer("link"),
                let channel: TalkMachine.Channel = json.choice("channel"), let text = json.string("text")
            else { return nil }
            self = .data(peer, number: Int(number), channel, text)
        case "roomMessage":
            guard let peer = json.principal("from"), let id = json.string("id").flatMap({ UUIDText($0) }),
                let time = json.integer("at"), let text = json.string("text")
            else { return nil }
            let message = TalkMessage(
                id: id, time: Timestamp(milliseconds: time), text: text,
                answered: json.string("re").flatMap { UUIDText($0) })
            self = .message(peer, name: json.string("name"), message)
        case "roomMessageState":
            guard let peer = json.principal("to"), let id = json.string("id").flatMap({ UUIDText($0) }),
                let state: TalkMachine.State = json.choice("state")
            else { return nil }
            self = .messageState(id, peer, state)
        case "roomPerson":
            guard let peer = json.principal("participant"), let isPlain = json.bool("isPlain"),
                let isFull = json.bool("isFull")
            else { return nil }
            self = .person(peer, TalkPerson(name: json.string("name"), isPlain: isPlain, isFull: isFull))
        case "roomEnded":
            guard let end = json.string("reason").flatMap({ MeshMachine.End($0) }) else { return nil }
            self = .over(end)
        default: return nil
        }
    }
}

extension MeshMachine.End {
    fileprivate init?(_ word: String) {
        let all: [MeshMachine.End] = [.left, .closed, .removed, .notFound, .broken]
        guard let end = all.first(where: { "\($0)" == word }) else { return nil }
        self = end
    }
}

extension LinkOrder {
    fileprivate init?(_ json: JSONMembers) {
        switch (json.string("kind"), json.string("sdp")) {
        case ("offer", _): self = .offer
        case ("accept", let sdp?): self = .accept(sdp, isFresh: json.bool("isFresh") ?? false)
        case ("answer", let sdp?): self = .answer(sdp)
        case ("candidate", _):
            guard let candidate = json.string("candidate") else { return nil }
            self = .candidate(
                RoomCandidate(
                    candidate: candidate, sdpMLineIndex: json.integer("sdpMLineIndex").map { Int($0) },
                    sdpMid: json.string("sdpMid")))
        case ("drop", _): self = .drop
        default: return nil
        }
    }
}

extension RoomView {
    /// A room that was entered.
    init?(_ json: JSONMembers) {
        guard let room = RoomState(json), let own = json.principal("own") else { return nil }
        let people = json.objects("participants")
        let links = people.compactMap { json -> (PrincipalID, Int)? in
            guard let one = json.principal("participant"), let link = json.integer("link") else { return nil }
            return (one, Int(link))
        }
        let names = people.compactMap { json -> (PrincipalID, String)? in
            guard let one = json.principal("participant"), let name = json.string("name") else { return nil }
            return (one, name)
        }
        self.init(
            room: room, own: own, code: json.string("code"),
            codeExpiresAt: json.integer("codeExpiresAt").map { Timestamp(milliseconds: $0) },
            secret: json.string("link").flatMap { RoomLink($0) }?.secret.bytes,
            turn: json.object("turn").flatMap { TurnCredentialsFrame(shown: $0) },
            linked: Set(people.filter { $0.bool("isLinked") == true }.compactMap { $0.principal("participant") }),
            links: Dictionary(links, uniquingKeysWith: { first, _ in first }),
            names: Dictionary(names, uniquingKeysWith: { first, _ in first }))
    }
}

extension RoomState {
    fileprivate init?(_ json: JSONMembers) {
        guard let room = json.string("roomId").flatMap({ UUIDText($0) }), let host = json.principal("host"),
            let most = json.integer("participantsMax"), let isLocked = json.bool("isLocked"),
            let revision = json.integer("revision"), let phase: RoomState.Phase = json.choice("state"),
            let end = json.integer("expiresAt")
        else { return nil }
        self.init(
            room: room, host: host, participantsMax: Int(most), isLocked: isLocked, revision: revision, phase: phase,
            expiresAt: Timestamp(milliseconds: end),
            participants: json.objects("participants").compactMap { RoomParticipant($0) })
    }
}

extension RoomParticipant {
    fileprivate init?(_ json: JSONMembers) {
        guard let id = json.principal("participant"), let seat = json.integer("seat"),
            let via: RoomParticipant.Way = json.choice("via"), let isConnected = json.bool("isConnected"),
            let time = json.integer("joinedAt"), let sign = json.key("signPublicKey"),
            let enc = json.key("encPublicKey")
        else { return nil }
        self.init(
            participant: id, seat: Int(seat), via: via, isConnected: isConnected,
            joinedAt: Timestamp(milliseconds: time), signPublicKey: sign, encPublicKey: enc)
    }
}

extension TurnCredentialsFrame {
    fileprivate init?(shown json: JSONMembers) {
        guard let username = json.string("username"),
            let credential = json.string("credential").flatMap({ Base64.decode($0) }), let ttl = json.integer("ttl")
        else { return nil }
        self.init(urls: json.strings("urls"), username: username, credential: credential, ttl: ttl)
    }
}

extension JSONMembers {
    fileprivate func principal(_ name: String) -> PrincipalID? { self.string(name).flatMap { PrincipalID($0) } }

    /// The elements that are strings.
    fileprivate func strings(_ name: String) -> [String] {
        guard let text = self[name], case .array(let texts) = JSONText(text) else { return [] }
        return texts.compactMap { text in
            guard case .object(let one) = JSONText(Array(#"{"one":"#.utf8) + text + [UInt8(ascii: "}")]) else {
                return nil
            }
            return one.string("one")
        }
    }
}
