package import Contract

/// Decides what is said in a room, and who has it. Holds no channel, clock or chance: the host moves bytes of the channels
/// `talk` and `chat` (docs/rooms.md).
///
/// A message is for all who have a seat when it is said. It waits for each of them until a connection takes it, and goes
/// again over the next connection until its receipt is here. Its id stays the same, so it is shown once. A participant
/// that does not greet has a client of before: it gets the text alone, over `chat`.
package struct TalkMachine {
    package typealias Instant = ContinuousClock.Instant

    package enum Channel: String, CaseIterable, Sendable { case talk, chat }

    /// The state of a message for one participant.
    package enum State: String, CaseIterable, Sendable {
        case waiting
        /// Written to an open channel. For a plain participant nothing more is known.
        case sent
        /// Its receipt is here: it is shown there.
        case got
        /// The participant has left, the room is over, or too much waits for it.
        case lost
    }

    package enum Action: Equatable, Sendable {
        case write(PrincipalID, link: Int, Channel, String)
        case heard(PrincipalID, TalkMessage)
        case state(UUIDText, PrincipalID, State)
        /// Another `person(_:)` is to be shown.
        case person(PrincipalID)
        /// It leaves by will.
        case left(PrincipalID)
        /// It is hostile: the connection is to be dropped.
        case broke(PrincipalID, link: Int)
    }

    /// A message is not taken.
    package enum Refusal: Error, Equatable {
        case nobodyIsHere
        case tooLong
        /// Too much waits for these participants.
        case full([PrincipalID])
    }

    private let epoch: [UInt8]
    /// Ours, from the next connection on.
    package var name: String?
    private var people: [PrincipalID: Person] = [:]
    /// Ids of messages that were shown, by participant: the latest at the end.
    private var memories: [(of: PrincipalID, Memory)] = []

    /// - Parameter epoch: `TalkLimits.epochBytes` random bytes.
    package init(epoch: [UInt8], name: String? = nil) {
        self.epoch = epoch
        self.name = name.flatMap(TalkName.cleaned)
    }

    // MARK: Who is here

    /// - Parameter seats: of all others.
    package mutating func seen(_ seats: [PrincipalID: Int]) -> [Action] {
        var actions: [Action] = []
        for id in self.order {
            guard let person = self.people[id], seats[id] != person.seat else { continue }
            self.people[id] = nil
            self.memories.append((id, person.memory))
            actions += person.queue.map { .state($0.message.id, id, .lost) }
        }
        for (id, seat) in seats where self.people[id] == nil {
            let known = self.memories.firstIndex { $0.of == id }.map { self.memories.remove(at: $0).1 }
            self.people[id] = Person(seat: seat, memory: known ?? Memory())
        }
        self.memories.removeFirst(max(0, self.memories.count - TalkLimits.rememberedPeopleMax))
        return actions
    }

    private var order: [PrincipalID] { self.people.sorted { $0.value.seat < $1.value.seat }.map(\.key) }

    /// A participant as it is shown.
    package func person(_ id: PrincipalID) -> TalkPerson? {
        self.people[id].map { TalkPerson(name: $0.name, isPlain: $0.isPlain, isFull: $0.isFull) }
    }

    // MARK: Saying

    /// - Parameter isPartial: participants for whom too much waits do not get it.
    package mutating func say(_ message: TalkMessage, isPartial: Bool) throws(Refusal) -> [Action] {
        guard !self.people.isEmpty else { throw .nobodyIsHere }
        let bytes = message.text.utf8.count
        guard bytes <= TalkLimits.textBytesMax, TalkFrame.say(message).text.utf8.count <= TalkLimits.messageBytesMax
        else { throw .tooLong }
        let order = self.order
        let full = order.filter { self.people[$0]?.isFull ?? true }
        guard full.isEmpty || isPartial else { throw .full(full) }
        var actions: [Action] = []
        for id in order {
            let isFull = full.contains(id)
            actions.append(.state(message.id, id, isFull ? .lost : .waiting))
            if !isFull { actions += self.changing(id) { $0.queue.append(Item(message: message)) } }
        }
        return actions + order.flatMap { self.flush($0) }
    }

    /// Tells all who are connected that we leave.
    package mutating func leave() -> [Action] {
        self.order.compactMap { id in
            guard let person = self.people[id], person.hasGreeted else { return nil }
            return .write(id, link: person.link, .talk, TalkFrame.bye.text)
        }
    }

    // MARK: Connections

    /// The connection to a participant begins, or has ended (0). Messages without a receipt wait for it.
    package mutating func began(_ id: PrincipalID, link: Int) -> [Action] {
        guard let person = self.people[id], person.link != link else { return [] }
        let waits = person.queue.filter(\.isSent).map { Action.state($0.message.id, id, .waiting) }
        return self.changing(id) { $0.begin(link) } + waits
    }

    /// The host says that the connection is up.
    package mutating func opened(_ id: PrincipalID, link: Int, at now: Instant) -> [Action] {
        guard let person = self.people[id], person.link == link, !person.isUp else { return [] }
        self.people[id]?.isUp = true
        if !person.hasGreeted { self.people[id]?.deadline = now + TalkLimits.helloWithin }
        self.people[id]?.credit -= 1
        let hello = TalkFrame.hello(name: self.name, epoch: self.epoch)
        return [.write(id, link: link, .talk, hello.text)] + self.flush(id)
    }

    /// The stack has written what it was told to.
    package mutating func low(_ id: PrincipalID, link: Int) -> [Action] {
        guard self.people[id]?.link == link else { return [] }
        self.people[id]?.credit = TalkLimits.writesMax
        return self.flush(id)
    }

    package var nextWake: Instant? { self.people.values.compactMap(\.deadline).min() }

    package mutating func timerFired(at now: Instant) -> [Action] {
        self.order.flatMap { id -> [Action] in
            guard let person = self.people[id], let deadline = person.deadline, deadline <= now else { return [] }
            // A participant that has greeted before does so again, however slow the connection is.
            let isPlain = person.memory.epoch.isEmpty
            let actions = self.changing(id) { ($0.deadline, $0.isPlain) = (nil, isPlain) }
            return actions + self.flush(id)
        }
    }

    // MARK: Hearing

    /// - Parameter text: of the channel `talk`; `nil` was binary.
    package mutating func heard(_ text: String?, from id: PrincipalID, link: Int, at now: Instant) -> [Action] {
        guard let person = self.people[id], person.link == link else { return [] }
        guard let frame = text.flatMap({ TalkFrame($0) }) else { return self.malformed(id, at: now) }
        switch (frame, person.hasGreeted) {
        case (.unknown, _): return []
        case (.hello(let name, let epoch), false):
            return self.changing(id) { $0.greet(name, epoch) } + self.flush(id)
        case (.say(let message), true):
            self.people[id]?.owe(message.id)
            let isNew = self.people[id]?.remember(message.id) ?? false
            return (isNew ? [.heard(id, message)] : []) + self.flush(id)
        case (.got(let ids), true):
            let had = person.queue.map(\.message.id).filter { ids.contains($0) }
            return self.changing(id) { $0.queue.removeAll { ids.contains($0.message.id) } }
                + had.map { .state($0, id, .got) }
        case (.bye, true): return [.left(id)]
        case (.hello, true), (.say, false), (.got, false), (.bye, false): return self.malformed(id, at: now)
        }
    }

    private mutating func malformed(_ id: PrincipalID, at now: Instant) -> [Action] {
        let link = self.people[id]?.link ?? 0
        let times = (self.people[id]?.malformed ?? []).filter { now - $0 < .seconds(60) } + [now]
        let isHostile = times.count >= TalkLimits.malformedPerMinuteMax
        self.people[id]?.malformed = isHostile ? [] : times
        return isHostile ? [.broke(id, link: link)] : []
    }

    // MARK: What goes out

    /// Changes a participant, and says so if it is to be shown differently.
    private mutating func changing(_ id: PrincipalID, _ change: (inout Person) -> Void) -> [Action] {
        let before = self.person(id)
        if self.people[id] != nil { change(&self.people[id]!) }
        return self.person(id) == before ? [] : [.person(id)]
    }

    private mutating func flush(_ id: PrincipalID) -> [Action] {
        guard let person = self.people[id], person.isUp else { return [] }
        var actions: [Action] = []
        if person.hasGreeted {
            while let ids = self.people[id]?.takeOwed() {
                actions.append(.write(id, link: person.link, .talk, TalkFrame.got(ids).text))
            }
            while let message = self.people[id]?.takeWaiting() {
                actions.append(.write(id, link: person.link, .talk, TalkFrame.say(message).text))
                actions.append(.state(message.id, id, .sent))
            }
        } else if person.isPlain {
            let isFull = person.isFull
            while let message = self.people[id]?.takePlain() {
                actions += Self.pieces(message.text).map { .write(id, link: person.link, .chat, $0) }
                actions.append(.state(message.id, id, .sent))
            }
            if self.people[id]?.isFull != isFull { actions.append(.person(id)) }
        }
        return actions
    }

    /// A text as plain participants take it. A pair of units stays together.
    private static func pieces(_ text: String) -> [String] {
        var pieces: [String] = []
        var piece = ""
        var units = 0
        for scalar in text.unicodeScalars {
            let more = UTF16.width(scalar)
            if units + more > TalkLimits.plainUnitsMax {
                pieces.append(piece)
                (piece, units) = ("", 0)
            }
            piece.unicodeScalars.append(scalar)
            units += more
        }
        return pieces + [piece]
    }
}

