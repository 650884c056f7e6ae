import Synchronization

@testable import WhisperClient

/// Phones that see each other in memory. A sent value arrives at once, unless the test says otherwise.
final class FakeAir: Sendable {
    /// Result of sending a value.
    enum Fate: Sendable {
        case arrives
        case arrivesTwice
        /// The other radio has it, and nobody reads it.
        case swallowed
        /// The radio says that it did not bring it over.
        case fails
    }

    private struct State {
        var phones: [String: FakePhone] = [:]
        var titles: [String: String] = [:]
        var connections: Set<[String]> = []
        var fate: @Sendable (NearbyValue) -> Fate = { _ in .arrives }
    }

    private let state = Mutex(State())

    /// A radio of its own. Bare: an app that knows BlueChat alone.
    func phone(_ name: String, isBare: Bool = false) -> FakePhone {
        let phone = FakePhone(name, isBare: isBare, in: self)
        self.state.withLock { $0.phones[name] = phone }
        return phone
    }

    func setFate(_ fate: @escaping @Sendable (NearbyValue) -> Fate) {
        self.state.withLock { $0.fate = fate }
    }

    /// Whether a value is a word of this type.
    static func isWord(_ type: String, _ value: NearbyValue) -> Bool {
        guard case .bytes(let bytes) = value else { return false }
        return String(decoding: bytes, as: UTF8.self).hasPrefix(#"{"type":"\#(type)""#)
    }

    fileprivate func start(_ phone: FakePhone, title: String) {
        let others = self.state.withLock { state in
            state.titles[phone.name] = title
            return state.titles.compactMap { name, title in
                name == phone.name ? nil : (phone: state.phones[name]!, title: title)
            }
        }
        phone.tell(.radio(.on))
        for other in others {
            phone.tell(.found(other.phone.peer, title: other.title, strength: -50))
            other.phone.tell(.found(phone.peer, title: title, strength: -50))
        }
    }

    fileprivate func connect(_ phone: FakePhone, _ peer: NearbyPeer) {
        let other = self.state.withLock { state -> FakePhone? in
            guard state.titles[peer.name] != nil else { return nil }
            let isNew = state.connections.insert([phone.name, peer.name].sorted()).inserted
            return isNew ? state.phones[peer.name] : nil
        }
        guard let other else { return }
        let areOurs = !phone.isBare && !other.isBare
        phone.tell(.connected(peer, isOurs: areOurs))
        other.tell(.connected(phone.peer, isOurs: areOurs))
    }

    fileprivate func disconnect(_ phone: FakePhone, _ peer: NearbyPeer) {
        let other = self.state.withLock { state in
            state.connections.remove([phone.name, peer.name].sorted()).flatMap { _ in state.phones[peer.name] }
        }
        guard let other else { return }
        phone.tell(.disconnected(peer, .closed))
        other.tell(.disconnected(phone.peer, .hungUp))
    }

    fileprivate func send(_ value: NearbyValue, _ phone: FakePhone, to peer: NearbyPeer, token: UInt64) {
        let (other, fate) = self.state.withLock { state in
            (
                state.connections.contains([phone.name, peer.name].sorted()) ? state.phones[peer.name] : nil,
                state.fate
            )
        }
        guard let other else { return phone.tell(.sent(token, arrived: false)) }
        let what = fate(value)
        switch what {
        case .arrives, .arrivesTwice:
            other.tell(.received(phone.peer, value))
            if what == .arrivesTwice { other.tell(.received(phone.peer, value)) }
        case .swallowed: break
        case .fails: return phone.tell(.sent(token, arrived: false))
        }
        phone.tell(.sent(token, arrived: true))
    }

    fileprivate func stop(_ phone: FakePhone) {
        let (peers, others) = self.state.withLock { state in
            state.titles[phone.name] = nil
            let peers = state.connections.filter { $0.contains(phone.name) }.flatMap { $0 }
            return (peers.filter { $0 != phone.name }, state.titles.keys.compactMap { state.phones[$0] })
        }
        for name in peers { self.disconnect(phone, NearbyPeer(name: name)) }
        for other in others { other.tell(.lost(phone.peer)) }
        phone.end()
    }
}

final class FakePhone: NearbyLink {
    let name: String
    let isBare: Bool
    let events: AsyncStream<NearbyEvent>
    private let continuation: AsyncStream<NearbyEvent>.Continuation
    private let air: FakeAir

    var peer: NearbyPeer { NearbyPeer(name: self.name) }

    fileprivate init(_ name: String, isBare: Bool, in air: FakeAir) {
        self.name = name
        self.isBare = isBare
        self.air = air
        (self.events, self.continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(10_000))
    }

    func tell(_ event: NearbyEvent) { self.continuation.yield(event) }
    fileprivate func end() { self.continuation.finish() }

    func start(title: String) { self.air.start(self, title: title) }
    func connect(_ peer: NearbyPeer) { self.air.connect(self, peer) }
    func disconnect(_ peer: NearbyPeer) { self.air.disconnect(self, peer) }
    func send(_ value: NearbyValue, to peer: NearbyPeer, token: UInt64) {
        self.air.send(value, self, to: peer, token: token)
    }
    func stop() { self.air.stop(self) }
}
