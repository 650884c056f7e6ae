import Contract
import NIOCore

/// Opens rooms, lets guests join at a steady rate, then has both sides signal at a steady rate, and counts what is heard.
final class RoomTraffic: FrameListener {
    private enum Role {
        case host(RoomPair)
        case guest(RoomPair)
    }

    /// The work that is done at the steady rate now.
    private enum Work {
        case joins, signals
    }

    let pairs: [RoomPair]
    private let signalsOfEach: Int
    private var roles: [Int: Role] = [:]
    private(set) var created = 0
    private(set) var open = 0
    private(set) var signalled = 0
    private(set) var heard = 0
    private(set) var unexpected = 0
    private(set) var told = Latency("join due until both are told")
    private(set) var relayed = Latency("signal due until heard")
    private(set) var lateness = Latency("this tool's own lateness")
    private var work: (work: Work, schedule: SteadySchedule)?
    private var turn = 0

    init(_ pairs: [RoomPair], signalsOfEach: Int) {
        self.pairs = pairs
        self.signalsOfEach = signalsOfEach
        for pair in pairs {
            self.roles[pair.host.number] = .host(pair)
            self.roles[pair.guest.number] = .guest(pair)
        }
    }

    var signalsInAll: Int { self.pairs.count * self.signalsOfEach }

    // MARK: Speaking

    func create(_ pair: RoomPair, on fleet: isolated Fleet) { fleet.write(to: pair.host, pair.create) }

    func startJoins(rate: Int, on fleet: isolated Fleet) { self.start(.joins, rate, on: fleet) }

    func startSignals(rate: Int, on fleet: isolated Fleet) { self.start(.signals, rate, on: fleet) }

    private func start(_ work: Work, _ rate: Int, on fleet: isolated Fleet) {
        self.work = (work, SteadySchedule(rate: rate))
        self.turn = 0
        self.alarmRang(on: fleet)
    }

    func alarmRang(on fleet: isolated Fleet) {
        guard let (work, known) = self.work else { return }
        var schedule = known
        let now = NIODeadline.now().uptimeNanoseconds
        while let due = schedule.next(by: now) {
            self.lateness.record(nanoseconds: now - due)
            guard self.perform(work, dueAt: due, on: fleet) else {
                self.work = nil
                return
            }
        }
        self.work = (work, schedule)
        fleet.setAlarm(at: .uptimeNanoseconds(schedule.due))
    }

    /// - Returns: whether there was something left to do.
    private func perform(_ work: Work, dueAt time: UInt64, on fleet: isolated Fleet) -> Bool {
        switch work {
        case .joins:
            guard self.turn < self.pairs.count else { return false }
            self.pairs[self.turn].joinDueAt = time
            fleet.write(to: self.pairs[self.turn].guest, self.pairs[self.turn].join)
        case .signals:
            guard self.turn < self.signalsInAll else { return false }
            let signal = self.pairs[self.turn % self.pairs.count].nextSignal(dueAt: time)
            fleet.write(to: signal.from, signal.frame)
            self.signalled += 1
        }
        self.turn += 1
        return true
    }

    // MARK: Hearing

    func heard(_ frame: FrameBytes, on client: Client, of fleet: isolated Fleet) {
        if frame.kind == .error {
            return fleet.noteTrouble(
                "error \(frame.text(#""code":""#) ?? "?"): \(frame.text(#""message":""#) ?? "")")
        }
        switch (self.roles[client.number], frame.room) {
        case (.host(let pair), .signal):
            self.count(pair.underWayToHost.isEmpty ? nil : pair.underWayToHost.removeFirst())
        case (.guest(let pair), .signal):
            self.count(pair.underWayToGuest.isEmpty ? nil : pair.underWayToGuest.removeFirst())
        case (.host, .joined): self.created += 1
        case (.host(let pair), .event):
            pair.hasHostHeard = true
            self.opened(pair)
        case (.guest(let pair), .joined):
            pair.isGuestIn = true
            self.opened(pair)
        case (_, .event), (_, .other), (nil, _): self.unexpected += 1
        }
    }

    private func opened(_ pair: RoomPair) {
        guard pair.isOpen else { return }
        self.open += 1
        self.told.record(nanoseconds: NIODeadline.now().uptimeNanoseconds - pair.joinDueAt)
    }

    private func count(_ dueAt: UInt64?) {
        guard let dueAt else {
            self.unexpected += 1
            return
        }
        self.heard += 1
        self.relayed.record(nanoseconds: NIODeadline.now().uptimeNanoseconds - dueAt)
    }
}

extension FrameBytes {
    fileprivate enum RoomKind {
        case joined, event, signal, other
    }

    private static let roomKinds: [(start: [UInt8], kind: RoomKind)] = [
        (Self.start(of: RoomSignal.type), .signal), (Self.start(of: RoomEvent.type), .event),
        (Self.start(of: RoomJoined.type), .joined),
    ]

    fileprivate var room: RoomKind {
        for (start, kind) in Self.roomKinds where self.begins(with: start) { return kind }
        return .other
    }
}