/// A participant of a room, as it wants to be seen.
package struct TalkPerson: Hashable, Sendable {
    /// Nobody vouches for it: show it with the safety number until people have compared that.
    package var name: String?
    /// It has a client of before, which sends no receipts.
    package var isPlain: Bool
    /// Too much waits for it.
    package var isFull: Bool

    package init(name: String?, isPlain: Bool, isFull: Bool) {
        (self.name, self.isPlain, self.isFull) = (name, isPlain, isFull)
    }
}

extension TalkMachine {
    private struct Item {
        var message: TalkMessage
        var isSent = false
    }

    /// Shown messages of one life of a participant.
    private struct Memory {
        var epoch: [UInt8] = []
        /// In order.
        var shown: [UUIDText] = []
    }

    private struct Person {
        let seat: Int
        var memory: Memory
        var name: String?
        /// Without receipts, in order.
        var queue: [Item] = []
        var malformed: [Instant] = []

        // The present connection; 0 is none.
        var link = 0
        var isUp = false
        var hasGreeted = false
        var isPlain = false
        var deadline: Instant?
        var credit = TalkLimits.writesMax
        /// Messages of it whose receipts are to go.
        var owed: [UUIDText] = []

        init(seat: Int, memory: Memory) { (self.seat, self.memory) = (seat, memory) }

