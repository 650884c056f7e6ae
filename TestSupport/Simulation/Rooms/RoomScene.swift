import Contract
import Store
import StoreModel

@testable import WhisperClient

/// Rooms in a world: four identities and two guests that create, join, signal, leave, remove each other and return.
final class RoomScene {
    private unowned let world: World
    private(set) var record: RoomRecord!
    private(set) var stacks: WebRTCStacks!
    private(set) var talks: RoomTalks!
    private var devices: [RoomDevice] = []
    private var rooms: [SharedRoom] = []
    /// Chance in a thousand that a device acts in a second.
    private let diligence: Int
    /// The last acts, by the machine's clock.
    private var lastActs: [(at: Int64, act: () -> Void)] = []
    private var quietFrom: Int64?

    private static let guests = 2
    private static let roomsMax = 12
    private static let openRoomsMax = 3
    /// Times from the end of the faults: devices query their seats, hosts change their rooms, and a device disconnects
    /// and returns.
    private static let lastLook: Int64 = .seconds(25)
    private static let lastAbsence: Int64 = .seconds(35)
    private static let lastReturn: Int64 = .seconds(60)
    /// The host stays away until it is replaced: `RoomLimits.hostAbsenceMax`, and the delay until an absence is seen.
    private static let hostsReturn: Int64 = .seconds(360)
    /// How long after that all pairs may take to connect, and all participants to get the newest revision.
    static let settleMax: Int64 = .seconds(150)

    init(in world: World) {
        self.world = world
        let machine = world.machine
        self.diligence = [60, 150, 300][Int.random(in: 0...2, using: &machine.random)]
        self.record = RoomRecord(world)
        self.stacks = WebRTCStacks(world)
        self.talks = RoomTalks(world)
        for (number, person) in Identities.all.enumerated() {
            let isGuest = number >= Identities.all.count - Self.guests
            if !isGuest {
                world.postgres.tables.auth.identities[person.identity] = .init(
                    signKey: person.signPublicKey, encKey: person.encPublicKey, epoch: 0)
            }
            self.devices.append(RoomDevice(person, isGuest: isGuest, in: world))
        }
    }

    private var machine: Machine { self.world.machine }
    private func happens(_ chance: Int) -> Bool { Int.random(in: 0..<1_000, using: &self.machine.random) < chance }
    private func some(_ most: Int64) -> Int64 { Int64.random(in: 0...most, using: &self.machine.random) }
    private func one<T>(_ list: [T]) -> T? { list.randomElement(using: &self.machine.random) }

    func room(_ id: UUIDText) -> SharedRoom? { self.rooms.first { $0.id == id } }
    func id(of number: Int) -> PrincipalID? { self.devices.indices.contains(number) ? self.devices[number].id : nil }
    func device(_ id: PrincipalID) -> RoomDevice? { self.devices.first { $0.id == id } }

    private func stored(_ room: SharedRoom) -> RoomTables.Room? { self.world.postgres.tables.rooms.room(room.id) }

    // MARK: Time

    /// Called every fifth of a second.
    func tick() {
        for device in self.devices { device.tick() }
        self.record.judgeStore()
        while let next = self.lastActs.first, next.at <= self.machine.now {
            self.lastActs.removeFirst()
            next.act()
        }
    }

    /// Called every second while faults happen.
    /// - Parameter lines: chance in a thousand of a fault at a device.
    func everySecond(lines: Int) {
        for device in self.devices where self.happens(lines) { self.trouble(device) }
        for device in self.devices where self.happens(self.diligence) { self.act(device) }
        for device in self.devices {
            for room in device.visited where self.talks.happens(100) { device.say(in: room) }
        }
        // Two devices join by one code at the same time.
        if self.happens(self.diligence), let room = self.one(self.openRooms), let code = room.code {
            for device in self.devices.shuffled(using: &self.machine.random).prefix(2) {
                device.enter(room, by: .code(code))
            }
        }
    }

    private var openRooms: [SharedRoom] { self.rooms.filter { $0.isCreated && !$0.isOver && self.stored($0) != nil } }

    private func act(_ device: RoomDevice) {
        let own = device.visited.compactMap { self.room($0) }
        let others = self.openRooms.filter { !device.isInvolved(in: $0.id) }
        switch Int.random(in: 0..<20, using: &self.machine.random) {
        case 0, 1, 2:
            guard self.openRooms.count < Self.openRoomsMax, self.rooms.count < Self.roomsMax else { return }
            let room = SharedRoom(
                self.rooms.count, participantsMax: Int.random(in: 2...4, using: &self.machine.random))
            self.rooms.append(room)
            device.enter(room, by: .create)
        case 3, 4, 5, 6:
            guard let room = self.one(others) else { return }
            // Some devices use an old code.
            let former = self.machine.random.isOne(in: 4) ? self.one(room.formerCodes) : nil
            if let code = former ?? room.code ?? room.formerCodes.last { device.enter(room, by: .code(code)) }
        case 7, 8, 9: if let room = self.one(others) { device.enter(room, by: .link) }
        case 10:
            guard let room = self.one(own) else { return }
            if self.machine.random.isOne(in: 2) { device.leave(room.id) } else { device.returnAtOnce(to: room) }
        case 11, 12:
            guard let room = self.one(own.filter { device.isHost(of: $0.id) }) else { return }
            let peers = self.devices.filter { $0 !== device && $0.visit(room.id) != nil }
            if let peer = self.one(peers) { device.remove(peer, from: room) }
        case 13: if let room = self.one(own) { device.renewCode(room) }
        case 14, 15: if let room = self.one(own) { self.update(room, by: device) }
        case 16: if self.machine.random.isOne(in: 3), let room = self.one(own) { device.close(room) }
        case 17:
            guard let room = self.one(others), let peer = self.one(self.devices.filter { $0.visit(room.id) != nil })
            else { return }
            device.intrude(into: room, at: peer)
        default: self.stacks.renegotiate(device)
        }
    }

