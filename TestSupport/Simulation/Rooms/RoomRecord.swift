import Contract
import Participants
import StoreModel

/// The record of frames about rooms, which reports violations (contract §15).
///
/// - **Seats:** a seat is given once, is never given again, and there are never more than `participantsMax`.
/// - **Revisions:** two states of one revision are equal, and are stored before they are sent.
/// - **Codes:** no code opens its room after the room was full or had a newer code.
/// - **Removed:** nothing is sent after the removal, and neither the link nor an older code admits the removed
///   participant.
/// - **Strangers:** an event reaches only participants that have a seat then or are removed by it, a signal only its
///   addressee.
/// - **Signals:** between two connected participants each arrives once and in order, unless a fault happened shortly
///   before.
/// - **Hosts:** an automatic host has the lowest connected seat, or else the lowest of all.
final class RoomRecord {
    private struct Seat {
        var holder: PrincipalID
        var joinedAt: Timestamp
        var firstSeen: Int64
        var lastSeen: Int64
        /// The lowest later revision without it.
        var goneAt: Int64?
    }

    private struct State: Equatable {
        var host: PrincipalID
        var isLocked: Bool
        var phase: RoomState.Phase
        var participants: [RoomParticipant]
    }

    private struct Room {
        var seats: [Int: Seat] = [:]
        var states: [Int64: State] = [:]
        /// When the host received each code, by the machine's clock, and since when it is spent.
        var codes: [JoinCode: (drawnAt: Int64, spentAt: Timestamp?)] = [:]
    }

    private struct Member: Hashable {
        var room: UUIDText
        var id: PrincipalID
    }

    private struct Removal {
        var revision: Int64
        /// The machine's clock.
        var askedAt: Int64
        var answeredAt: Int64
    }

    private struct Pair: Hashable {
        var from: PrincipalID
        var to: PrincipalID
        var room: UUIDText
    }

    /// The seats of a sender and its addressee.
    private struct Seats: Equatable {
        var own: Int?
        var peer: Int?
    }

    private struct Sent {
        var pair: Pair
        /// The machine's clock.
        var at: Int64
        /// Counts the signals of the pair.
        var number: Int
        /// The seats as the sender knew them.
        var seats: Seats
        var arrivals = 0
    }

    private unowned let world: World
    private var rooms: [UUIDText: Room] = [:]
    private var removals: [Member: Removal] = [:]
    private var callers: Set<Member> = []
    private var signals: [[UInt8]: Sent] = [:]
    private var forged: Set<[UInt8]> = []
    private var sentCounts: [Pair: Int] = [:]
    /// The highest number received of each pair.
    private var heardCounts: [Pair: Int] = [:]
    private(set) var signalCount = 0
    var seatCount: Int { self.rooms.values.reduce(0) { $0 + $1.seats.count } }

    /// From the end of faults to full recovery: a gateway's silence of `OwnerLimits.reportsMissedFor`, and a report.
    static let mendedAfter: Int64 = .seconds(21)
    /// The same for a repeated batch.
    static let repeatedAfter: Int64 = .seconds(8)
    /// A signal's whole way without faults.
    static let arrivalMax: Int64 = .seconds(3)
    /// A host's absence is checked once a batch.
    static let handOverMax: Int64 = .seconds(3)

    init(_ world: World) { self.world = world }

    private var now: Int64 { self.world.machine.now }
    private var tables: RoomTables { self.world.postgres.tables.rooms }
    private func fault(_ text: String) { self.world.record.fault(text) }
    /// Whether the cluster had a fault since shortly before this time.
    private func isTroubled(since: Int64, _ before: Int64 = RoomRecord.mendedAfter) -> Bool {
        self.world.troubledUntil > since - before
    }

    // MARK: States

    /// A device has received a state.
    func sees(_ state: RoomState, _ device: RoomDevice) {
        let id = state.room
        if state.participants.count > state.participantsMax {
            self.fault("\(device.name) sees \(state.participants.count) of \(state.participantsMax) in room \(id)")
        }
        let stored = self.tables.room(id)
        if state.phase == .closed {
            if stored != nil { self.fault("\(device.name) hears that room \(id) is over, and it is stored") }
        } else if let stored, stored.revision < state.revision {
            self.fault("revision \(state.revision) of room \(id) is told and not stored")
        }
        var room = self.rooms[id] ?? Room()
        let plain = State(
            host: state.host, isLocked: state.isLocked, phase: state.phase, participants: state.participants)
        if let known = room.states[state.revision], known != plain {
            self.fault("room \(id) has two states of revision \(state.revision)")
        }
        room.states[state.revision] = plain
        self.learnSeats(state, &room)
        if state.participants.count >= state.participantsMax, let fullAt = state.participants.map(\.joinedAt).max() {
            for (code, fate) in room.codes where fate.drawnAt / 1_000_000 < fullAt.milliseconds {
                room.codes[code]!.spentAt = min(fate.spentAt ?? fullAt, fullAt)
            }
        }
        self.rooms[id] = room
    }

