import Contract
import TestKit
import Testing

@testable import WhisperClient

@Suite struct NearbyMachineTests {
    private static let settled = Duration.seconds(40)

    private static func air(
        _ count: Int, _ faults: SimulatedAir.Faults = .init(), seed: UInt64
    )
        -> SimulatedAir
    {
        var air = SimulatedAir(count, faults: faults, seed: seed)
        for number in 0..<count { air.begin(number) }
        air.run(for: .seconds(5))
        return air
    }

    private static func received(_ air: SimulatedAir, _ number: Int) -> [NearbyValue] {
        air.phones[number].events.compactMap {
            if case .received(_, let value) = $0 { value } else { nil }
        }
    }

    private static func fates(_ air: SimulatedAir, _ number: Int) -> [UInt64: Bool] {
        var fates: [UInt64: Bool] = [:]
        for case .sent(let token, let hasArrived) in air.phones[number].events {
            #expect(fates.updateValue(hasArrived, forKey: token) == nil, "told twice")
        }
        return fates
    }

    @Test func phonesFindEachOther() {
        let air = Self.air(3, seed: 1)
        for number in 0..<3 {
            let found = air.phones[number].events.compactMap { event in
                if case .found(let peer, let title, _) = event { "\(peer.name) \(title)" } else { nil }
            }
            #expect(Set(found) == Set((0..<3).filter { $0 != number }.map { "phone\($0) title\($0)" }))
        }
    }

