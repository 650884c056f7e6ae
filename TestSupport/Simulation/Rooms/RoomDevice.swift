import ClusterContract
import Contract

@testable import WhisperClient

/// The room data that people exchange outside the server.
final class SharedRoom {
    let id: UUIDText
    let secret: RoomSecret
    let participantsMax: Int
    /// The newest code that the host has received.
    var code: JoinCode?
    /// Earlier codes of the room.
    var formerCodes: [JoinCode] = []
    /// `room_create` was answered.
    var isCreated = false
    /// No device may join any more.
    var isOver = false

    /// - Parameter number: distinguishes the rooms of a world.
    init(_ number: Int, participantsMax: Int) {
        self.id = UUIDText(high: 0x6000_0000_0000_4000 | UInt64(number) << 32, low: 0x8000_0000_0000_0001)
        self.secret = RoomSecret(SecretBytes([UInt8](repeating: UInt8(number + 7), count: RoomLimits.linkSecretBytes)))
        self.participantsMax = participantsMax
    }
}

/// A device in rooms: the client core's machine, driven like in the client core's engine (`RoomVisits.swift`).
final class RoomDevice: LiveDevice {
    /// The way into a room.
    enum Way: Equatable {
        case create
        case code(JoinCode)
        case link
        case seat
    }

    private struct Entry {
        var room: SharedRoom
        var way: Way
        var failures = 0
        /// By the machine's clock.
        var firstAskedAt: Int64
    }

    override var isGuest: Bool { self.provesKeysOnly }
    private let provesKeysOnly: Bool
    private var visits: [UUIDText: RoomVisit] = [:]
    /// For each room, the present life in it.
    private var lives: [UUIDText: Int] = [:]
    /// Rooms that the device tries to join, until the server has answered.
    private var entries: [UUIDText: Entry] = [:]
    /// Rooms that the device is leaving, until the server has answered.
    private var leaving: Set<UUIDText> = []
    /// Rooms whose link the device has, and has not given up.
    private var linked: Set<UUIDText> = []

    /// The device has a fault until this time, or has just recovered; by the machine's clock.
    var troubledUntil: Int64 = 0

    private static let attemptsMax = 10

    init(_ person: Identities.Person, isGuest: Bool, in world: World) {
        self.provesKeysOnly = isGuest
        super.init(person, in: world)
    }

    private var scene: RoomScene { self.world.rooms! }
    private var record: RoomRecord { self.scene.record }
    var name: String { self.person.name }

    // MARK: What a judge looks at

    func visit(_ room: UUIDText) -> MeshMachine? { self.visits[room]?.machine }
    var visited: [UUIDText] { self.visits.keys.sorted { "\($0)" < "\($1)" } }
    var isBusy: Bool { !self.entries.isEmpty || !self.leaving.isEmpty || self.hasOpenQuestions }
    func isIn(_ room: UUIDText) -> Bool { self.isOnline && self.visits[room]?.machine.state == .joined }
    func isInvolved(in room: UUIDText) -> Bool {
        self.visits[room] != nil || self.entries[room] != nil || self.leaving.contains(room)
    }
    func isHost(of room: UUIDText) -> Bool { self.visits[room]?.machine.shown?.host == self.id }

    func life(in room: UUIDText) -> Int { self.lives[room] ?? 0 }
    func seat(of peer: PrincipalID, in room: UUIDText) -> Int? {
        self.visits[room]?.machine.shown?.participants.first { $0.participant == peer }?.seat
    }

    // MARK: What its user does

    func say(in room: UUIDText) {
        self.scene.talks.says(self, in: room) { message in
            let actions = try? self.visits[room]?.talk.say(message, isPartial: true)
            self.perform(actions ?? [], in: room)
        }
    }

    func enter(_ room: SharedRoom, by way: Way) {
        guard !self.isInvolved(in: room.id) else { return }
        self.world.trace("\(self.name) enters room \(room.id) by \(way)")
        if way == .create || way == .link { self.linked.insert(room.id) }
        if case .code = way { self.linked.remove(room.id) }
        self.entries[room.id] = Entry(room: room, way: way, firstAskedAt: self.machine.now)
        self.ask(toEnter: room.id)
    }

