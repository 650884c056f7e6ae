import Contract

@testable import WhisperClient

/// The WebRTC stacks of all devices. A description names its connection. Two connections that have each other's
/// description are established, until one of them is dropped.
final class WebRTCStacks {
    /// One device's connection to a participant.
    private struct Place: Hashable {
        let device: ObjectIdentifier
        let room: UUIDText
        let number: Int
    }

    private final class Link {
        let device: RoomDevice
        let place: Place
        let peer: PrincipalID
        /// The connection's name in descriptions.
        let name: Int
        /// The name of the other connection, from its description.
        var remote: Int?
        var isUp = false
        /// When the last message of ours arrives.
        var arrivesAt: Int64 = 0
        /// Our descriptions so far.
        var descriptions = 0

        init(_ device: RoomDevice, _ place: Place, to peer: PrincipalID, name: Int) {
            self.device = device
            self.place = place
            self.peer = peer
            self.name = name
        }
    }

    private unowned let world: World
    private var links: [Place: Link] = [:]
    private var named: [Int: Link] = [:]
    private var lastName = 0
    /// Connections that were established.
    private(set) var connectedCount = 0

    /// Nanoseconds until a description is made.
    private static let describing: ClosedRange<Int64> = .milliseconds(20)...(.milliseconds(300))
    /// Nanoseconds until both ends know that the connection is established.
    private static let connecting: ClosedRange<Int64> = .milliseconds(50)...(.milliseconds(800))
    /// Nanoseconds until one end notices that the other has gone.
    private static let noticing: ClosedRange<Int64> = .milliseconds(200)...(.seconds(15))
    /// Nanoseconds until a stack gives up a connection without another end.
    private static let givingUp: Int64 = .seconds(15)
    private static let candidatesMax = 3

    init(_ world: World) { self.world = world }

    private var machine: Machine { self.world.machine }
    private func some(_ range: ClosedRange<Int64>) -> Int64 { Int64.random(in: range, using: &self.machine.random) }

    // MARK: Orders

    func perform(_ order: LinkOrder, _ device: RoomDevice, _ room: UUIDText, _ peer: PrincipalID, number: Int) {
        let place = Place(device: ObjectIdentifier(device), room: room, number: number)
        switch order {
        case .offer: self.describe(self.make(place, device, to: peer)) { .offer("offer \($0.name) \($0.descriptions)") }
        case .accept(let sdp, let isFresh):
            guard let link = isFresh ? self.make(place, device, to: peer) : self.links[place] else { return }
            guard let remote = Self.names(sdp).first, sdp.hasPrefix("offer") else {
                return self.world.record.fault("\(device.person.name) is to accept what is no offer: \(sdp)")
            }
            if isFresh {
                link.remote = remote
            } else if link.remote != remote {
                // The sender has lost the connection that this end has. No stack can treat the new one as the same.
                return self.machine.after(self.some(Self.describing)) { [unowned self] in self.fail(link) }
            }
            self.describe(link) { .answer("answer \($0.name) \($0.descriptions) to \(remote)") }
        case .answer(let sdp):
            guard let link = self.links[place] else { return }
            guard sdp.hasPrefix("answer"), let remote = Self.names(sdp).first else {
                return self.world.record.fault("\(device.person.name) is to take what is no answer: \(sdp)")
            }
            // The answer may be for an earlier offer. Then this connection is never established.
            link.remote = remote
            if !link.isUp { self.connect(link) }
        case .candidate:
            guard let link = self.links[place], link.remote == nil else { return }
            self.world.record.fault("\(device.person.name) is to take a candidate before its description")
        case .drop: self.drop(place)
        }
    }

    private static func names(_ sdp: String) -> [Int] { sdp.split(separator: " ").compactMap { Int($0) } }

    private func make(_ place: Place, _ device: RoomDevice, to peer: PrincipalID) -> Link {
        self.lastName += 1
        let link = Link(device, place, to: peer, name: self.lastName)
        self.links[place] = link
        self.named[link.name] = link
        return link
    }

