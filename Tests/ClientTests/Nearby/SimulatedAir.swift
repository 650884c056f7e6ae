import Contract
import TestKit

@testable import WhisperClient

/// Machines in one air, in one thread and under a clock of its own. A phone's actions reach the others later.
///
/// Packets from one phone to another over one connection keep their order. All else may overtake.
struct SimulatedAir {
    struct Faults {
        /// Packets in a hundred that do not arrive, and that arrive though their answer says no.
        var dropped = 0
        var unanswered = 0
        var full = 0
        /// The longest way, in milliseconds.
        var delay = 100
        var mtu = 185
        /// Whether phones have another name as a central.
        var hasTwoNames = false
    }

    struct Phone {
        var machine: NearbyMachine
        var name: String
        var isOn = true
        var title: String?
        var isScanning = false
        var isFull = false
        var events: [NearbyEvent] = []
        /// As a central: peripherals, and what we have subscribed to there.
        var peripherals: [Int: Set<UUIDText>] = [:]
    }

    private struct Delivery {
        let at: ContinuousClock.Instant
        let order: Int
        let to: Int
        let event: RadioEvent
    }

    var phones: [Phone] = []
    var now = start
    var faults: Faults
    private var random: SeededGenerator
    private var deliveries: [Delivery] = []
    private var lastAt: [String: ContinuousClock.Instant] = [:]
    private var order = 0
    private(set) var packets = 0

    init(_ count: Int, faults: Faults = Faults(), seed: UInt64) {
        self.faults = faults
        self.random = SeededGenerator(seed: seed)
        for number in 0..<count {
            var random = SeededGenerator(seed: seed &* 31 &+ UInt64(number))
            let identity = (0..<Fragment.greetingBytes).map { _ in UInt8.random(in: 0...255, using: &random) }
            let mtu = faults.mtu
            self.phones.append(Phone(machine: NearbyMachine(identity: identity) { _ in mtu }, name: "phone\(number)"))
        }
        for number in 0..<count { self.deliver(.state(.on), to: number, way: "state") }
    }

    // MARK: What a test does

    /// The name of a phone for the others, as a peripheral.
    func peer(_ number: Int) -> NearbyPeer { NearbyPeer(name: self.phones[number].name) }

    mutating func act(_ number: Int, _ body: (inout NearbyMachine, ContinuousClock.Instant) -> [NearbyMachine.Action]) {
        self.perform(body(&self.phones[number].machine, self.now), of: number)
    }

    mutating func begin(_ number: Int) {
        self.act(number) { $0.start(title: "title\(number)", at: $1) }
    }

    mutating func radio(_ number: Int, isOn: Bool) {
        self.phones[number].isOn = isOn
        self.phones[number].title = nil
        self.phones[number].isScanning = false
        if !isOn { for other in self.phones.indices { self.cut(number, other, quiet: true) } }
        self.deliver(.state(isOn ? .on : .off), to: number, way: "state")
    }

    /// Plays until nothing is under way, or the time is over.
    mutating func run(for duration: Duration) {
        let until = self.now + duration
        while true {
            let next = self.deliveries.enumerated().min { ($0.1.at, $0.1.order) < ($1.1.at, $1.1.order) }
            let wake = self.phones.indices.compactMap { number in
                self.phones[number].machine.nextWake.map { (at: $0, number: number) }
            }.min { $0.at < $1.at }
            if let next, next.element.at <= wake?.at ?? next.element.at, next.element.at <= until {
                self.deliveries.remove(at: next.offset)
                self.now = max(self.now, next.element.at)
                let event = next.element.event
                self.act(next.element.to) { $0.heard(event, at: $1) }
            } else if let wake, wake.at <= until {
                self.now = max(self.now, wake.at)
                self.act(wake.number) { $0.tick(at: $1) }
            } else {
                break
            }
        }
        self.now = until
    }

    /// Connected phones as the application of one knows them.
    func told(_ number: Int) -> Set<NearbyPeer> {
        var told: Set<NearbyPeer> = []
        for event in self.phones[number].events {
            switch event {
            case .connected(let peer, _): told.insert(peer)
            case .disconnected(let peer, _): told.remove(peer)
            case .radio, .found, .lost, .received, .sent: break
            }
        }
        return told
    }

    /// Pairs of phones with a connection in the air: who is the central of each.
    var connections: [(central: Int, peripheral: Int)] {
        self.phones.indices.flatMap { central in
            self.phones[central].peripherals.keys.sorted().map { (central, $0) }
        }
    }

    // MARK: The radio

    private func number(_ peer: NearbyPeer) -> Int? {
        self.phones.firstIndex { $0.name == peer.name || $0.name + "c" == peer.name }
    }

    private func centralName(_ number: Int) -> NearbyPeer {
        NearbyPeer(name: self.phones[number].name + (self.faults.hasTwoNames ? "c" : ""))
    }

