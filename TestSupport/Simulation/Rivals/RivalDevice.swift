import Contract

/// An identity or a guest that logs in and disconnects. Then, in rounds, two connections to two gateways show its
/// token. Exactly one of them stays: the one that showed the token last (contract §4, §14.3).
final class RivalDevice: LiveDevice {
    private final class Rival {
        let line: Line
        var isOpen = false
        /// The gateway has bound the connection.
        var isBound = false
        /// The gateway's close code.
        var code: UInt16?
        /// The connection ended without a close code.
        var isCut = false

        var stays: Bool { self.code == nil && !self.isCut }

        init(_ line: Line) { self.line = line }
    }

    private struct Round {
        let number: Int
        let begin: Int64
        /// From the first use of the token to the second, in nanoseconds.
        let pause: Int64
        var rivals: [Rival] = []
        var shownAt: Int64?
    }

    override var isGuest: Bool { self.provesKeysOnly }
    private let provesKeysOnly: Bool
    private var round: Round?
    private var nextAt: Int64 = 0
    private var lastRound = 0
    private(set) var rounds = 0
    /// Rounds since the end of the faults; nil before.
    private var calmRounds: Int?

    /// The older connection is closed within this time, in nanoseconds (contract §4); the travel times are included.
    private static let closedWithin: Int64 = .milliseconds(1_100)
    /// Longest recovery after a fault. A gateway checks its guests every 5 s, and its questions are answered or lost in
    /// 10 s.
    private static let mendedWithin: Int64 = .seconds(40)
    private static let roundMax: Int64 = .seconds(150)
    private static let calmRoundsMin = 12

    init(_ person: Identities.Person, isGuest: Bool, in world: World) {
        self.provesKeysOnly = isGuest
        super.init(person, in: world)
    }

    /// The device has logged in. The rivals continue with its token.
    override func bound() { self.sleep() }

    override func tick() {
        super.tick()
        if let round { return self.look(at: round) }
        guard self.token != nil, self.isAsleep, self.machine.now >= self.nextAt else { return }
        self.begin()
    }

    func calmDown() { self.calmRounds = 0 }

    var isDone: Bool { (self.calmRounds ?? 0) >= Self.calmRoundsMin }

    func judge() {
        if !self.isDone { self.world.record.fault("\(self.person.name) cannot show its token at two gateways") }
    }

    // MARK: A round

    private func begin() {
        guard let gateways = self.world.twoGateways() else { return }
        self.lastRound += 1
        let pause =
            self.machine.random.isOne(in: 2)
            ? 0 : Int64.random(in: .milliseconds(50)...(.seconds(4)), using: &self.machine.random)
        self.world.trace("\(self.person.name) shows its token at two gateways, \(pause / 1_000_000) ms apart")
        var round = Round(number: self.lastRound, begin: self.machine.now, pause: pause)
        for (index, gateway) in gateways.enumerated() {
            // Both ways have the same length: frames sent together arrive together.
            let line = Line(to: gateway, address: self.person.address, delays: .milliseconds(1)...(.milliseconds(1))) {
                [unowned self] in self.heard($0, index, of: round.number)
            }
            round.rivals.append(Rival(line))
        }
        self.round = round
    }

    private func heard(_ heard: Line.Heard, _ index: Int, of number: Int) {
        guard let round, round.number == number else { return }
        let rival = round.rivals[index]
        switch heard {
        case .open:
            rival.isOpen = true
            guard round.rivals.allSatisfy(\.isOpen) else { return }
            self.show(0, of: number)
            if round.pause == 0 { return self.show(1, of: number) }
            self.machine.after(round.pause) { [unowned self] in self.show(1, of: number) }
        case .closing(let code):
            self.world.trace("\(self.person.name), rival \(index), is closed: \(code)")
            rival.code = code
        case .end: if rival.code == nil { rival.isCut = true }
        case .text(let bytes):
            guard let error = (try? ServerMessage(bytes))?.frame as? ErrorFrame else { return }
            self.world.trace("\(self.person.name), rival \(index), hears \(error.code)")
            switch error.errorCode {
            // Expected: the rival has joined no conversation.
            case .forbidden: rival.isBound = true
            case .notRegistered:
                // The session was lost when Postgres was restored.
                self.over()
                self.forgetToken()
            case .internalError, .rateLimited:
                self.machine.after(Self.again) { [unowned self] in self.show(index, of: number) }
            default: break
            }
        }
    }

    private func show(_ index: Int, of number: Int) {
        guard let round, round.number == number, let token else { return }
        if round.rivals[index].stays, !round.rivals[index].isBound {
            let frame = SendLiveAttention(ConversationID("3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61")!, .repeat)
            let token = self.isGuest ? ClientToken.guest(token) : .session(token)
            round.rivals[index].line.send(frame.text(requestID: "r", token: token))
        }
        if index == 1, self.round?.shownAt == nil { self.round?.shownAt = self.machine.now }
    }

    private func look(at round: Round) {
        guard self.machine.now < round.begin + Self.roundMax else { return self.over() }
        guard let shownAt = round.shownAt else {
            if !round.rivals.allSatisfy(\.stays) { self.over() }
            return
        }
        // Another fault has ended one of the connections.
        guard round.rivals.allSatisfy({ $0.code != CloseCode.goingAway.rawValue && !$0.isCut }) else {
            return self.over()
        }
        let isCalm = self.world.troubledUntil < round.begin - Self.mendedWithin
        let end = isCalm ? shownAt + Self.closedWithin : max(shownAt, self.world.troubledUntil) + Self.mendedWithin
        let staying = round.rivals.filter(\.stays).count
        let name = self.person.name
        if staying == 0 {
            self.world.record.fault("\(name) shows its token on two connections, and both are closed")
        } else if self.machine.now >= end, round.rivals.allSatisfy({ $0.isBound || !$0.stays }) {
            if staying == 2 {
                self.world.record.fault("\(name) shows its token on two connections, and both stay")
            } else if isCalm, round.pause > 0, !round.rivals[1].stays {
                self.world.record.fault("\(name) shows its token on a second connection, and it is closed")
            }
            self.rounds += 1
            if isCalm { self.calmRounds? += 1 }
        } else {
            return
        }
        self.over()
    }

    private func over() {
        for rival in self.round?.rivals ?? [] where rival.stays { rival.line.close() }
        self.round = nil
        self.nextAt = self.machine.now + Int64.random(in: 0...(.seconds(2)), using: &self.machine.random)
    }
}