    private func describe(_ link: Link, _ report: @escaping (Link) -> LinkReport) {
        self.machine.after(self.some(Self.describing)) { [unowned self] in
            guard self.links[link.place] === link else { return }
            link.descriptions += 1
            self.tell(link, report(link))
            for _ in 0..<Int.random(in: 0...Self.candidatesMax, using: &self.machine.random) {
                self.machine.after(self.some(Self.describing)) { [unowned self] in
                    let text = "candidate \(link.name) \(link.descriptions)"
                    self.tell(link, .candidate(RoomCandidate(candidate: text, sdpMLineIndex: 0, sdpMid: "0")))
                }
            }
        }
    }

    private func tell(_ link: Link, _ report: LinkReport) {
        guard self.links[link.place] === link else { return }
        link.device.hears(report, of: link.peer, number: link.place.number, in: link.place.room)
    }

    private func other(_ link: Link) -> Link? {
        guard let remote = link.remote, let other = self.named[remote], other.remote == link.name else { return nil }
        return other
    }

    /// The offering side has the answer.
    private func connect(_ link: Link) {
        self.machine.after(self.some(Self.connecting)) { [unowned self] in
            guard self.links[link.place] === link else { return }
            guard let other = self.other(link) else {
                return self.machine.after(Self.givingUp) { [unowned self] in self.fail(link) }
            }
            self.connectedCount += 1
            let ends = [link, other].filter { !$0.isUp }
            for end in ends { end.isUp = true }
            for end in ends {
                self.world.trace("\(end.device.person.name) is linked to \(end.peer)")
                self.tell(end, .connected)
            }
        }
    }

    // MARK: Data

    /// Messages of a connection arrive in order, or are lost with it.
    func carry(_ text: String, _ device: RoomDevice, _ room: UUIDText, number: Int) {
        let place = Place(device: ObjectIdentifier(device), room: room, number: number)
        guard let link = self.links[place], link.isUp, let other = self.other(link) else { return }
        let talks = self.world.rooms!.talks!
        // Somebody with a fault speaks before it greets.
        let texts = link.arrivesAt == 0 && talks.happens(100) ? [RoomTalks.early[1], text] : [text]
        link.arrivesAt = max(link.arrivesAt + 1, self.machine.now + talks.delay())
        self.machine.after(link.arrivesAt - self.machine.now) { [unowned self] in
            guard self.links[place] === link else { return }
            self.tell(link, .low)
            guard self.other(link) === other, self.links[other.place] === other else { return }
            for text in texts { other.device.hears(text, of: device.id, number: other.place.number, in: room) }
        }
    }

    private func fail(_ link: Link) {
        guard self.links[link.place] === link else { return }
        self.tell(link, .failed)
    }

    private func drop(_ place: Place) {
        guard let link = self.links.removeValue(forKey: place) else { return }
        let other = self.other(link)
        self.named[link.name] = nil
        guard let other, other.isUp else { return }
        self.machine.after(self.some(Self.noticing)) { [unowned self] in self.fail(other) }
    }

    // MARK: Faults

    /// The app dies, and its connections with it.
    func dropAll(of device: RoomDevice) {
        for place in self.places(of: device) { self.drop(place) }
    }

    /// The network changes: some connections do not survive it.
    func breakSome(of device: RoomDevice) {
        for place in self.places(of: device) where self.machine.random.isOne(in: 2) {
            guard let link = self.links[place] else { continue }
            for end in [link, self.other(link)].compactMap({ $0 }) where end.isUp {
                self.machine.after(self.some(Self.noticing)) { [unowned self] in self.fail(end) }
            }
        }
    }

    /// Changes a connection by another offer.
    func renegotiate(_ device: RoomDevice) {
        let up = self.places(of: device).compactMap { self.links[$0] }.filter(\.isUp)
        guard let link = up.randomElement(using: &self.machine.random) else { return }
        self.world.trace("\(device.person.name) renegotiates with \(link.peer)")
        self.describe(link) { .offer("offer \($0.name) \($0.descriptions)") }
    }

    private func places(of device: RoomDevice) -> [Place] {
        self.links.keys.filter { $0.device == ObjectIdentifier(device) }.sorted {
            ($0.number, "\($0.room)") < ($1.number, "\($1.room)")
        }
    }

    /// Whether content can be sent both ways.
    func areConnected(_ one: RoomDevice, _ other: RoomDevice, in room: UUIDText) -> Bool {
        self.links.values.contains {
            $0.isUp && $0.device === one && $0.place.room == room && self.other($0)?.device === other
        }
    }

    func end() {
        self.links = [:]
        self.named = [:]
    }
}
