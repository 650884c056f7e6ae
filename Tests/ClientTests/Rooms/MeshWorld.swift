import Contract
import TestKit
import Testing

@testable import WhisperClient

/// A room from a seed: people come, go, restart and lose their connections; signals and events are lost, repeated, delayed and
/// overtake each other. The server keeps seats; each participant has a WebRTC stack that connects when both ends hold
/// descriptions of the same offer.
struct MeshWorld {
    typealias Instant = ContinuousClock.Instant

    struct Faults {
        var loss = 0.0
        var repetition = 0.0
        var delayMax = Duration.milliseconds(20)
        /// Probabilities for each tick.
        var reconnects = 0.0
        var restarts = 0.0
        var departures = 0.0
        var failures = 0.0
        /// Answers of the server that are INTERNAL_ERROR.
        var refusals = 0.0

        static let none = Faults()

        static func all(_ random: inout SeededGenerator) -> Faults {
            var faults = Faults()
            faults.loss = .random(in: 0...0.4, using: &random)
            faults.repetition = .random(in: 0...0.3, using: &random)
            faults.delayMax = .milliseconds(.random(in: 0...3_000, using: &random))
            faults.reconnects = .random(in: 0...0.003, using: &random)
            faults.restarts = .random(in: 0...0.001, using: &random)
            faults.departures = .random(in: 0...0.0005, using: &random)
            faults.failures = .random(in: 0...0.002, using: &random)
            faults.refusals = .random(in: 0...0.3, using: &random)
            return faults
        }
    }

    fileprivate enum Down {
        case joined(RoomState)
        case refused
        case event(RoomEvent.Event, PrincipalID?, RoomState)
        case signal(SignalContent, from: PrincipalID, Timestamp)
    }

    /// One end of a connection, in a stack.
    struct End: Equatable {
        let number: Int
        /// The offer that it began with, and the answer it gave or took.
        var offer: String?
        var answer: String?
        var isConnected = false
        /// Candidates that it was given before a description of the other side.
        var early = 0
    }

    struct Person {
        let id: PrincipalID
        var machine: MeshMachine
        var isOnline = false
        /// Grows with each connection: what was on its way to an older one is lost.
        var connection = 0
        var onlineAt: Instant?
        fileprivate var inbox: [(at: Instant, connection: Int, what: Down)] = []
        var ends: [PrincipalID: End] = [:]
        fileprivate var reports: [(at: Instant, peer: PrincipalID, number: Int, LinkReport)] = []
        var clock: Int64 = 0
        /// Offers for new connections that its stack was told to make, by peer.
        var offered: [PrincipalID: Int] = [:]
        var talk: TalkMachine
        var life: Life
        /// In all its lives.
        var everShown: Set<String> = []
        /// Messages that were written once at least.
        var resent: Set<UUIDText> = []
        /// It has a client of before.
        var isPlain = false
    }

    static let tick = Duration.milliseconds(20)

    var random: SeededGenerator
    let faults: Faults
    private(set) var now: Instant
    private let beginning: Instant
    private(set) var isQuiet = false
    var people: [Person] = []
    /// Whether people say something, and a fault that they do it with.
    private let talks: Bool
    let mutation: Mutation?
    var (lives, saidCount, isSaying) = (0, 0, false)
    var said: [UUIDText: Said] = [:]
    var flying: [Flying] = []
    /// Promises that were broken.
    var broken: [String] = []
    private var seats: [PrincipalID: Int] = [:]
    private var nextSeat = 1
    private(set) var revision: Int64 = 0
    private let room = UUIDText(high: 1, low: 2)
    private var comes: [(at: Instant, person: Int)] = []
    private var sdpNumber = 0
    /// Offers for new connections from somebody who has the higher seat. There must be none.
    private(set) var wrongOffers = 0

    init(
        seed: UInt64, people count: Int, faults: (inout SeededGenerator) -> Faults, startingAt beginning: Instant,
        talks: Bool = false, _ mutation: Mutation? = nil
    ) {
        (self.talks, self.mutation) = (talks, mutation)
        self.random = SeededGenerator(seed: seed)
        self.faults = faults(&self.random)
        (self.now, self.beginning) = (beginning, beginning)
        for number in 0..<count {
            let id = PrincipalID.guest(GuestID(high: 9, low: UInt64(number)))
            self.lives += 1
            var person = Person(
                id: id, machine: MeshMachine(room: self.room, own: id, isReturning: false),
                talk: Self.talk(self.lives), life: Life(number: self.lives))
            person.isPlain = talks && Bool.random(using: &self.random) && number == 1
            self.people.append(person)
            let pause = Duration.milliseconds(.random(in: 0...3_000, using: &self.random))
            self.comes.append((beginning + pause, number))
        }
    }