    private mutating func deliver(_ event: RadioEvent, to number: Int, way: String) {
        let delay = Duration.milliseconds(Int.random(in: 0...self.faults.delay, using: &self.random))
        let at = max(self.now + delay, self.lastAt[way] ?? self.now)
        self.lastAt[way] = at
        self.order += 1
        self.deliveries.append(Delivery(at: at, order: self.order, to: number, event: event))
    }

    private mutating func fromPeripheral(_ number: Int, to central: Int, _ news: RadioEvent.PeripheralNews) {
        self.deliver(.peripheral(self.peer(number), news), to: central, way: "\(number)>\(central)")
    }

    private mutating func fromCentral(_ number: Int, to peripheral: Int, _ news: RadioEvent.CentralNews) {
        self.deliver(.central(self.centralName(number), news), to: peripheral, way: "\(number)<\(peripheral)")
    }

    mutating func cut(_ central: Int, _ peripheral: Int, quiet: Bool = false) {
        for (one, other) in quiet ? [(central, peripheral), (peripheral, central)] : [(central, peripheral)] {
            guard let subscriptions = self.phones[one].peripherals.removeValue(forKey: other) else { continue }
            self.fromPeripheral(other, to: one, .disconnected)
            for characteristic in subscriptions { self.fromCentral(one, to: other, .unsubscribed(characteristic)) }
        }
    }

    private enum Luck { case arrives, unanswered, dropped }

    private mutating func luck(_ packet: [UInt8]) -> Luck {
        self.packets += 1
        guard packet.count <= self.faults.mtu - NearbyLimits.packetOverhead else { return .dropped }
        switch Int.random(in: 0..<100, using: &self.random) {
        case ..<self.faults.dropped: return .dropped
        case ..<(self.faults.dropped + self.faults.unanswered): return .unanswered
        default: return .arrives
        }
    }

    private mutating func perform(_ actions: [NearbyMachine.Action], of number: Int) {
        for action in actions {
            if case .tell(let event) = action {
                self.phones[number].events.append(event)
                continue
            }
            guard self.phones[number].isOn else { continue }
            self.perform(action, of: number)
        }
    }

    private mutating func perform(_ action: NearbyMachine.Action, of number: Int) {
        switch action {
        case .tell, .discover: break
        case .advertise(let name):
            self.phones[number].title = name
            for other in self.phones.indices where self.phones[other].isScanning && other != number {
                self.deliver(.found(self.peer(number), name: name, strength: -40), to: other, way: "air")
            }
        case .stopAdvertising: self.phones[number].title = nil
        case .scan:
            self.phones[number].isScanning = true
            for other in self.phones.indices where other != number {
                guard let title = self.phones[other].title else { continue }
                self.deliver(.found(self.peer(other), name: title, strength: -40), to: number, way: "air")
            }
        case .stopScan: self.phones[number].isScanning = false
        case .connect(let peer):
            guard let other = self.number(peer) else { return }
            guard self.phones[other].isOn, self.phones[other].title != nil else {
                return self.deliver(.peripheral(peer, .disconnected), to: number, way: "\(other)>\(number)")
            }
            self.phones[number].peripherals[other] = []
            self.fromPeripheral(other, to: number, .connected)
        case .disconnect(let peer):
            guard let other = self.number(peer) else { return }
            self.cut(number, other)
        case .subscribe(let peer, let characteristic):
            guard let other = self.number(peer), self.phones[number].peripherals[other] != nil else { return }
            self.phones[number].peripherals[other]?.insert(characteristic)
            self.fromCentral(number, to: other, .subscribed(characteristic))
            self.fromPeripheral(other, to: number, .subscribed(characteristic, isDone: true))
        case .write(let peer, let characteristic, let value, let token):
            guard let other = self.number(peer), self.phones[number].peripherals[other] != nil else { return }
            let luck = self.luck(value)
            if luck != .dropped { self.fromCentral(number, to: other, .value(characteristic, value)) }
            self.fromPeripheral(other, to: number, .wrote(token: token, isDone: luck == .arrives))
        case .indicate(let peer, let characteristic, let value, let token):
            if Int.random(in: 0..<100, using: &self.random) < self.faults.full {
                self.deliver(.readyToIndicate, to: number, way: "room")
                return self.act(number) { $0.noRoom(token: token, at: $1) }
            }
            guard let other = self.number(peer), let subscribed = self.phones[other].peripherals[number] else { return }
            let luck = subscribed.contains(characteristic) ? self.luck(value) : .dropped
            if luck != .dropped { self.fromPeripheral(number, to: other, .value(characteristic, value)) }
            self.fromCentral(other, to: number, .indicated(token: token, isDone: luck == .arrives))
        }
        if case .discover(let peer) = action, let other = self.number(peer),
            self.phones[number].peripherals[other] != nil
        {
            self.fromPeripheral(other, to: number, .characteristics(NearbyService.characteristics))
        }
    }
}