    /// The user gives up, and leaves a room that the device may have joined unknowingly.
    func leave(_ room: UUIDText) {
        guard self.visits[room] != nil || self.entries[room] != nil else { return }
        self.world.trace("\(self.name) leaves room \(room)")
        self.entries[room] = nil
        if let actions = self.visits[room]?.machine.leave() { self.perform(actions, in: room) }
        self.leaving.insert(room)
        self.askToLeave(room)
    }

    /// Leaves, and joins again without waiting for an answer.
    func returnAtOnce(to room: SharedRoom) {
        guard self.visits[room.id] != nil, self.isOnline else { return }
        self.world.trace("\(self.name) leaves room \(room.id), and returns at once")
        if let actions = self.visits[room.id]?.machine.leave() { self.perform(actions, in: room.id) }
        self.ask(RoomLeave(room.id)) { _ in }
        self.enter(room, by: .link)
    }

    func close(_ room: SharedRoom) {
        guard self.isHost(of: room.id), self.isOnline else { return }
        self.world.trace("\(self.name) closes room \(room.id)")
        self.ask(RoomClose(room.id)) { [unowned self] answer in
            guard case .frame = answer else { return }
            room.isOver = true
            if let actions = self.visits[room.id]?.machine.leave() { self.perform(actions, in: room.id) }
        }
    }

    func remove(_ other: RoomDevice, from room: SharedRoom) {
        guard self.isHost(of: room.id), self.isOnline else { return }
        self.world.trace("\(self.name) removes \(other.name) from room \(room.id)")
        let asked = self.machine.now
        self.ask(RoomRemove(other.id, from: room.id)) { [unowned self] answer in
            guard case .frame(let frame) = answer, let event = frame as? RoomEvent else { return }
            self.record.removed(other, from: room, event.room, askedAt: asked)
            self.take(event)
        }
    }

    func renewCode(_ room: SharedRoom) {
        guard self.isHost(of: room.id), self.isOnline else { return }
        let asked = self.machine.now
        self.ask(RenewRoomCode(RoomCodeWish(), of: room.id)) { [unowned self] answer in
            guard case .frame(let frame) = answer, let renewed = frame as? RoomCodeFrame else { return }
            self.learn(renewed.code, of: room, askedAt: asked)
        }
    }

    func update(_ change: RoomUpdate) {
        guard self.isHost(of: change.room), self.isOnline else { return }
        self.world.trace("\(self.name) updates room \(change.room)")
        self.ask(change) { [unowned self] answer in
            guard case .frame(let frame) = answer, let event = frame as? RoomEvent else { return }
            self.take(event)
        }
    }

    /// Tries commands that only participants may use.
    func intrude(into room: SharedRoom, at other: RoomDevice) {
        guard !self.isInvolved(in: room.id), self.isOnline else { return }
        self.world.trace("\(self.name) intrudes into room \(room.id)")
        self.ask(RoomJoin(.seat(room.id), keys: self.pair.publicKeys)) { [unowned self] answer in
            guard case .frame = answer, !self.record.mayHaveSeat(self, in: room.id) else { return }
            self.world.record.fault("\(self.name) enters room \(room.id) by its id alone")
        }
        let keys = PairKeys(secret: nil, other: other.pair.publicKeys, vias: [.code])
        guard
            let signal = try? keys.seal(
                SignalContent(.restart), in: room.id, from: self.id, to: other.id, at: .now, signer: self.pair)
        else { return }
        self.record.forges(signal)
        self.write(SendRoomSignal(.restart, signal, to: other.id, in: room.id), request: "forged")
    }

    /// The app dies. It remembers only its seats.
    func loseMemory() {
        self.world.trace("\(self.name) loses its memory")
        self.scene.stacks.dropAll(of: self)
        let rooms = self.visited.compactMap { self.scene.room($0) }
        self.visits = [:]
        self.hangUp(rest: .milliseconds(300))
        for room in rooms { self.enter(room, by: .seat) }
    }

    /// The app queries its seats, as after a wake-up.
    func lookAround() {
        guard self.isOnline else { return }
        self.ask(RoomList()) { [unowned self] answer in
            guard case .frame(let frame) = answer, let rooms = frame as? Rooms else { return }
            for state in rooms.rooms {
                self.record.sees(state, self)
                guard let room = self.scene.room(state.room) else { continue }
                if !self.isInvolved(in: room.id) { self.enter(room, by: .seat) }
            }
        }
    }