    mutating func play(trouble: Duration, rest: Duration) {
        while self.now < self.beginning + trouble { self.step() }
        self.isQuiet = true
        let end = self.beginning + trouble + rest
        while self.now < end {
            // Without faults a tick at which nothing is due changes nothing: the clock skips it.
            let ticks = Int((min(self.nextDue ?? end, end) - self.now) / Self.tick)
            self.now += Self.tick * max(0, ticks - 1)
            self.step()
        }
    }

    /// The earliest time at which somebody comes, connects, receives, hears of a stack, or wakes.
    private var nextDue: Instant? {
        let times = self.people.flatMap { person in
            [person.onlineAt, person.machine.nextWake, person.talk.nextWake].compactMap(\.self)
                + person.inbox.map(\.at) + person.reports.map(\.at)
        }
        return (times + self.flying.map(\.at) + self.comes.map(\.at)).min()
    }

    mutating func happens(_ chance: Double) -> Bool {
        !self.isQuiet && Double.random(in: 0..<1, using: &self.random) < chance
    }

    mutating func delay() -> Duration {
        .milliseconds(5) + (self.isQuiet ? .zero : self.faults.delayMax * .random(in: 0...1, using: &self.random))
    }

    // MARK: One tick

    private mutating func step() {
        self.now = self.now + Self.tick
        for place in self.comes.indices.reversed() where self.comes[place].at <= self.now {
            let person = self.comes.remove(at: place).person
            self.connect(person)
        }
        self.arrive()
        for person in self.people.indices {
            self.trouble(person)
            if let at = self.people[person].onlineAt, at <= self.now { self.connect(person) }
            self.deliver(to: person)
            self.report(to: person)
            if self.people[person].machine.nextWake.map({ $0 <= self.now }) ?? false {
                self.perform(self.people[person].machine.timerFired(at: self.now), of: person)
            }
            if self.talks { self.talkOn(person) }
        }
    }

    private mutating func trouble(_ person: Int) {
        guard self.people[person].isOnline, self.seats[self.people[person].id] != nil else { return }
        if self.happens(self.faults.departures) {
            self.perform(self.people[person].machine.leave(), of: person)
            // It leaves for good, and comes in anew later.
            self.leave(person)
            self.reborn(person)
            let id = self.people[person].id
            self.people[person].machine = MeshMachine(room: self.room, own: id, isReturning: false)
            self.people[person].ends = [:]
            self.comes.append((self.now + .milliseconds(.random(in: 100...2_000, using: &self.random)), person))
        } else if self.happens(self.faults.restarts) {
            // The program ends and starts again; its connections are gone, which others notice late.
            self.disconnect(person)
            self.reborn(person)
            let id = self.people[person].id
            self.people[person].machine = MeshMachine(room: self.room, own: id, isReturning: true)
            self.people[person].ends = [:]
            self.people[person].reports = []
        } else if self.happens(self.faults.reconnects) {
            self.disconnect(person)
        }
        if self.happens(self.faults.failures), let peer = self.people[person].ends.keys.min(by: { "\($0)" < "\($1)" }) {
            self.fail(person, peer)
        }
    }

    private mutating func connect(_ person: Int) {
        self.people[person].onlineAt = nil
        self.people[person].isOnline = true
        self.people[person].connection += 1
        self.perform(self.people[person].machine.connected(), of: person)
    }

    private mutating func disconnect(_ person: Int) {
        self.people[person].isOnline = false
        self.people[person].machine.disconnected()
        self.people[person].onlineAt = self.now + .milliseconds(.random(in: 100...20_000, using: &self.random))
        self.tell(.away, self.people[person].id, except: person)
    }

    // MARK: The server

