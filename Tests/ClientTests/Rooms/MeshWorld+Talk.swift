import Contract
import TestKit

@testable import WhisperClient

/// Messages in a room from a seed. Bytes of a connection arrive in order, or are lost with it.
extension MeshWorld {
    /// Faults that the world must find. They are at the edge of the machine: between it and its channels and its server.
    enum Mutation: CaseIterable {
        /// Only those who have greeted get what is said.
        case sendsToOpenOnly
        /// A written message counts as received.
        case countsSentAsGot
        /// A message goes again as another one.
        case resendsWithNewId
        /// Each connection begins another life.
        case forgetsSeenIds
        /// A person that comes back after leaving has the seat of before.
        case keepsQueueOfRemoved
        /// Somebody is believed without a greeting.
        case takesBeforeHello
    }

    /// A program of a person, from its start to its end.
    struct Life {
        let number: Int
        /// Ids that were shown, and texts without ids.
        var shown: [String] = []
    }

    struct Said {
        let id: UUIDText
        let speaker: Int
        let life: Int
        /// Seats, and the lives that have them.
        var targets: [PrincipalID: (seat: Int, life: Int)] = [:]
        var states: [PrincipalID: TalkMachine.State] = [:]
    }

    struct Flying {
        let at: Instant
        let from: Int
        let to: Int
        /// Numbers of the connection at both ends.
        let numbers: [Int]
        let channel: TalkMachine.Channel
        let text: String
    }

    static func talk(_ epoch: Int) -> TalkMachine { TalkMachine(epoch: (0..<8).map { UInt8(epoch >> ($0 * 8) & 255) }) }

    /// A new program, with nothing of an earlier one.
    mutating func reborn(_ person: Int) {
        self.lives += 1
        self.people[person].talk = Self.talk(self.lives)
        self.people[person].life = Life(number: self.lives)
        self.flying.removeAll { $0.from == person || $0.to == person }
    }

    // MARK: One tick

    mutating func talkOn(_ person: Int) {
        if !self.isQuiet, self.people[person].machine.state == .joined, self.happens(0.03) { self.say(person) }
        if self.people[person].talk.nextWake.map({ $0 <= self.now }) ?? false {
            self.perform(self.people[person].talk.timerFired(at: self.now), of: person)
        }
    }

    private mutating func say(_ person: Int) {
        guard !self.people[person].isPlain else { return }
        self.saidCount += 1
        let id = UUIDText(high: 7, low: UInt64(self.saidCount))
        let message = TalkMessage(id: id, time: Timestamp(milliseconds: 1), text: "text \(id)")
        let number = self.people[person].life.number
        self.said[id] = Said(id: id, speaker: person, life: number)
        self.isSaying = true
        defer { self.isSaying = false }
        guard let actions = try? self.people[person].talk.say(message, isPartial: false) else {
            self.said[id] = nil
            return
        }
        self.perform(actions, of: person)
    }

    /// The people of whom the machine knows have a seat.
    mutating func learnSeats(_ person: Int) {
        let own = self.people[person].id
        var seats: [PrincipalID: Int] = [:]
        for one in self.people[person].machine.shown?.participants ?? [] where one.participant != own {
            seats[one.participant] = one.seat
        }
        if self.mutation == .keepsQueueOfRemoved {
            for id in seats.keys { seats[id] = 1 }
            for id in self.people.map(\.id) where id != own && self.people[person].talk.person(id) != nil {
                seats[id] = 1
            }
        }
        self.perform(self.people[person].talk.seen(seats), of: person)
    }

    mutating func began(_ person: Int, _ peer: PrincipalID, link: Int) {
        self.perform(self.people[person].talk.began(peer, link: link), of: person)
        guard link > 0, self.mutation == .takesBeforeHello else { return }
        let hello = TalkFrame.hello(name: nil, epoch: Array(repeating: 9, count: 8)).text
        self.perform(self.people[person].talk.heard(hello, from: peer, link: link, at: self.now), of: person)
    }

    mutating func opened(_ person: Int, _ peer: PrincipalID, _ number: Int) {
        self.perform(self.people[person].talk.opened(peer, link: number, at: self.now), of: person)
        // Somebody with a fault speaks before it greets.
        guard let other = self.index(peer), self.people[other].isPlain, self.happens(0.3) else { return }
        let early = TalkFrame.say(
            TalkMessage(id: UUIDText(high: 8, low: 1), time: Timestamp(milliseconds: 1), text: "early"))
        self.fly(from: other, to: person, .talk, early.text)
    }

    func index(_ id: PrincipalID) -> Int? { self.people.firstIndex { $0.id == id } }

    // MARK: Channels

    mutating func perform(_ actions: [TalkMachine.Action], of person: Int) {
        for action in actions {
            switch action {
            case .write(let peer, let link, let channel, let text):
                self.write(text, channel, to: peer, link, of: person)
            case .heard(let peer, let message):
                self.show("\(message.id)", from: peer, at: person)
            case .state(let id, let peer, let state): self.turn(id, peer, state, of: person)
            case .person, .left: break
            case .broke: self.broken.append("somebody is taken for hostile")
            }
        }
    }