    /// Both want each other within a moment, whatever the delays, the faults and the names: one connection stays.
    @Test(arguments: 1...400) func ofTwoConnectionsOneStays(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var faults = SimulatedAir.Faults()
        faults.delay = [0, 20, 300].randomElement(using: &random)!
        faults.hasTwoNames = Bool.random(using: &random)
        if Bool.random(using: &random) { (faults.unanswered, faults.full) = (10, 20) }
        var air = Self.air(2, faults, seed: seed)
        air.act(0) { $0.connect(NearbyPeer(name: "phone1"), at: $1) }
        air.run(for: .milliseconds(Int.random(in: 0...800, using: &random)))
        air.act(1) { $0.connect(NearbyPeer(name: "phone0"), at: $1) }
        air.run(for: Self.settled)
        #expect(air.connections.count == 1, "seed \(seed): \(air.connections)")
        #expect(air.told(0).count == 1 && air.told(1).count == 1, "seed \(seed)")
        for number in 0...1 {
            // Each connection that the application knows has ended before another begins.
            var names: Set<NearbyPeer> = []
            for event in air.phones[number].events {
                if case .connected(let peer, let isOurs) = event {
                    #expect(isOurs && names.isEmpty, "seed \(seed)")
                    names.insert(peer)
                }
                if case .disconnected(let peer, _) = event { names.remove(peer) }
            }
            // A value sent now arrives.
            guard let peer = air.told(number).first else { continue }
            air.act(number) { $0.send(.bytes([UInt8(number)]), to: peer, token: 5, at: $1) }
        }
        air.run(for: .seconds(20))
        #expect(
            Self.received(air, 0) == [.bytes([1])] && Self.received(air, 1) == [.bytes([0])],
            "seed \(seed)")
    }

    /// With names that hold in both roles, the application hears of one connection alone.
    @Test(arguments: 1...100) func theApplicationHearsOfOne(seed: UInt64) {
        var faults = SimulatedAir.Faults()
        faults.delay = Int(seed) * 3
        var air = Self.air(2, faults, seed: seed)
        air.act(0) { $0.connect(NearbyPeer(name: "phone1"), at: $1) }
        air.act(1) { $0.connect(NearbyPeer(name: "phone0"), at: $1) }
        air.run(for: Self.settled)
        for number in 0...1 {
            let events = air.phones[number].events.filter {
                switch $0 {
                case .connected, .disconnected: true
                case .radio, .found, .lost, .received, .sent: false
                }
            }
            #expect(
                events == [.connected(NearbyPeer(name: "phone\(1 - number)"), isOurs: true)], "seed \(seed)"
            )
        }
    }

    /// Values of all sizes both ways, with faults: each is told once, and what was said to arrive is there, in order.
    @Test(arguments: Prove.seeds(1..<41)) func valuesArriveOnceAndInOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var faults = SimulatedAir.Faults()
        faults.mtu = [20, 23, 185, 512].randomElement(using: &random)!
        let isFaulty = seed % 4 > 0
        if isFaulty { (faults.dropped, faults.unanswered) = (Int(seed % 20), Int(seed % 7)) }
        faults.full = Int(seed % 30)
        faults.delay = 10
        var air = Self.air(2, faults, seed: seed)
        air.act(0) { $0.connect(NearbyPeer(name: "phone1"), at: $1) }
        air.run(for: .seconds(10))
        guard air.told(0).count == 1, air.told(1).count == 1 else { return }
        var sent: [[(UInt64, NearbyValue)]] = [[], []]
        for token in UInt64(0)..<20 {
            for number in 0...1 {
                let bytes = (0..<Int.random(in: 0...600, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                let value = NearbyValue.bytes(bytes)
                sent[number].append((token, value))
                air.act(number) {
                    $0.send(value, to: NearbyPeer(name: "phone\(1 - number)"), token: token, at: $1)
                }
            }
            air.run(for: .milliseconds(Int.random(in: 0...500, using: &random)))
        }
        air.run(for: .seconds(600))
        for number in 0...1 {
            let fates = Self.fates(air, number)
            let received = Self.received(air, 1 - number)
            #expect(fates.count == 20, "seed \(seed)")
            let arrived = sent[number].filter { fates[$0.0] == true }.map(\.1)
            let possible = sent[number].map(\.1)
            // In order, each once: all that arrived, and perhaps some whose last answer was lost.
            var rest = possible[...]
            for value in received {
                guard let index = rest.firstIndex(of: value) else {
                    Issue.record("seed \(seed): out of order, or twice")
                    break
                }
                rest = rest[(index + 1)...]
            }
            #expect(arrived.allSatisfy { received.contains($0) }, "seed \(seed)")
            if !isFaulty { #expect(received == possible, "seed \(seed)") }
        }
    }

    /// Phones come, go, connect and lose their radio at random: no promise to the application is broken.
    @Test(arguments: Prove.seeds(1..<151)) func theApplicationIsToldTheTruth(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var faults = SimulatedAir.Faults()
        (faults.dropped, faults.unanswered, faults.full) = (3, 3, 10)
        faults.delay = [5, 200].randomElement(using: &random)!
        faults.hasTwoNames = seed % 2 == 0
        let count = Int.random(in: 2...5, using: &random)
        var air = Self.air(count, faults, seed: seed)
        var token: UInt64 = 0
        var asked: [Int: [UInt64]] = [:]
        for _ in 0..<120 {
            let number = Int.random(in: 0..<count, using: &random)
            let other = NearbyPeer(name: "phone\(Int.random(in: 0..<count, using: &random))")
            switch Int.random(in: 0..<12, using: &random) {
            case 0: air.radio(number, isOn: false)
            case 1...2: air.radio(number, isOn: true)
            case 3: air.act(number) { $0.disconnect(other, at: $1) }
            case 4: air.cut(number, Int.random(in: 0..<count, using: &random))
            case 5...8 where other.name != "phone\(number)": air.act(number) { $0.connect(other, at: $1) }
            default:
                guard let peer = air.told(number).sorted(by: { $0.name < $1.name }).first else { continue }
                token += 1
                asked[number, default: []].append(token)
                let value = NearbyValue.bytes(Array(repeating: UInt8(number), count: Int(token) % 700))
                air.act(number) { [token] in $0.send(value, to: peer, token: token, at: $1) }
            }
            air.run(for: .milliseconds(Int.random(in: 0...2_000, using: &random)))
        }
        for number in 0..<count { air.radio(number, isOn: true) }
        air.run(for: .seconds(120))
        for number in 0..<count {
            #expect(Set(Self.fates(air, number).keys) == Set(asked[number] ?? []), "seed \(seed)")
            var connected: Set<NearbyPeer> = []
            var found: Set<NearbyPeer> = []
            for event in air.phones[number].events {
                switch event {
                case .connected(let peer, _): #expect(connected.insert(peer).inserted, "seed \(seed)")
                case .disconnected(let peer, _): connected.remove(peer)
                case .received(let peer, _): #expect(connected.contains(peer), "seed \(seed)")
                case .found(let peer, _, _): found.insert(peer)
                case .lost(let peer): #expect(found.remove(peer) != nil, "seed \(seed)")
                case .radio(let state):
                    if state != .on { #expect(connected.isEmpty && found.isEmpty, "seed \(seed)") }
                case .sent: break
                }
            }
        }
        // Both sides agree in the end, and nothing is left in the air that nobody knows of.
        let told = (0..<count).map { air.told($0).count }.reduce(0, +)
        #expect(told == 2 * air.connections.count, "seed \(seed): \(told) \(air.connections)")
    }

    // MARK: One machine

    private static let anna = NearbyPeer(name: "anna")
    private static let bare = Array(NearbyService.characteristics.dropLast())
    private var machine = NearbyMachine(identity: Array(repeating: 7, count: 7)) { _ in 23 }

    private mutating func hear(
        _ event: RadioEvent, at now: ContinuousClock.Instant = start
    )
        -> [NearbyMachine.Action]
    {
        self.machine.heard(event, at: now)
    }

    private mutating func begin() {
        _ = self.machine.start(title: "me", at: start)
        _ = self.hear(.state(.on))
    }

    private mutating func connectBare() -> [NearbyMachine.Action] {
        _ = self.machine.connect(Self.anna, at: start)
        let news: [RadioEvent.PeripheralNews] = [
            .connected, .characteristics(Self.bare), .subscribed(NearbyService.hangUp, isDone: true),
            .subscribed(NearbyService.toCentral, isDone: true),
        ]
        return news.flatMap { self.hear(.peripheral(Self.anna, $0)) }
    }

    private mutating func bareComes() -> [NearbyMachine.Action] {
        self.hear(.central(Self.anna, .subscribed(NearbyService.toCentral)))
            + self.hear(.central(Self.anna, .subscribed(NearbyService.hangUp)))
    }

    @Test mutating func aBarePhoneGetsTextsAsTheyAre() {
        self.begin()
        #expect(self.connectBare().last == .tell(.connected(Self.anna, isOurs: false)))
        let sent = self.machine.send(.text("hi"), to: Self.anna, token: 9, at: start)
        guard case .write(Self.anna, NearbyService.toPeripheral, [104, 105], let token)? = sent.first
        else {
            Issue.record("\(sent)")
            return
        }
        #expect(
            self.hear(.peripheral(Self.anna, .wrote(token: token, isDone: true))) == [
                .tell(.sent(9, arrived: true))
            ])
        let came = self.hear(.peripheral(Self.anna, .value(NearbyService.toCentral, Array("hö".utf8))))
        #expect(came == [.tell(.received(Self.anna, .text("hö")))])
        let bad: [[UInt8]] = [[0xFF], [], Array(repeating: 65, count: NearbyLimits.textBytesMax + 1)]
        for bytes in bad {
            #expect(self.hear(.peripheral(Self.anna, .value(NearbyService.toCentral, bytes))) == [])
        }
        #expect(
            self.hear(.peripheral(NearbyPeer(name: "other"), .value(NearbyService.toCentral, [65]))) == []
        )
    }

    @Test mutating func whatCannotGoIsToldAtOnce() {
        self.begin()
        let away = self.machine.send(.text("hi"), to: Self.anna, token: 1, at: start)
        #expect(away == [.tell(.sent(1, arrived: false))])
        _ = self.connectBare()
        let values: [NearbyValue] = [
            .bytes([1]), .text(""), .text(String(repeating: "a", count: NearbyLimits.textBytesMax + 1)),
        ]
        for value in values {
            #expect(
                self.machine.send(value, to: Self.anna, token: 2, at: start) == [
                    .tell(.sent(2, arrived: false))
                ])
        }
    }

    @Test mutating func theGuestIsAskedToGoAndItsValuesEnd() {
        self.begin()
        #expect(
            self.bareComes() == [.stopAdvertising, .tell(.connected(Self.anna, isOurs: false))])
        let sent = self.machine.send(.text("hi"), to: Self.anna, token: 1, at: start)
        guard case .indicate(Self.anna, NearbyService.toCentral, [104, 105], _)? = sent.first else {
            Issue.record("\(sent)")
            return
        }
        var asked = self.machine.disconnect(Self.anna, at: start)
        for attempt in 1...NearbyLimits.packetAttemptsMax {
            guard case .indicate(Self.anna, NearbyService.hangUp, [1], let token)? = asked.first else {
                Issue.record("\(attempt): \(asked)")
                return
            }
            asked = self.hear(.central(Self.anna, .indicated(token: token, isDone: false)))
        }
        #expect(asked == [])
        #expect(
            self.hear(.central(Self.anna, .unsubscribed(NearbyService.toCentral))) == [
                .tell(.sent(1, arrived: false)), .tell(.disconnected(Self.anna, .closed)),
                .advertise(name: "me"),
            ])
    }

    /// A bare phone says not who it is: of two attempts its own stays, and a chat that stands stays before it.
    @Test mutating func ofTwoConnectionsWithABarePhoneOneStays() {
        self.begin()
        _ = self.machine.connect(Self.anna, at: start)
        #expect(
            self.bareComes() == [
                .stopAdvertising, .disconnect(Self.anna), .tell(.connected(Self.anna, isOurs: false)),
            ])
        #expect(self.hear(.peripheral(Self.anna, .disconnected)) == [])
        _ = self.machine.disconnect(Self.anna, at: start)
        _ = self.hear(.central(Self.anna, .unsubscribed(NearbyService.toCentral)))
        _ = self.hear(.central(Self.anna, .unsubscribed(NearbyService.hangUp)))

        _ = self.connectBare()
        let again = self.bareComes()
        guard case .indicate(Self.anna, NearbyService.hangUp, _, _)? = again.dropFirst().first else {
            Issue.record("\(again)")
            return
        }
        #expect(again.first == .stopAdvertising)
        #expect(
            self.hear(.central(Self.anna, .unsubscribed(NearbyService.toCentral))) == [
                .advertise(name: "me")
            ])
        #expect(self.machine.connect(Self.anna, at: start) == [])
    }

    private static func greeting(_ byte: UInt8) -> RadioEvent.CentralNews {
        let bytes = Array(repeating: byte, count: Fragment.greetingBytes)
        let fragment = Fragment(isGreeting: true, transfer: 0, index: 0, count: 1, bytes: bytes)
        return .value(NearbyService.fragments, fragment.packet)
    }

    /// One of us comes as a central, and says who it is.
    private mutating func oursComes(_ peer: NearbyPeer, _ byte: UInt8) -> [NearbyMachine.Action] {
        for characteristic in [NearbyService.fragments, NearbyService.hangUp, NearbyService.toCentral] {
            _ = self.hear(.central(peer, .subscribed(characteristic)))
        }
        return self.hear(.central(peer, Self.greeting(byte)))
    }

    /// Characteristics of a Whisper phone, and its acceptance of our subscriptions.
    private static let ours: [RadioEvent.PeripheralNews] =
        [.connected, .characteristics(NearbyService.characteristics)]
        + [NearbyService.fragments, NearbyService.hangUp, NearbyService.toCentral].map {
            .subscribed($0, isDone: true)
        }

    private func isAnswer(_ actions: [NearbyMachine.Action], to peer: NearbyPeer) -> Bool {
        actions.contains {
            if case .indicate(peer, NearbyService.fragments, _, _) = $0 { true } else { false }
        } && actions.contains(.tell(.connected(peer, isOurs: true)))
    }

    /// The lower one waits for its own attempts before it answers, the higher one never.
    @Test mutating func theLowerOneAnswersAfterItsAttempts() {
        self.begin()
        let carl = NearbyPeer(name: "carl")
        _ = self.machine.connect(carl, at: start)
        #expect(self.oursComes(Self.anna, 8) == [])
        #expect(self.isAnswer(self.hear(.peripheral(carl, .disconnected)), to: Self.anna))

        self.machine = NearbyMachine(identity: Array(repeating: 7, count: 7)) { _ in 23 }
        self.begin()
        _ = self.machine.connect(carl, at: start)
        #expect(self.isAnswer(self.oursComes(Self.anna, 6), to: Self.anna))
    }

    /// The attempt led to somebody else.
    @Test mutating func theLowerOneAnswersWhenAnotherHasGreeted() {
        self.begin()
        let carl = NearbyPeer(name: "carl")
        _ = self.machine.connect(carl, at: start)
        #expect(self.oursComes(Self.anna, 8) == [])
        for news in Self.ours {
            #expect(!self.isAnswer(self.hear(.peripheral(carl, news)), to: Self.anna))
        }
        guard case .value(let characteristic, let packet) = Self.greeting(9) else { return }
        let actions = self.hear(.peripheral(carl, .value(characteristic, packet)))
        #expect(
            actions.contains(.tell(.connected(carl, isOurs: true)))
                && self.isAnswer(actions, to: Self.anna))
    }

    /// It is held no longer than the other waits.
    @Test mutating func noAnswerIsHeldForLong() {
        self.begin()
        let carl = NearbyPeer(name: "carl")
        _ = self.machine.connect(carl, at: start)
        _ = self.oursComes(Self.anna, 8)
        // Carl has not said who it is, and has as much time for that.
        for news in Self.ours { _ = self.hear(.peripheral(carl, news), at: start + .seconds(4)) }
        var now = start
        var actions: [NearbyMachine.Action] = []
        while let wake = self.machine.nextWake, wake < start + NearbyLimits.greetedWithin,
            actions.count < 10
        {
            now = wake
            actions += self.machine.tick(at: now)
        }
        #expect(self.isAnswer(actions, to: Self.anna))
    }

    /// Our attempt failed, and the other's came about: the wish is fulfilled.
    @Test mutating func aWishIsAnsweredOnce() {
        self.begin()
        _ = self.machine.connect(Self.anna, at: start)
        #expect(self.oursComes(Self.anna, 8) == [])
        let actions = self.hear(.peripheral(Self.anna, .disconnected))
        let told = actions.filter { if case .tell = $0 { true } else { false } }
        #expect(told == [.tell(.connected(Self.anna, isOurs: true))])
    }

    @Test mutating func whoDoesNotGreetIsGivenUp() {
        self.begin()
        for characteristic in [NearbyService.fragments, NearbyService.hangUp, NearbyService.toCentral] {
            _ = self.hear(.central(Self.anna, .subscribed(characteristic)))
        }
        #expect(self.machine.nextWake == start + NearbyLimits.greetedWithin)
        let actions = self.machine.tick(at: start + NearbyLimits.greetedWithin)
        guard case .indicate(Self.anna, NearbyService.hangUp, _, let token)? = actions.first else {
            Issue.record("\(actions)")
            return
        }
        // There was no room to ask: it is asked when there is.
        _ = self.machine.noRoom(token: token, at: start)
        guard case .indicate(Self.anna, NearbyService.hangUp, _, _)? = self.hear(.readyToIndicate).first
        else {
            Issue.record("not asked again")
            return
        }
        #expect(
            self.hear(.central(Self.anna, .unsubscribed(NearbyService.toCentral))) == [
                .advertise(name: "me")
            ])
    }

    /// No packet goes once the end was asked for.
    @Test mutating func afterTheEndNothingGoes() {
        self.begin()
        _ = self.connectBare()
        let sent = self.machine.send(.text("one"), to: Self.anna, token: 1, at: start)
        _ = self.machine.send(.text("two"), to: Self.anna, token: 2, at: start)
        #expect(self.machine.disconnect(Self.anna, at: start) == [.disconnect(Self.anna)])
        guard case .write(_, _, _, let token)? = sent.first else { return }
        #expect(
            self.hear(.peripheral(Self.anna, .wrote(token: token, isDone: true))) == [
                .tell(.sent(1, arrived: true))
            ])
        #expect(
            self.machine.send(.text("no"), to: Self.anna, token: 3, at: start) == [
                .tell(.sent(3, arrived: false))
            ])
        #expect(
            self.hear(.peripheral(Self.anna, .disconnected)) == [
                .tell(.sent(2, arrived: false)), .tell(.disconnected(Self.anna, .closed)),
            ])
    }

    /// A phone that chats with us shows itself to nobody, and is not gone.
    @Test mutating func whoIsConnectedIsNotForgotten() {
        self.begin()
        _ = self.hear(.found(Self.anna, name: "Anna", strength: -50))
        _ = self.connectBare()
        let later = start + .seconds(100)
        #expect(self.machine.tick(at: later) == [])
        _ = self.hear(.peripheral(Self.anna, .disconnected), at: later)
        #expect(self.machine.tick(at: later) == [])
        #expect(self.machine.tick(at: later + NearbyLimits.forgottenAfter) == [.tell(.lost(Self.anna))])
    }

    /// We become a central of one of us, and it says who it is.
    private mutating func oursIsReached(_ peer: NearbyPeer, _ byte: UInt8) -> [NearbyMachine.Action] {
        var actions = self.machine.connect(peer, at: start)
        for news in Self.ours { actions += self.hear(.peripheral(peer, news)) }
        guard case .value(let characteristic, let packet) = Self.greeting(byte) else { return actions }
        return actions + self.hear(.peripheral(peer, .value(characteristic, packet)))
    }

    /// Values over a connection that gave way are dropped: the greeting that joins the two may be copied.
    @Test mutating func aConnectionThatGaveWayBringsNothing() {
        self.begin()
        let other = NearbyPeer(name: "anna as a peripheral")
        #expect(self.isAnswer(self.oursComes(Self.anna, 8), to: Self.anna))
        let told = self.oursIsReached(other, 8).filter { if case .tell = $0 { true } else { false } }
        #expect(
            told == [.tell(.disconnected(Self.anna, .closed)), .tell(.connected(other, isOurs: true))])
        let packet = Fragment(transfer: 1, index: 0, count: 1, bytes: [65]).packet
        #expect(self.hear(.central(Self.anna, .value(NearbyService.fragments, packet))) == [])
        #expect(self.hear(.central(Self.anna, .value(NearbyService.toPeripheral, [65]))) == [])
        #expect(
            self.hear(.peripheral(other, .value(NearbyService.fragments, packet))) == [
                .tell(.received(other, .bytes([65])))
            ])
    }

    /// Mallory greets with Anna's greeting, which is lower or higher than ours, and each is a central or a peripheral.
    @Test(arguments: [UInt8(6), 8], [[true, false], [false, true], [true, true], [false, false]])
    mutating func aCopiedGreetingBringsNothingIntoAnothersSession(byte: UInt8, areCentrals: [Bool]) {
        self.machine = NearbyMachine(identity: Array(repeating: 7, count: Fragment.greetingBytes)) { _ in 23 }
        self.begin()
        let phones = Array(zip([Self.anna, NearbyPeer(name: "mallory")], areCentrals))
        for (peer, isCentral) in phones {
            _ = isCentral ? self.oursComes(peer, byte) : self.oursIsReached(peer, byte)
        }
        var received: [NearbyMachine.Action] = []
        for (peer, isCentral) in phones {
            let bytes = Array(peer.name.utf8)
            let packet = Fragment(transfer: 1, index: 0, count: 1, bytes: bytes).packet
            let came =
                isCentral
                ? self.hear(.central(peer, .value(NearbyService.fragments, packet)))
                : self.hear(.peripheral(peer, .value(NearbyService.fragments, packet)))
            let values = came.filter { if case .tell(.received) = $0 { true } else { false } }
            #expect(values.isEmpty || values == [.tell(.received(peer, .bytes(bytes)))])
            received += values
        }
        #expect(received.count == 1, "one of the two is connected")
    }

    @Test mutating func whatIsReflectedIsRefused() {
        self.begin()
        for characteristic in [NearbyService.fragments, NearbyService.hangUp, NearbyService.toCentral] {
            _ = self.hear(.central(Self.anna, .subscribed(characteristic)))
        }
        let greeting = Fragment(
            isGreeting: true, transfer: 0, index: 0, count: 1, bytes: Array(repeating: 7, count: 7))
        let actions = self.hear(.central(Self.anna, .value(NearbyService.fragments, greeting.packet)))
        guard case .indicate(Self.anna, NearbyService.hangUp, _, _)? = actions.first else {
            Issue.record("\(actions)")
            return
        }
    }

    @Test mutating func whoDoesNotConfirmIsGivenUp() {
        self.begin()
        _ = self.connectBare()
        _ = self.machine.send(.text("hi"), to: Self.anna, token: 1, at: start)
        let until = start + NearbyLimits.confirmedWithin
        #expect(self.machine.nextWake == until)
        #expect(self.machine.tick(at: until) == [.disconnect(Self.anna)])
        #expect(
            self.hear(.peripheral(Self.anna, .disconnected)) == [
                .tell(.sent(1, arrived: false)), .tell(.disconnected(Self.anna, .timeout)),
            ])
    }

    @Test mutating func everyWishIsAnswered() {
        #expect(self.machine.connect(Self.anna, at: start) == [.tell(.disconnected(Self.anna, .lost))])
        self.begin()
        for number in 0..<NearbyLimits.connectionsMax {
            #expect(
                self.machine.connect(NearbyPeer(name: "p\(number)"), at: start) == [
                    .connect(NearbyPeer(name: "p\(number)"))
                ])
        }
        #expect(
            self.machine.connect(Self.anna, at: start) == [.tell(.disconnected(Self.anna, .refused))])
        for name in ["", String(repeating: "x", count: 65)] {
            let peer = NearbyPeer(name: name)
            #expect(self.machine.connect(peer, at: start) == [.tell(.disconnected(peer, .lost))])
            #expect(self.hear(.found(peer, name: "x", strength: 0)) == [])
        }
        let off = self.hear(.state(.denied))
        #expect(
            off == (0..<NearbyLimits.connectionsMax).map {
                .tell(.disconnected(NearbyPeer(name: "p\($0)"), .lost))
            }
                + [.tell(.radio(.denied))])
    }

    @Test mutating func aNewTitleIsShownAndTheEndIsTold() {
        self.begin()
        let long = self.machine.start(title: "Wilhelmine Überall", at: start)
        #expect(long == [.stopAdvertising, .advertise(name: "Wilhelmine Über")])
        _ = self.connectBare()
        let stop = self.machine.stop(at: start)
        #expect(
            stop == [
                .stopScan, .stopAdvertising, .disconnect(Self.anna),
                .tell(.disconnected(Self.anna, .closed)),
            ])
        #expect(
            self.hear(.found(Self.anna, name: "x", strength: 0)) == []
                && self.machine.stop(at: start) == [])
    }
}