    private func state() -> RoomState {
        let participants = self.seats.sorted { $0.value < $1.value }.map { id, seat in
            RoomParticipant(
                participant: id, seat: seat, via: seat == 1 ? .creator : .code,
                isConnected: self.people.first { $0.id == id }!.isOnline, joinedAt: Timestamp(milliseconds: 0),
                signPublicKey: Bytes32(Array(repeating: 1, count: 32))!,
                encPublicKey: Bytes32(Array(repeating: 2, count: 32))!)
        }
        return RoomState(
            room: self.room, host: participants.first?.participant ?? self.people[0].id, participantsMax: 8,
            isLocked: false, revision: self.revision, phase: .accepted, expiresAt: Timestamp(milliseconds: 0),
            participants: participants)
    }

    private mutating func tell(_ event: RoomEvent.Event, _ participant: PrincipalID, except person: Int) {
        self.revision += 1
        let state = self.state()
        for other in self.people.indices
        where other != person && self.people[other].isOnline && self.seats[self.people[other].id] != nil {
            self.send(.event(event, participant, state), to: other)
        }
    }

    private mutating func join(_ person: Int) {
        if self.happens(self.faults.refusals) { return self.send(.refused, to: person, mayBeLost: false) }
        let id = self.people[person].id
        let isNew = self.seats[id] == nil
        if isNew {
            self.seats[id] = self.nextSeat
            self.nextSeat += 1
        }
        self.tell(isNew ? .joined : .back, id, except: person)
        self.send(.joined(self.state()), to: person, mayBeLost: false)
    }

    private mutating func leave(_ person: Int) {
        let id = self.people[person].id
        self.seats[id] = nil
        self.people[person].isOnline = false
        self.people[person].connection += 1
        self.tell(.left, id, except: person)
    }

    /// Frames of one connection overtake each other here, which real ones do not.
    private mutating func send(_ what: Down, to person: Int, mayBeLost: Bool = true) {
        guard !mayBeLost || !self.happens(self.faults.loss) else { return }
        let connection = self.people[person].connection
        self.people[person].inbox.append((self.now + self.delay(), connection, what))
        if mayBeLost, self.happens(self.faults.repetition) {
            self.people[person].inbox.append((self.now + self.delay(), connection, what))
        }
    }

    private mutating func deliver(to person: Int) {
        let due = self.people[person].inbox.filter { $0.at <= self.now }.sorted { $0.at < $1.at }
        self.people[person].inbox.removeAll { $0.at <= self.now }
        for (_, connection, what) in due {
            guard connection == self.people[person].connection, self.people[person].isOnline else { continue }
            let actions: [MeshMachine.Action]
            switch what {
            case .joined(let state): actions = self.people[person].machine.joined(state, at: self.now)
            case .refused:
                actions = self.people[person].machine.joinFailed(.internalError, retryAfter: nil, at: self.now)
            case .event(let event, let participant, let state):
                actions = self.people[person].machine.changed(event, participant, state, at: self.now)
            case .signal(let content, let sender, let time):
                actions = self.people[person].machine.received(
                    content, from: sender, time, serverTime: time, at: self.now)
            }
            self.perform(actions, of: person)
        }
    }

    // MARK: The stacks

    private mutating func perform(_ actions: [MeshMachine.Action], of person: Int) {
        if self.talks { self.learnSeats(person) }
        for action in actions {
            switch action {
            case .join:
                guard self.people[person].isOnline else { continue }
                self.join(person)
            case .signal(let kind, let peer, let content):
                #expect(kind == content.kind)
                self.people[person].clock += 1
                guard let other = self.people.firstIndex(where: { $0.id == peer }), self.people[other].isOnline,
                    self.seats[peer] != nil
                else { continue }
                let elapsed = (self.now - self.beginning).milliseconds
                let time = Timestamp(milliseconds: elapsed * 100 + self.people[person].clock)
                self.send(.signal(content, from: self.people[person].id, time), to: other)
            case .link(let peer, let number, let order):
                self.order(order, peer, number, of: person)
                guard self.talks, let link = order.link(number) else { continue }
                self.began(person, peer, link: link)
            case .changed, .over: break
            }
        }
    }