    private mutating func turn(_ id: UUIDText, _ peer: PrincipalID, _ state: TalkMachine.State, of person: Int) {
        if self.said[id]?.targets[peer] == nil, let other = self.index(peer),
            let seat = self.people[person].machine.shown?.participants.first(where: { $0.participant == peer })?.seat
        {
            self.said[id]?.targets[peer] = (seat, self.people[other].life.number)
        }
        self.said[id]?.states[peer] = state
        guard state == .got, let other = self.index(peer) else { return }
        guard self.people[other].everShown.contains("\(id)") else {
            return self.broken.append("\(id) is said to be with \(peer), which never saw it")
        }
    }

    private mutating func write(
        _ text: String, _ channel: TalkMachine.Channel, to peer: PrincipalID, _ link: Int, of person: Int
    ) {
        // A client of before writes nothing that is not of its user, who says nothing here.
        guard let other = self.index(peer), !self.people[person].isPlain else { return }
        let own = self.people[person].id
        var text = text
        switch (self.mutation, TalkFrame(text)) {
        case (.sendsToOpenOnly, .say(let message)) where !self.isSaying:
            return self.settle(message.id, by: peer, link, of: person)
        case (.countsSentAsGot, .say(let message)): self.settle(message.id, by: peer, link, of: person)
        case (.resendsWithNewId, .say(var message))
        where !self.isSaying && self.people[person].resent.contains(message.id):
            self.saidCount += 1
            message.id = UUIDText(high: 6, low: UInt64(self.saidCount))
            text = TalkFrame.say(message).text
        case (.resendsWithNewId, .say(let message)): self.people[person].resent.insert(message.id)
        case (.forgetsSeenIds, .hello):
            self.lives += 1
            text = TalkFrame.hello(name: nil, epoch: (0..<8).map { UInt8(self.lives >> ($0 * 8) & 255) }).text
        default: break
        }
        guard self.people[person].ends[peer]?.number == link else { return }
        self.later(.low, peer, link, of: person)
        if self.people[other].ends[own]?.isConnected == true { self.fly(from: person, to: other, channel, text) }
    }

    /// A receipt that nobody has sent.
    private mutating func settle(_ id: UUIDText, by peer: PrincipalID, _ link: Int, of person: Int) {
        let actions = self.people[person].talk.heard(TalkFrame.got([id]).text, from: peer, link: link, at: self.now)
        self.perform(actions, of: person)
    }

    private mutating func fly(from: Int, to: Int, _ channel: TalkMachine.Channel, _ text: String) {
        guard let numbers = self.numbers(from, to) else { return }
        let before = self.flying.last { $0.from == from && $0.to == to }?.at ?? self.now
        self.flying.append(
            Flying(
                at: max(before, self.now + min(self.delay(), .milliseconds(500))), from: from, to: to, numbers: numbers,
                channel: channel, text: text))
    }

    /// The numbers of a connection that is up at both ends.
    private func numbers(_ one: Int, _ other: Int) -> [Int]? {
        guard let mine = self.people[one].ends[self.people[other].id], mine.isConnected,
            let theirs = self.people[other].ends[self.people[one].id], theirs.isConnected, mine.offer == theirs.offer
        else { return nil }
        return [mine.number, theirs.number]
    }

    mutating func arrive() {
        let now = self.now
        let due = self.flying.filter { $0.at <= now }
        self.flying.removeAll { $0.at <= now }
        for one in due where self.numbers(one.from, one.to) == one.numbers {
            let sender = self.people[one.from].id
            switch one.channel {
            case .chat: self.show(String(one.text.dropFirst("text ".count)), from: sender, at: one.to)
            case .talk where self.people[one.to].isPlain: break
            case .talk:
                let actions = self.people[one.to].talk.heard(
                    one.text, from: sender, link: one.numbers[1], at: self.now)
                self.perform(actions, of: one.to)
            }
        }
    }

    private mutating func show(_ id: String, from peer: PrincipalID, at person: Int) {
        let name = "\(self.people[person].id)"
        if self.people[person].life.shown.contains(id) { self.broken.append("\(id) is shown twice at \(name)") }
        self.people[person].life.shown.append(id)
        self.people[person].everShown.insert(id)
        guard let said = UUIDText(id).flatMap({ self.said[$0] }) else {
            return self.broken.append("\(name) sees what nobody has said: \(id)")
        }
        let target = said.targets[self.people[person].id]
        guard target?.seat == self.seat(of: self.people[person].id) else {
            return self.broken.append("\(name) sees \(id), which is from before")
        }
    }

    // MARK: Judging

    mutating func judgeTalk() {
        for said in self.said.values {
            let speaker = self.people[said.speaker]
            let id = "\(said.id)"
            guard speaker.life.number == said.life else { continue }
            for (peer, target) in said.targets {
                guard let other = self.index(peer), self.seat(of: peer) == target.seat else { continue }
                let state = said.states[peer]
                if state != (self.people[other].isPlain ? .sent : .got) {
                    self.broken.append("\(id) is \(String(describing: state)) for \(peer)")
                }
                guard self.people[other].life.number == target.life, state == .got else { continue }
                if !self.people[other].life.shown.contains(id) { self.broken.append("\(peer) has missed \(id)") }
            }
        }
        for person in self.people {
            var last: [Int: UInt64] = [:]
            for id in person.life.shown.compactMap({ UUIDText($0) }) {
                guard let said = self.said[id] else { continue }
                if last[said.life] ?? 0 > id.low { self.broken.append("\(person.id) sees \(id) too late") }
                last[said.life] = id.low
            }
        }
    }
}