    private func learnSeats(_ state: RoomState, _ room: inout Room) {
        let revision = state.revision
        for one in state.participants {
            guard var seat = room.seats[one.seat] else {
                room.seats[one.seat] = Seat(
                    holder: one.participant, joinedAt: one.joinedAt, firstSeen: revision, lastSeen: revision)
                continue
            }
            if seat.holder != one.participant || seat.joinedAt != one.joinedAt {
                self.fault(
                    "seat \(one.seat) of room \(state.room) is given to \(seat.holder) and to \(one.participant)")
            }
            seat.firstSeen = min(seat.firstSeen, revision)
            seat.lastSeen = max(seat.lastSeen, revision)
            room.seats[one.seat] = seat
        }
        let seated = Set(state.participants.map(\.seat))
        for (number, known) in room.seats {
            var seat = known
            if !seated.contains(number), revision > seat.firstSeen {
                seat.goneAt = min(seat.goneAt ?? revision, revision)
            }
            if let goneAt = seat.goneAt, seat.lastSeen > goneAt {
                self.fault("seat \(number) of room \(state.room) comes back")
            }
            room.seats[number] = seat
        }
    }

    func hears(_ event: RoomEvent, _ device: RoomDevice) {
        let state = event.room
        self.sees(state, device)
        let hasSeat = state.participants.contains { $0.participant == device.id }
        if !hasSeat, !(event.event == .removed && event.participant == device.id) {
            self.fault("\(device.name) hears \(event.event.rawValue) of room \(state.room), and has no seat there")
        }
        guard event.event == .host, event.by == nil else { return }
        let bySeat = state.participants.sorted { $0.seat < $1.seat }
        let heir = bySeat.first(where: \.isConnected) ?? bySeat.first
        if heir?.participant != state.host {
            self.fault(
                "room \(state.room) has host \(state.host), and not \(heir.map { "\($0.participant)" } ?? "nobody")")
        }
    }

    // MARK: Coming in

    func asks(_ device: RoomDevice, _ room: SharedRoom, by way: RoomDevice.Way) {
        self.callers.insert(Member(room: room.id, id: device.id))
    }

    /// Whether the device has asked for a seat before.
    func mayHaveSeat(_ device: RoomDevice, in room: UUIDText) -> Bool {
        self.callers.contains(Member(room: room, id: device.id))
    }

    func draws(_ code: JoinCode, of room: SharedRoom) {
        guard self.rooms[room.id]?.codes[code] == nil else { return }
        for (other, fate) in self.rooms[room.id]?.codes ?? [:] where fate.spentAt == nil {
            self.rooms[room.id]!.codes[other]!.spentAt = .now
        }
        self.rooms[room.id, default: Room()].codes[code] = (self.now, nil)
    }

    func enters(
        _ device: RoomDevice, _ room: SharedRoom, by way: RoomDevice.Way, _ joined: RoomJoined, firstAskedAt: Int64
    ) {
        let name = device.name
        guard let own = joined.room.participants.first(where: { $0.participant == device.id }), own.seat == joined.seat
        else { return self.fault("\(name) enters room \(room.id), and does not sit there") }
        let member = Member(room: room.id, id: device.id)
        let removal = self.removals[member].flatMap { $0.revision < joined.room.revision ? $0 : nil }
        switch way {
        case .code(let code):
            let fate = self.rooms[room.id]?.codes[code]
            let isNew = own.joinedAt.milliseconds >= firstAskedAt / 1_000_000
            if isNew, let spentAt = fate?.spentAt, own.joinedAt > spentAt {
                self.fault("\(name) enters room \(room.id) by a code that was spent")
            }
            if let removal, let fate, fate.drawnAt < removal.askedAt {
                self.fault("\(name) was removed from room \(room.id), and comes back by an old code")
            }
        case .link, .seat:
            if removal != nil { self.fault("\(name) was removed from room \(room.id), and comes back") }
        case .create: break
        }
        self.removals[member] = nil
    }

    func isRefused(_ device: RoomDevice, _ room: SharedRoom, by way: RoomDevice.Way, _ code: ErrorCode) {
        switch code {
        // The server was unavailable for longer than a device retries.
        case .internalError, .rateLimited: break
        case .notFound, .forbidden: break
        default: self.fault("\(device.name) hears \(code.rawValue) at the door of room \(room.id)")
        }
    }

    /// The host got the answer to a removal.
    func removed(_ device: RoomDevice, from room: SharedRoom, _ state: RoomState, askedAt: Int64) {
        self.removals[Member(room: room.id, id: device.id)] = Removal(
            revision: state.revision, askedAt: askedAt, answeredAt: self.now)
    }

    // MARK: Signals