    private func update(_ room: SharedRoom, by device: RoomDevice) {
        guard let shown = device.visit(room.id)?.shown else { return }
        if self.machine.random.isOne(in: 2) {
            device.update(RoomUpdate(room.id, isLocked: !shown.isLocked))
        } else if let other = self.one(shown.participants) {
            device.update(RoomUpdate(room.id, host: other.participant))
        }
    }

    private func trouble(_ device: RoomDevice) {
        let rest = self.some(.seconds(25))
        let hears = self.some(.seconds(20))
        switch Int.random(in: 0..<8, using: &self.machine.random) {
        case 0, 1: device.hangUp(rest: rest)
        case 2, 3:
            device.loseNetwork(gatewayHearsAfter: hears, rest: rest)
            self.stacks.breakSome(of: device)
        case 4: device.enterTunnel(for: self.some(.seconds(25)))
        case 5: self.stacks.breakSome(of: device)
        case 6: device.loseSession()
        default: device.loseMemory()
        }
        device.troubledUntil = self.machine.now + .seconds(25) + RoomRecord.mendedAfter
    }

    // MARK: The end

    /// Faults end. All devices find their seats. The hosts change their rooms, so that all get the newest revision. In
    /// some worlds a device disconnects and returns, or a host stays away until it is replaced.
    func calmDown() {
        let start = self.machine.now
        self.lastActs = [
            (start + Self.lastLook, { [unowned self] in for device in self.devices { device.lookAround() } })
        ]
        let ending = Int.random(in: 0..<4, using: &self.machine.random)
        self.lastActs.append((start + Self.lastAbsence, { [unowned self] in self.tellNewest() }))
        var end = Self.lastAbsence
        if ending > 0 {
            let areHosts = ending == 3
            end = areHosts ? Self.hostsReturn : Self.lastReturn
            self.lastActs.append(
                (
                    start + Self.lastAbsence + .seconds(2),
                    { [unowned self] in self.sendAway(areHosts, until: start + end) }
                ))
        }
        self.quietFrom = start + end + .seconds(3)
    }

    /// The next event makes up for lost ones.
    private func tellNewest() {
        for room in self.openRooms {
            guard let host = self.devices.first(where: { $0.isHost(of: room.id) }),
                let shown = host.visit(room.id)?.shown
            else { continue }
            host.update(RoomUpdate(room.id, isLocked: !shown.isLocked))
        }
    }

    /// - Parameter areHosts: a host disconnects, and not just any device.
    private func sendAway(_ areHosts: Bool, until end: Int64) {
        let seated = self.devices.filter { device in
            device.visited.contains { !areHosts || device.isHost(of: $0) }
        }
        guard let device = self.one(seated) else { return }
        device.sleep()
        self.lastActs.append((end, { device.wakeUp() }))
    }

    var isQuiet: Bool {
        guard let quietFrom, self.machine.now > quietFrom else { return false }
        return self.problems.isEmpty || self.machine.now > quietFrom + Self.settleMax
    }

    func judge() { for problem in self.problems { self.world.record.fault(problem) } }

    /// Violations at the end.
    private var problems: [String] {
        var problems = self.devices.filter(\.isBusy).map { "\($0.name) waits for an answer" }
        for device in self.devices {
            for id in device.visited where self.room(id).flatMap({ self.stored($0) }) == nil {
                problems.append("\(device.name) is in room \(id), which is over")
            }
        }
        for room in self.rooms {
            guard let stored = self.stored(room) else { continue }
            let seated = self.devices.filter { stored.participants[.init($0.id)] != nil }
            if seated.count != stored.participants.count { problems.append("somebody unknown is in room \(room.id)") }
            for device in seated {
                let name = device.name
                guard device.isIn(room.id) else {
                    problems.append("\(name) has a seat in room \(room.id), and is not there")
                    continue
                }
                if stored.participants[.init(device.id)]?.node == nil {
                    problems.append("\(name) is in room \(room.id), and counts as away")
                }
                let revision = device.visit(room.id)?.shown?.revision ?? 0
                if revision != stored.revision {
                    problems.append("\(name) knows revision \(revision) of room \(room.id), not \(stored.revision)")
                }
            }
            for device in self.devices where device.visit(room.id) != nil && !seated.contains(where: { $0 === device })
            {
                problems.append("\(device.name) is in room \(room.id), and has no seat there")
            }
            problems += self.unlinked(seated, in: room.id)
        }
        problems += self.talks.problems { id, peer in
            let stored = self.room(id).flatMap { self.stored($0) }
            return stored?.participants[.init(peer)].map { Int($0.seat) }
        }
        return problems
    }

    private func unlinked(_ seated: [RoomDevice], in room: UUIDText) -> [String] {
        var problems: [String] = []
        for (index, one) in seated.enumerated() {
            for other in seated.dropFirst(index + 1) {
                let know =
                    one.visit(room)?.isLinked(to: other.id) == true && other.visit(room)?.isLinked(to: one.id) == true
                if !know || !self.stacks.areConnected(one, other, in: room) {
                    problems.append("\(one.name) and \(other.name) are not connected in room \(room)")
                }
            }
        }
        return problems
    }

    /// Releases all devices.
    func end() {
        self.stacks.end()
        (self.devices, self.lastActs) = ([], [])
    }
}