    private mutating func order(_ order: LinkOrder, _ peer: PrincipalID, _ number: Int, of person: Int) {
        let own = self.people[person].id
        switch order {
        case .offer:
            if let mine = self.seats[own], let other = self.seats[peer], mine > other { self.wrongOffers += 1 }
            self.people[person].offered[peer, default: 0] += 1
            self.sdpNumber += 1
            self.people[person].ends[peer] = End(number: number, offer: "offer \(self.sdpNumber)")
            self.later(.offer("offer \(self.sdpNumber)"), peer, number, of: person)
            self.later(.candidate(Self.candidate), peer, number, of: person, after: .milliseconds(50))
        case .accept(let sdp, let isFresh):
            if isFresh { self.people[person].ends[peer] = End(number: number) }
            #expect(self.people[person].ends[peer]?.number == number)
            self.sdpNumber += 1
            let answer = "answer \(self.sdpNumber) to \(sdp)"
            self.people[person].ends[peer]?.offer = sdp
            self.people[person].ends[peer]?.answer = answer
            self.later(.answer(answer), peer, number, of: person)
            self.later(.candidate(Self.candidate), peer, number, of: person, after: .milliseconds(50))
        case .answer(let sdp):
            #expect(self.people[person].ends[peer]?.number == number)
            self.people[person].ends[peer]?.answer = sdp
            self.settle(person, peer)
        case .candidate:
            // Without a description of the other side a stack refuses candidates.
            #expect(self.people[person].ends[peer]?.number == number && self.people[person].ends[peer]?.answer != nil)
        case .drop:
            guard self.people[person].ends[peer]?.number == number else { return }
            self.people[person].ends[peer] = nil
            // The other end notices after a while.
            if let other = self.people.firstIndex(where: { $0.id == peer }),
                let end = self.people[other].ends[own], end.isConnected
            {
                self.later(.failed, own, end.number, of: other, after: .seconds(8))
            }
        }
    }

    private static let candidate = RoomCandidate(candidate: "candidate:1", sdpMLineIndex: 0, sdpMid: "0")

    mutating func later(
        _ report: LinkReport, _ peer: PrincipalID, _ number: Int, of person: Int,
        after pause: Duration = .milliseconds(30)
    ) {
        self.people[person].reports.append((self.now + pause, peer, number, report))
    }

    private mutating func report(to person: Int) {
        let due = self.people[person].reports.filter { $0.at <= self.now }
        self.people[person].reports.removeAll { $0.at <= self.now }
        for (_, peer, number, report) in due {
            guard self.people[person].ends[peer]?.number == number else { continue }
            if report == .failed { self.people[person].ends[peer] = nil }
            self.perform(self.people[person].machine.heard(report, of: peer, number: number, at: self.now), of: person)
            guard self.talks else { continue }
            switch report {
            case .connected: self.opened(person, peer, number)
            case .low: self.perform(self.people[person].talk.low(peer, link: number), of: person)
            case .offer, .answer, .candidate, .failed: break
            }
        }
    }

    /// Both ends hold the same descriptions: the connection comes up.
    private mutating func settle(_ person: Int, _ peer: PrincipalID) {
        let own = self.people[person].id
        guard let other = self.people.firstIndex(where: { $0.id == peer }),
            let mine = self.people[person].ends[peer], let theirs = self.people[other].ends[own],
            mine.offer == theirs.offer, mine.answer == theirs.answer
        else { return }
        self.people[person].ends[peer]?.isConnected = true
        self.people[other].ends[own]?.isConnected = true
        self.later(.connected, peer, mine.number, of: person)
        self.later(.connected, own, theirs.number, of: other)
    }

    private mutating func fail(_ person: Int, _ peer: PrincipalID) {
        let own = self.people[person].id
        guard let mine = self.people[person].ends[peer] else { return }
        self.later(.failed, peer, mine.number, of: person)
        guard let other = self.people.firstIndex(where: { $0.id == peer }), let theirs = self.people[other].ends[own]
        else { return }
        self.later(.failed, own, theirs.number, of: other, after: .seconds(2))
    }

    // MARK: Judging

    var expected: Set<PrincipalID> { Set(self.seats.keys) }

    func seat(of id: PrincipalID) -> Int? { self.seats[id] }

    /// Whether content can go both ways between these two.
    func areConnected(_ one: Int, _ other: Int) -> Bool {
        let (a, b) = (self.people[one], self.people[other])
        guard let mine = a.ends[b.id], let theirs = b.ends[a.id] else { return false }
        return mine.isConnected && theirs.isConnected && mine.offer == theirs.offer && mine.answer == theirs.answer
            && a.machine.isLinked(to: b.id) && b.machine.isLinked(to: a.id)
    }
}