    func sends(
        _ signal: LiveSigned, _ kind: RoomSignalKind, to peer: PrincipalID, in room: UUIDText, _ device: RoomDevice
    ) {
        let pair = Pair(from: device.id, to: peer, room: room)
        self.signalCount += 1
        self.sentCounts[pair, default: 0] += 1
        self.signals[signal.nonce] = Sent(
            pair: pair, at: self.now, number: self.sentCounts[pair]!,
            seats: self.seats(from: device.id, to: peer, in: room, as: device))
        guard let other = self.world.rooms?.device(peer), self.areSettled(device, other, room) else { return }
        let lines = (device.lineNumber, other.lineNumber)
        self.world.machine.after(Self.arrivalMax) { [unowned self] in
            guard let sent = self.signals[signal.nonce], sent.arrivals == 0, !self.isTroubled(since: sent.at),
                lines == (device.lineNumber, other.lineNumber), self.areSettled(device, other, room)
            else { return }
            self.fault("\(kind.rawValue) of \(device.name) does not reach \(other.name)")
        }
    }

    /// Whether both are connected by their own view and the store's, with the newest revision.
    private func areSettled(_ one: RoomDevice, _ other: RoomDevice, _ id: UUIDText) -> Bool {
        guard one.isIn(id), other.isIn(id), let room = self.tables.room(id) else { return false }
        return [one, other].allSatisfy { device in
            device.troubledUntil < self.now && room.participants[.init(device.id)]?.node != nil
                && device.visit(id)?.shown?.revision == room.revision
        }
    }

    /// A forged signal must not reach any device.
    func forges(_ signal: LiveSigned) { self.forged.insert(signal.nonce) }

    func gets(_ signal: RoomSignal, _ device: RoomDevice) {
        let nonce = signal.signal.nonce
        if self.forged.contains(nonce) {
            // The sender may have a seat unknowingly: the answer was lost, and it has given up.
            guard self.tables.room(signal.room)?.participants[.init(signal.signal.from)] == nil else { return }
            return self.fault("\(device.name) gets the signal of a stranger")
        }
        let pair = Pair(from: signal.signal.from, to: device.id, room: signal.room)
        guard let sent = self.signals[nonce], sent.pair == pair, signal.to == device.id else {
            return self.fault("\(device.name) gets a signal that nobody sent it")
        }
        self.signals[nonce]!.arrivals += 1
        if sent.arrivals > 0, !self.isTroubled(since: sent.at, Self.repeatedAfter) {
            self.fault("twice: \(device.name) gets \(signal.kind.rawValue) of \(pair.from)")
        }
        if sent.number < self.heardCounts[pair] ?? 0, sent.arrivals == 0,
            !self.isTroubled(since: sent.at, Self.repeatedAfter)
        {
            self.fault("out of order: \(device.name) gets \(signal.kind.rawValue) of \(pair.from)")
        }
        self.heardCounts[pair] = max(self.heardCounts[pair] ?? 0, sent.number)
        if let removal = self.removals[Member(room: signal.room, id: device.id)], sent.at > removal.answeredAt,
            !device.isInvolved(in: signal.room)
        {
            self.fault("\(device.name) was removed from room \(signal.room), and gets what was signalled later")
        }
    }

    /// The addressee cannot open a signal.
    func isLocked(_ signal: RoomSignal, _ device: RoomDevice) {
        // Keys belong to seats. One participant may not know yet that the other has taken a new seat in another way.
        let from = signal.signal.from
        let seats = self.seats(from: from, to: device.id, in: signal.room, as: device)
        guard self.signals[signal.signal.nonce]?.seats == seats else { return }
        self.fault("\(device.name) cannot open \(signal.kind.rawValue) of \(signal.signal.from)")
    }

    private func seats(from: PrincipalID, to peer: PrincipalID, in room: UUIDText, as device: RoomDevice) -> Seats {
        func seat(_ id: PrincipalID) -> Int? {
            device.visit(room)?.shown?.participants.first { $0.participant == id }?.seat
        }
        return Seats(own: seat(from), peer: seat(peer))
    }

    // MARK: The store

    /// Invariants that must hold at any time.
    func judgeStore() {
        for (uuid, room) in self.tables.rooms {
            let id = UUIDText(high: uuid.high, low: uuid.low)
            let seats = room.participants.values.map(\.seat)
            if seats.count > room.participantsMax {
                self.fault("room \(id) has \(seats.count) of \(room.participantsMax)")
            }
            if Set(seats).count != seats.count { self.fault("two share a seat of room \(id)") }
            if room.participants[room.host] == nil { self.fault("room \(id) has a host without a seat") }
            if seats.count >= room.participantsMax, self.tables.hasOpenCode(id) {
                self.fault("room \(id) is full and has a code")
            }
            guard let since = room.participants[room.host]?.awaySince,
                room.participants.values.contains(where: { $0.node != nil })
            else { continue }
            let end = since.milliseconds * 1_000_000 + RoomLimits.hostAbsenceMax.nanoseconds + Self.handOverMax
            if end < self.now, !self.isTroubled(since: self.now) {
                self.fault("the host of room \(id) has been away for too long")
            }
        }
    }
}