    // MARK: Asking

    override func bound() {
        for id in self.visited {
            self.visits[id]?.machine.disconnected()
            if let actions = self.visits[id]?.machine.connected() { self.perform(actions, in: id) }
        }
        for id in self.entries.keys.sorted(by: { "\($0)" < "\($1)" }) { self.ask(toEnter: id) }
        for id in self.leaving.sorted(by: { "\($0)" < "\($1)" }) { self.askToLeave(id) }
    }

    override func disconnected() {
        for id in self.visits.keys { self.visits[id]?.machine.disconnected() }
    }

    private func ask(toEnter id: UUIDText) {
        guard self.isOnline, let entry = self.entries[id] else { return }
        let asked = self.machine.now
        let answered: (Answer) -> Void = { [unowned self] answer in self.answered(id, answer, askedAt: asked) }
        let keys = self.pair.publicKeys
        self.record.asks(self, entry.room, by: entry.way)
        switch entry.way {
        case .create:
            let wish = RoomWish(room: id, participantsMax: entry.room.participantsMax, secret: entry.room.secret)
            self.ask(RoomCreate(wish, keys: keys), answered)
        case .code(let code):
            self.ask(RoomJoin(.code(code, pin: nil), keys: keys), answered)
        case .link: self.ask(RoomJoin(.link(id, entry.room.secret), keys: keys), answered)
        case .seat: self.ask(RoomJoin(.seat(id), keys: keys), answered)
        }
    }

    private func answered(_ id: UUIDText, _ answer: Answer, askedAt: Int64) {
        guard let entry = self.entries[id] else { return }
        switch answer {
        case .lost: break
        case .frame(let frame):
            guard let joined = frame as? RoomJoined, joined.room.room == id else { return }
            self.entries[id] = nil
            if entry.way == .create { entry.room.isCreated = true }
            self.record.enters(self, entry.room, by: entry.way, joined, firstAskedAt: entry.firstAskedAt)
            let secret = self.linked.contains(id) ? entry.room.secret : nil
            self.begin(joined, secret: secret, isReturning: entry.way == .seat)
            if let code = joined.code { self.learn(code, of: entry.room, askedAt: askedAt) }
        case .refused(let code, let pause):
            let mayTryAgain = code == .internalError || code == .rateLimited
            guard mayTryAgain, entry.failures < Self.attemptsMax else {
                self.world.trace("\(self.name) does not enter room \(id): \(code.rawValue)")
                self.entries[id] = nil
                return self.record.isRefused(self, entry.room, by: entry.way, code)
            }
            self.entries[id]?.failures += 1
            self.after(max(pause, Self.again)) { [unowned self] in self.ask(toEnter: id) }
        }
    }

    private func askToLeave(_ id: UUIDText) {
        guard self.isOnline, self.leaving.contains(id) else { return }
        self.ask(RoomLeave(id)) { [unowned self] answer in
            switch answer {
            case .lost: break
            case .frame:
                self.leaving.remove(id)
                self.linked.remove(id)
            case .refused(_, let pause):
                self.after(max(pause, Self.again)) { [unowned self] in self.askToLeave(id) }
            }
        }
    }

    private func rejoin(_ id: UUIDText) {
        guard self.visits[id] != nil, self.isOnline else { return }
        self.ask(RoomJoin(.seat(id), keys: self.pair.publicKeys)) { [unowned self] answer in
            switch answer {
            case .lost: break
            case .frame(let frame):
                guard let joined = frame as? RoomJoined else { return }
                self.take(joined)
                if let code = joined.code, let room = self.scene.room(id) {
                    self.learn(code, of: room, askedAt: self.machine.now)
                }
            case .refused(let code, let pause):
                let actions = self.visits[id]?.machine.joinFailed(
                    code, retryAfter: pause > 0 ? .nanoseconds(pause) : nil, at: .now)
                self.perform(actions ?? [], in: id)
            }
        }
    }

    private func learn(_ code: String?, of room: SharedRoom, askedAt: Int64) {
        let code = code.flatMap { JoinCode($0) }
        guard code != room.code else { return }
        if let old = room.code { room.formerCodes.append(old) }
        room.code = code
        if let code { self.record.draws(code, of: room) }
    }

