package import Contract

/// Decides the actions of the radio: finding phones, connecting to them, and sending values.
///
/// Two Whisper phones exchange greetings before their connection counts. A greeting is random, and the same in all
/// connections of a phone. So both see when two connections join them. They keep the connection whose central has the
/// lower greeting.
///
/// A greeting proves nothing: a phone that has connected to another knows its greeting, and may send it to others. A
/// copied greeting can end a connection to the original phone. It cannot insert anything into that connection.
package struct NearbyMachine: Sendable {
    package typealias Instant = ContinuousClock.Instant

    package enum Action: Equatable, Sendable {
        case advertise(name: String)
        case stopAdvertising
        case scan
        case stopScan
        case connect(NearbyPeer)
        case disconnect(NearbyPeer)
        case discover(NearbyPeer)
        case subscribe(NearbyPeer, UUIDText)
        case write(NearbyPeer, UUIDText, [UInt8], token: UInt64)
        /// `noRoom` follows if the radio's queue is full.
        case indicate(NearbyPeer, UUIDText, [UInt8], token: UInt64)
        case tell(NearbyEvent)
    }

    /// Our role in a connection.
    private enum Role { case central, peripheral }

    private struct Key: Hashable {
        let role: Role
        let peer: NearbyPeer
    }

    private enum Stage {
        /// The peer's greeting is awaited. Only between two Whisper phones.
        case greeting(until: Instant)
        /// As a peripheral: our greeting waits for our own attempts to connect, as one of them may lead to the same
        /// phone.
        case held(until: Instant)
        case open
        /// The connection is being closed.
        case leaving
    }

    private struct Connection {
        let isOurs: Bool
        var stage: Stage
        /// The peer's greeting.
        var identity: [UInt8]?
        /// Whether `connected` was reported, and `disconnected` was not.
        var isTold = false
        var queue: SendQueue
        var reassembly = Reassembly()
    }

    /// A request to leave. It is repeated if the radio could not deliver it.
    private struct Question {
        let peer: NearbyPeer
        var attempts: Int
    }

    private let identity: [UInt8]
    private let mtu: @Sendable (NearbyPeer) -> Int
    private var radio: RadioState?
    private var title: String?
    private var centrals: [NearbyPeer: CentralMachine] = [:]
    private var peripheral = PeripheralMachine()
    private var connections: [Key: Connection] = [:]
    /// Peers to connect to, until `connected` or `disconnected` is reported.
    private var wanted: Set<NearbyPeer> = []
    private var around = PhonesAround()
    private var questions: [UInt64: Question] = [:]
    private var tokens: UInt64 = 0
    private var actions: [Action] = []

    /// - Parameter identity: `Fragment.greetingBytes` random bytes.
    package init(identity: [UInt8], mtu: @escaping @Sendable (NearbyPeer) -> Int) {
        self.identity = identity
        self.mtu = mtu
    }

    package var nextWake: Instant? {
        var wakes = self.centrals.values.compactMap(\.nextWake)
        wakes += [self.peripheral.nextWake, self.around.nextWake(connected: self.connected)].compactMap { $0 }
        for connection in self.connections.values {
            switch connection.stage {
            case .greeting(let until), .held(let until): wakes.append(until)
            case .open: wakes += [connection.queue.nextWake].compactMap { $0 }
            case .leaving: break
            }
            wakes += [connection.reassembly.nextWake].compactMap { $0 }
        }
        return wakes.min()
    }

    // MARK: Ours

    package mutating func start(title: String, at now: Instant) -> [Action] {
        let title = PhonesAround.cut(title, bytesMax: NearbyLimits.titleBytesMax)
        let isNew = self.title == nil
        guard title != self.title else { return [] }
        self.title = title
        if isNew {
            if self.radio == .on { self.act(.scan) }
            self.apply(self.peripheral.start(), at: now)
        } else if self.peripheral.isAdvertising {
            self.act(.stopAdvertising)
            self.act(.advertise(name: title))
        }
        return self.taken()
    }

    package mutating func connect(_ peer: NearbyPeer, at now: Instant) -> [Action] {
        guard !self.connections.contains(where: { $0.key.peer == peer && $0.value.isTold }) else { return [] }
        guard self.title != nil, self.radio == .on, Self.isValid(peer) else {
            self.act(.tell(.disconnected(peer, .lost)))
            return self.taken()
        }
        let isUnderWay = self.centrals[peer] != nil || self.connections[Key(role: .peripheral, peer: peer)] != nil
        guard isUnderWay || self.centrals.count < NearbyLimits.connectionsMax else {
            self.act(.tell(.disconnected(peer, .refused)))
            return self.taken()
        }
        self.wanted.insert(peer)
        if !isUnderWay {
            self.centrals[peer] = CentralMachine()
            self.central(peer, at: now) { $0.connect(at: now) }
        }
        return self.taken()
    }

    package mutating func disconnect(_ peer: NearbyPeer, at now: Instant) -> [Action] {
        self.close(Key(role: .central, peer: peer), .closed, at: now)
        self.close(Key(role: .peripheral, peer: peer), .closed, at: now)
        return self.taken()
    }

    package mutating func send(_ value: NearbyValue, to peer: NearbyPeer, token: UInt64, at now: Instant) -> [Action] {
        let key = self.connections.first { key, connection in
            guard case .open = connection.stage else { return false }
            return key.peer == peer
        }?.key
        if let key, Self.isSendable(value, isOurs: self.connections[key]?.isOurs == true),
            self.connections[key]?.queue.add(value, token: token) == true
        {
            self.pump(key, at: now)
        } else {
            self.act(.tell(.sent(token, arrived: false)))
        }
        return self.taken()
    }

    /// Ends all connections without waiting for the peers.
    package mutating func stop(at now: Instant) -> [Action] {
        guard self.title != nil else { return [] }
        self.title = nil
        if self.radio == .on { self.act(.stopScan) }
        self.apply(self.peripheral.stop(), at: now)
        for peer in self.centrals.keys.sorted(by: { $0.name < $1.name }) {
            self.central(peer, at: now) { $0.hangUp(.closed, at: now) + $0.radioOff() }
        }
        return self.taken()
    }

    // MARK: The radio

    package mutating func heard(_ event: RadioEvent, at now: Instant) -> [Action] {
        switch event {
        case .state(let state): self.radio(state, at: now)
        case .found(let peer, let name, let strength):
            guard Self.isValid(peer), self.title != nil, self.radio == .on else { break }
            self.tell(
                self.around.heard(peer, title: name, strength: strength, connected: self.connected, at: now))
        case .peripheral(let peer, let news): self.heard(news, of: peer, at: now)
        case .central(let peer, let news):
            guard Self.isValid(peer) else { break }
            self.heard(news, of: peer, at: now)
        case .readyToIndicate:
            for key in self.connections.keys where key.role == .peripheral {
                self.connections[key]?.queue.readyToIndicate()
                self.pump(key, at: now)
            }
            self.apply(self.peripheral.readyToIndicate(), at: now)
        }
        return self.taken()
    }

    /// The radio has ended. It counts as off unless it has reported another reason.
    package mutating func radioEnded(at now: Instant) -> [Action] {
        if self.radio == .on || self.radio == nil { self.radio(.off, at: now) }
        return self.taken()
    }

    /// The radio's queue was full for the packet with this token.
    package mutating func noRoom(token: UInt64, at now: Instant) -> [Action] {
        if let question = self.questions.removeValue(forKey: token) { self.peripheral.refused(question.peer) }
        for key in self.connections.keys { self.connections[key]?.queue.refused(token: token, at: now) }
        return self.taken()
    }

    package mutating func tick(at now: Instant) -> [Action] {
        for peer in self.centrals.keys.sorted(by: { $0.name < $1.name }) {
            self.central(peer, at: now) { $0.tick(at: now) }
        }
        self.apply(self.peripheral.tick(at: now), at: now)
        for key in self.sortedKeys {
            guard let connection = self.connections[key] else { continue }
            self.connections[key]?.reassembly.expire(at: now)
            switch connection.stage {
            case .greeting(let until) where until <= now: self.close(key, .timeout, at: now)
            case .held(let until) where until <= now: self.settle(key, at: now)
            case .open:
                if let until = connection.queue.nextWake, until <= now { self.close(key, .timeout, at: now) }
            case .greeting, .held, .leaving: break
            }
        }
        self.tell(self.around.forget(connected: self.connected, at: now))
        return self.taken()
    }

    private mutating func radio(_ state: RadioState, at now: Instant) {
        guard state != self.radio else { return }
        let wasOn = self.radio == .on
        self.radio = state
        if state == .on {
            self.tell([.radio(.on)])
            if self.title != nil { self.act(.scan) }
            self.apply(self.peripheral.radio(isOn: true), at: now)
            return
        }
        if wasOn {
            for peer in self.centrals.keys.sorted(by: { $0.name < $1.name }) {
                self.central(peer, at: now) { $0.radioOff() }
            }
            self.apply(self.peripheral.radio(isOn: false), at: now)
            self.questions = [:]
            self.tell(self.around.forgetAll())
        }
        self.tell([.radio(state)])
    }

    // MARK: As a central

    private mutating func heard(_ news: RadioEvent.PeripheralNews, of peer: NearbyPeer, at now: Instant) {
        let key = Key(role: .central, peer: peer)
        switch news {
        case .wrote(let token, let isDone): self.confirmed(key, token: token, isDone: isDone, at: now)
        case .value(NearbyService.toCentral, let bytes): self.took(text: bytes, from: key)
        case .value(NearbyService.fragments, let bytes): self.took(packet: bytes, from: key, at: now)
        case .connected, .characteristics, .subscribed, .value, .disconnected:
            self.central(peer, at: now) { $0.heard(news, at: now) }
        }
    }

    private mutating func central(
        _ peer: NearbyPeer, at now: Instant, _ body: (inout CentralMachine) -> [CentralMachine.Action]
    ) {
        guard var machine = self.centrals[peer] else { return }
        let actions = body(&machine)
        self.centrals[peer] = machine.isIdle ? nil : machine
        for action in actions {
            switch action {
            case .connect: self.act(.connect(peer))
            case .disconnect: self.act(.disconnect(peer))
            case .discover: self.act(.discover(peer))
            case .subscribe(let characteristic): self.act(.subscribe(peer, characteristic))
            case .opened(let isOurs): self.opened(Key(role: .central, peer: peer), isOurs: isOurs, at: now)
            case .ended(let end): self.ended(Key(role: .central, peer: peer), end, at: now)
            }
        }
        if !self.isTryingToConnect { self.answerHeld(at: now) }
    }

    /// Whether one of our attempts may still lead to a phone that has connected to us.
    private var isTryingToConnect: Bool {
        self.centrals.values.contains(where: \.isUnderWay)
            || self.connections.contains { key, connection in
                guard key.role == .central, case .greeting = connection.stage else { return false }
                return true
            }
    }

    // MARK: As a peripheral

    private mutating func heard(_ news: RadioEvent.CentralNews, of peer: NearbyPeer, at now: Instant) {
        let key = Key(role: .peripheral, peer: peer)
        switch news {
        case .indicated(let token, let isDone):
            if let question = self.questions.removeValue(forKey: token) {
                if !isDone, question.attempts < NearbyLimits.packetAttemptsMax, self.peripheral.guest == peer {
                    self.ask(Question(peer: peer, attempts: question.attempts + 1))
                }
            } else {
                self.confirmed(key, token: token, isDone: isDone, at: now)
            }
        case .value(NearbyService.toPeripheral, let bytes) where peer == self.peripheral.guest:
            self.took(text: bytes, from: key)
        case .value(NearbyService.fragments, let bytes) where peer == self.peripheral.guest:
            self.took(packet: bytes, from: key, at: now)
        case .subscribed, .unsubscribed, .value:
            self.apply(self.peripheral.heard(news, of: peer), at: now)
        }
    }

    private mutating func apply(_ actions: [PeripheralMachine.Action], at now: Instant) {
        for action in actions {
            switch action {
            case .advertise: self.act(.advertise(name: self.title ?? ""))
            case .stopAdvertising: self.act(.stopAdvertising)
            case .askToGo(let peer): self.ask(Question(peer: peer, attempts: 1))
            case .opened(let peer, let isOurs): self.opened(Key(role: .peripheral, peer: peer), isOurs: isOurs, at: now)
            case .ended(let peer, let end): self.ended(Key(role: .peripheral, peer: peer), end, at: now)
            }
        }
    }

    private mutating func ask(_ question: Question) {
        let token = self.nextToken()
        // Requests without an answer must not pile up.
        if self.questions.count >= NearbyLimits.centralsMax, let oldest = self.questions.keys.min() {
            self.questions[oldest] = nil
        }
        self.questions[token] = question
        self.act(.indicate(question.peer, NearbyService.hangUp, [1], token: token))
    }

    // MARK: A connection's life

    private mutating func opened(_ key: Key, isOurs: Bool, at now: Instant) {
        let texts = key.role == .central ? NearbyService.toPeripheral : NearbyService.toCentral
        self.connections[key] = Connection(
            isOurs: isOurs, stage: .greeting(until: now + NearbyLimits.greetedWithin), queue: SendQueue(texts: texts))
        guard isOurs else { return self.openedBare(key, at: now) }
        if key.role == .central {
            let identity = self.identity
            self.connections[key]?.queue.greet(identity)
            self.pump(key, at: now)
        }
    }

    /// A bare phone sends no greeting: only its name shows that two connections lead to it. An established connection
    /// stays; of two attempts, the phone's own stays.
    private mutating func openedBare(_ key: Key, at now: Instant) {
        let other = Key(role: key.role == .central ? .peripheral : .central, peer: key.peer)
        if self.connections[other]?.isTold == true {
            self.close(key, .closed, at: now)
        } else {
            if key.role == .peripheral { self.close(other, .closed, at: now) }
            self.open(key)
        }
    }

    private mutating func greeted(_ key: Key, _ identity: [UInt8], at now: Instant) {
        guard let connection = self.connections[key], connection.isOurs, connection.identity == nil,
            case .greeting = connection.stage
        else { return }
        // Our own greeting: the peer reflects it.
        guard identity != self.identity else { return self.close(key, .refused, at: now) }
        self.connections[key]?.identity = identity
        switch key.role {
        case .central:
            self.settle(key, at: now)
            if !self.isTryingToConnect { self.answerHeld(at: now) }
        case .peripheral where self.isLower(than: identity) && self.isTryingToConnect:
            let until = now + NearbyLimits.connectedWithin + NearbyLimits.subscribedWithin
            self.connections[key]?.stage = .held(until: until)
        case .peripheral: self.settle(key, at: now)
        }
    }

    private mutating func answerHeld(at now: Instant) {
        for key in self.sortedKeys {
            if case .held? = self.connections[key]?.stage { self.settle(key, at: now) }
        }
    }

    /// Keeps one of two connections between the same phones. As a peripheral, greets back if this one stays.
    private mutating func settle(_ key: Key, at now: Instant) {
        guard let identity = self.connections[key]?.identity else { return }
        let twins = self.sortedKeys.filter { $0 != key && self.connections[$0]?.identity == identity }
        let role = self.isLower(than: identity) ? Role.central : .peripheral
        for twin in twins {
            if case .leaving? = self.connections[twin]?.stage { continue }
            // A second connection in the same role leads to a connected phone under another name.
            guard twin.role != key.role, key.role == role else { return self.close(key, .closed, at: now) }
        }
        for twin in twins { self.retire(twin, at: now) }
        let own = self.identity
        if key.role == .peripheral { self.connections[key]?.queue.greet(own) }
        self.open(key)
        self.pump(key, at: now)
    }

    private func isLower(than identity: [UInt8]) -> Bool { self.identity.lexicographicallyPrecedes(identity) }

    private mutating func open(_ key: Key) {
        guard let connection = self.connections[key] else { return }
        self.connections[key]?.stage = .open
        self.connections[key]?.isTold = true
        self.wanted.remove(key.peer)
        self.tell([.connected(key.peer, isOurs: connection.isOurs)])
    }

    /// Closes a connection in favour of another to the same phone. The application sees its end before the other
    /// begins.
    private mutating func retire(_ key: Key, at now: Instant) {
        self.tellEnd(key, .closed)
        self.close(key, .closed, at: now)
    }

    private mutating func close(_ key: Key, _ end: NearbyEnd, at now: Instant) {
        self.connections[key]?.stage = .leaving
        switch key.role {
        case .central: self.central(key.peer, at: now) { $0.hangUp(end, at: now) }
        case .peripheral:
            guard self.peripheral.guest == key.peer else { return }
            self.apply(self.peripheral.hangUp(end, at: now), at: now)
        }
    }

    private mutating func ended(_ key: Key, _ end: NearbyEnd, at now: Instant) {
        self.tellEnd(key, end)
        self.connections[key] = nil
        self.around.left(key.peer, at: now)
        let isUnderWay = self.centrals[key.peer] != nil || self.connections.contains { $0.key.peer == key.peer }
        if !isUnderWay, self.wanted.remove(key.peer) != nil { self.tell([.disconnected(key.peer, end)]) }
    }

    private mutating func tellEnd(_ key: Key, _ end: NearbyEnd) {
        let tokens = self.connections[key]?.queue.drain() ?? []
        self.tell(tokens.map { .sent($0, arrived: false) })
        guard self.connections[key]?.isTold == true else { return }
        self.connections[key]?.isTold = false
        self.tell([.disconnected(key.peer, end)])
    }

    // MARK: Values

    private mutating func took(text bytes: [UInt8], from key: Key) {
        guard self.connections[key]?.isTold == true, (1...NearbyLimits.textBytesMax).contains(bytes.count),
            let text = String(validating: bytes, as: UTF8.self)
        else { return }
        self.tell([.received(key.peer, .text(text))])
    }

    private mutating func took(packet: [UInt8], from key: Key, at now: Instant) {
        guard let connection = self.connections[key], connection.isOurs, let fragment = Fragment(packet: packet) else {
            return
        }
        guard !fragment.isGreeting else { return self.greeted(key, fragment.bytes, at: now) }
        // A greeting may be copied, so values over a retired connection have no known sender. Drop them.
        guard connection.isTold, let value = self.connections[key]?.reassembly.take(fragment, at: now) else { return }
        self.tell([.received(key.peer, .bytes(value))])
    }

    private mutating func confirmed(_ key: Key, token: UInt64, isDone: Bool, at now: Instant) {
        guard let fate = self.connections[key]?.queue.confirmed(token: token, isDone: isDone) else {
            return self.pump(key, at: now)
        }
        self.tell([.sent(fate.token, arrived: fate.hasArrived)])
        self.pump(key, at: now)
    }

    /// Sends the next packet, unless one is under way.
    private mutating func pump(_ key: Key, at now: Instant) {
        guard let connection = self.connections[key] else { return }
        if case .leaving = connection.stage { return }
        let token = self.nextToken()
        let mtu = self.mtu(key.peer)
        guard let packet = self.connections[key]?.queue.next(token: token, mtu: mtu, at: now) else {
            return
        }
        switch key.role {
        case .central: self.act(.write(key.peer, packet.characteristic, packet.bytes, token: token))
        case .peripheral: self.act(.indicate(key.peer, packet.characteristic, packet.bytes, token: token))
        }
    }

    // MARK: Parts

    /// Phones that are kept even if they do not advertise.
    private var connected: Set<NearbyPeer> { Set(self.connections.keys.map(\.peer)).union(self.centrals.keys) }

    private var sortedKeys: [Key] {
        self.connections.keys.sorted {
            ($0.peer.name, $0.role == .central ? 0 : 1) < ($1.peer.name, $1.role == .central ? 0 : 1)
        }
    }

    private static func isValid(_ peer: NearbyPeer) -> Bool {
        (1...NearbyLimits.peerNameBytesMax).contains(peer.name.utf8.count)
    }

    private static func isSendable(_ value: NearbyValue, isOurs: Bool) -> Bool {
        switch value {
        case .text(let text): (1...NearbyLimits.textBytesMax).contains(text.utf8.count)
        case .bytes(let bytes): isOurs && bytes.count <= NearbyLimits.valueBytesMax
        }
    }

    private mutating func nextToken() -> UInt64 {
        self.tokens += 1
        return self.tokens
    }

    private mutating func act(_ action: Action) { self.actions.append(action) }

    private mutating func tell(_ events: [NearbyEvent]) { self.actions += events.map { .tell($0) } }

    private mutating func taken() -> [Action] {
        defer { self.actions = [] }
        return self.actions
    }
}