        /// There may be no room for a text of any length.
        var isFull: Bool {
            let bytes = self.queue.reduce(TalkLimits.textBytesMax) { $0 + $1.message.text.utf8.count }
            return self.queue.count >= TalkLimits.waitingMessagesMax || bytes > TalkLimits.waitingBytesMax
        }

        mutating func begin(_ link: Int) {
            (self.link, self.isUp, self.hasGreeted, self.isPlain) = (link, false, false, false)
            (self.deadline, self.credit, self.owed) = (nil, TalkLimits.writesMax, [])
            for index in self.queue.indices { self.queue[index].isSent = false }
        }

        mutating func greet(_ name: String?, _ epoch: [UInt8]) {
            if epoch != self.memory.epoch { self.memory = Memory(epoch: epoch) }
            self.name = name
            (self.hasGreeted, self.isPlain, self.deadline) = (true, false, nil)
        }

        mutating func owe(_ id: UUIDText) {
            self.owed.append(id)
            self.owed.removeFirst(max(0, self.owed.count - TalkLimits.rememberedIDsMax))
        }

        /// - Returns: whether the message is a new one.
        mutating func remember(_ id: UUIDText) -> Bool {
            guard !self.memory.shown.contains(id) else { return false }
            self.memory.shown.append(id)
            self.memory.shown.removeFirst(max(0, self.memory.shown.count - TalkLimits.rememberedIDsMax))
            return true
        }

        mutating func takeOwed() -> [UUIDText]? {
            guard self.credit > 0, !self.owed.isEmpty else { return nil }
            let ids = Array(self.owed.prefix(TalkLimits.receiptsMax))
            self.owed.removeFirst(ids.count)
            self.credit -= 1
            return ids
        }

        mutating func takeWaiting() -> TalkMessage? {
            guard self.credit > 0, let index = self.queue.firstIndex(where: { !$0.isSent }) else { return nil }
            self.queue[index].isSent = true
            self.credit -= 1
            return self.queue[index].message
        }

        /// For a plain participant, for whom nothing is kept.
        mutating func takePlain() -> TalkMessage? {
            guard self.credit > 0, !self.queue.isEmpty else { return nil }
            self.credit -= 1
            return self.queue.removeFirst().message
        }
    }
}