    // MARK: Hearing

    override func take(_ frame: any ServerFrame) {
        switch frame {
        // The question's closure handles an answer.
        case let joined as RoomJoined: if !self.isAnswer { self.take(joined) }
        case let event as RoomEvent: if !self.isAnswer { self.take(event) }
        case let left as RoomLeft: if !self.isAnswer { self.visits[left.room]?.machine.seatIsGone(at: .now) }
        case let signal as RoomSignal: self.take(signal)
        default: break
        }
    }

    private func begin(_ joined: RoomJoined, secret: RoomSecret?, isReturning: Bool) {
        let id = joined.room.room
        if self.visits[id]?.machine.isOver ?? true {
            let seat = joined.room.participants.first { $0.participant == self.id }
            let hasSat = seat.map { $0.joinedAt + RoomLimits.absenceMax < .now } ?? false
            self.lives[id] = self.scene.talks.life()
            var visit = RoomVisit(
                joined, own: self.id, secret: secret, isReturning: isReturning || hasSat,
                talk: RoomTalks.machine(life: self.life(in: id)))
            _ = visit.machine.connected()
            self.visits[id] = visit
        }
        self.take(joined)
    }

    private func take(_ joined: RoomJoined) {
        let id = joined.room.room
        self.record.sees(joined.room, self)
        guard self.visits[id] != nil else { return }
        self.world.trace("\(self.name) has joined room \(id), revision \(joined.room.revision)")
        if let turn = joined.turn { self.visits[id]?.turn = turn }
        self.learn(joined.room)
        let actions = self.visits[id]?.machine.joined(self.seen(joined.room), at: .now) ?? []
        self.perform(actions, in: id)
    }

    private func take(_ event: RoomEvent) {
        let id = event.room.room
        self.world.trace(
            "\(self.name) hears \(event.event.rawValue) \(event.participant.map { "\($0)" } ?? ""), revision \(event.room.revision)"
        )
        self.record.hears(event, self)
        guard let before = self.visits[id]?.machine.shown?.revision, event.room.revision > before else { return }
        self.learn(event.room)
        let isOver = event.event == .closed || event.event == .removed
        if !isOver, self.visits[id]?.turn == nil, event.room.participants.count > 1 {
            return self.perform([.join], in: id)
        }
        let actions = self.visits[id]?.machine.changed(
            event.event, event.participant, self.seen(event.room), at: .now)
        self.perform(actions ?? [], in: id)
    }

    /// The room as seen by a client that offers from any seat.
    private func seen(_ room: RoomState) -> RoomState {
        guard self.world.mutation == .offersFromAnySeat else { return room }
        let participants = room.participants.map { one in
            RoomParticipant(
                participant: one.participant, seat: one.participant == self.id ? 0 : one.seat, via: one.via,
                isConnected: one.isConnected, joinedAt: one.joinedAt, signPublicKey: one.signPublicKey,
                encPublicKey: one.encPublicKey)
        }
        return RoomState(
            room: room.room, host: room.host, participantsMax: room.participantsMax, isLocked: room.isLocked,
            revision: room.revision, phase: room.phase, expiresAt: room.expiresAt, participants: participants)
    }

    private func learn(_ room: RoomState) {
        self.visits[room.room]?.learn(room)
        for peer in self.visits[room.room]?.forged ?? [] {
            self.world.record.fault("\(self.name) is given foreign keys of \(peer)")
        }
    }

    private func take(_ signal: RoomSignal) {
        let (id, sender) = (signal.room, signal.signal.from)
        self.record.gets(signal, self)
        guard let visit = self.visits[id], signal.to == self.id else { return }
        guard let keys = visit.keys(of: sender) else {
            let actions = self.visits[id]?.machine.received(
                SignalContent(signal.kind), from: sender, signal.signal.timestamp, serverTime: .now, at: .now)
            return self.perform(actions ?? [], in: id)
        }
        guard let content = keys.open(signal.signal, signal.kind, in: id, to: self.id, reader: self.pair) else {
            return self.record.isLocked(signal, self)
        }
        self.world.trace("\(self.name) gets \(signal.kind.rawValue) of \(sender)")
        let actions = self.visits[id]?.machine.received(
            content, from: sender, signal.signal.timestamp, serverTime: .now, at: .now)
        self.perform(actions ?? [], in: id)
    }

    override func refused(_ request: String, _ code: ErrorCode, retryAfter: Duration?) {
        guard let id = UUIDText(request) else { return }
        self.visits[id]?.machine.signalRefused(code, at: .now)
    }

    /// The WebRTC stack reports.
    func hears(_ report: LinkReport, of peer: PrincipalID, number: Int, in id: UUIDText) {
        guard let actions = self.visits[id]?.machine.heard(report, of: peer, number: number, at: .now) else { return }
        self.perform(actions, in: id)
        switch report {
        case .connected:
            self.perform(self.visits[id]?.talk.opened(peer, link: number, at: .now) ?? [], in: id)
        case .low: self.perform(self.visits[id]?.talk.low(peer, link: number) ?? [], in: id)
        case .offer, .answer, .candidate, .failed: break
        }
        self.moveOn()
    }

    /// A message has come over a connection.
    func hears(_ text: String, of peer: PrincipalID, number: Int, in id: UUIDText) {
        guard self.visits[id]?.machine.link(to: peer) == number else { return }
        self.perform(self.visits[id]?.talk.heard(text, from: peer, link: number, at: .now) ?? [], in: id)
        self.moveOn()
    }

    private func perform(_ actions: [TalkMachine.Action], in id: UUIDText) {
        for action in actions {
            switch action {
            case .write(let peer, let number, let channel, let text):
                guard channel == .talk else {
                    self.world.record.fault("\(self.name) takes \(peer) for plain")
                    continue
                }
                let (written, receipt) = self.scene.talks.sends(text, by: self, to: peer)
                if let written { self.scene.stacks.carry(written, self, id, number: number) }
                if let receipt { self.hears(receipt, of: peer, number: number, in: id) }
            case .heard(_, let message): self.scene.talks.shows(message, at: self, in: id)
            case .state(let message, let peer, let state): self.scene.talks.turns(message, peer, state, at: self)
            case .person, .left: break
            case .broke(let peer, _): self.world.record.fault("\(self.name) takes \(peer) for hostile")
            }
        }
    }

    override func pump() -> ContinuousClock.Instant? {
        for id in self.visited {
            if let actions = self.visits[id]?.machine.timerFired(at: .now) { self.perform(actions, in: id) }
            if let actions = self.visits[id]?.talk.timerFired(at: .now) { self.perform(actions, in: id) }
        }
        return self.visits.values.flatMap { [$0.machine.nextWake, $0.talk.nextWake].compactMap(\.self) }.min()
    }

    private func perform(_ actions: [MeshMachine.Action], in id: UUIDText) {
        if let visit = self.visits[id] {
            let seats = self.scene.talks.seats(visit.othersSeats) { visit.talk.person($0) != nil }
            self.perform(self.visits[id]?.talk.seen(seats) ?? [], in: id)
        }
        for action in actions {
            switch action {
            case .join: self.rejoin(id)
            case .signal(let kind, let peer, let content): self.signal(kind, content, to: peer, in: id)
            case .link(let peer, let number, let order):
                self.scene.stacks.perform(order, self, id, peer, number: number)
                guard let link = order.link(number) else { continue }
                self.perform(self.visits[id]?.talk.began(peer, link: link) ?? [], in: id)
                if link > 0, self.world.mutation == .takesBeforeHello {
                    self.hears(RoomTalks.early[0], of: peer, number: link, in: id)
                }
            case .changed: break
            case .over(let end):
                self.world.trace("room \(id) is over for \(self.name): \(end)")
                self.visits[id] = nil
                if end != .broken { self.linked.remove(id) }
                if end == .broken { self.world.record.fault("\(self.name) is told that its frames are wrong") }
            }
        }
    }

    private func signal(_ kind: RoomSignalKind, _ content: SignalContent, to peer: PrincipalID, in id: UUIDText) {
        guard self.isOnline, let keys = self.visits[id]?.keys(of: peer),
            let time = self.visits[id]?.nextSignalTime(.now),
            let signal = try? keys.seal(content, in: id, from: self.id, to: peer, at: time, signer: self.pair)
        else { return }
        self.record.sends(signal, kind, to: peer, in: id, self)
        self.write(SendRoomSignal(kind, signal, to: peer, in: id), request: "\(id)")
    }
}
