import Contract
import Testing

@testable import WhisperClient

/// A participant's knowledge of the others in a room (contract §15.2, §19.23).
@Suite struct RoomVisitTests {
    private static let room = UUIDText("3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61")!
    private let host = Self.pair(1)
    private let other = Self.pair(2)

    private static func pair(_ number: UInt8) -> KeyPair {
        KeyPair(
            signSeed: SecretBytes(Array(repeating: number, count: 32)),
            boxKey: SecretBytes(Array(repeating: number + 100, count: 32)))
    }

    private static func id(_ pair: KeyPair) -> PrincipalID { .guest(pair.publicKeys.guestID) }

    private func state(
        _ revision: Int64, seat: Int, via way: RoomParticipant.Way, host: RoomParticipant.Way = .creator
    ) -> RoomState {
        let seats = [(self.host, 1, host), (self.other, seat, way)]
        return RoomState(
            room: Self.room, host: Self.id(self.host), participantsMax: 2, isLocked: false, revision: revision,
            phase: .accepted, expiresAt: Timestamp(milliseconds: 1_000_000),
            participants: seats.map { pair, seat, way in
                RoomParticipant(
                    participant: Self.id(pair), seat: seat, via: way, isConnected: true,
                    joinedAt: Timestamp(milliseconds: revision), signPublicKey: pair.publicKeys.sign,
                    encPublicKey: pair.publicKeys.box)
            })
    }

    private static let talk = TalkMachine(epoch: Array(0..<8))

    private func visit(_ states: [RoomState], of own: KeyPair? = nil) -> RoomVisit {
        let turn = TurnCredentialsFrame(urls: [], username: "", credential: [], ttl: 1)
        var visit = RoomVisit(
            RoomJoined(room: states[0], seat: 1, code: nil, codeExpiresAt: nil, turn: turn),
            own: Self.id(own ?? self.host), secret: RoomSecret(SecretBytes(Array(0..<16))), isReturning: false,
            talk: Self.talk)
        for state in states { visit.learn(state) }
        return visit
    }

    /// A participant that leaves and returns by code does not have the link's secret any more.
    @Test(arguments: [RoomParticipant.Way.code, .link])
    func anotherSeatIsAnotherWay(way: RoomParticipant.Way) {
        let before = RoomParticipant.Way.allCases.first { $0 != way && $0 != .creator }!
        let visit = self.visit([self.state(2, seat: 2, via: before), self.state(4, seat: 3, via: way)])
        #expect(visit.keys(of: Self.id(self.other))?.isSalted == (way == .link))
    }

    /// Later states of the same seat, and late ones of an earlier seat, do not remove the salt.
    @Test func oneSeatKeepsItsSalt() {
        let states = [
            self.state(2, seat: 2, via: .code), self.state(4, seat: 3, via: .link), self.state(5, seat: 3, via: .code),
            self.state(2, seat: 2, via: .code),
        ]
        #expect(self.visit(states).keys(of: Self.id(self.other))?.isSalted == true)
    }

    /// How we came in is known here. One word of the server turns the secret off neither at first nor later.
    @Test(arguments: [RoomParticipant.Way.code, .link])
    func whatIsSaidOfOurOwnWayTakesTheSaltFromNobody(way: RoomParticipant.Way) {
        for host in RoomParticipant.Way.allCases {
            let visit = self.visit(
                [self.state(2, seat: 2, via: way, host: host), self.state(4, seat: 3, via: .code, host: host)],
                of: self.other)
            #expect(visit.keys(of: Self.id(self.host))?.isSalted == true, "the first seat is the creator's: \(host)")
        }
    }

    /// A visitor who comes in once more, by link, uses its secret from then on. A code takes none: which room it opens is the server's word.
    @Test func comingInAgainOnlyAddsASecret() {
        let secret = RoomSecret(SecretBytes(Array(0..<16)))
        let turn = TurnCredentialsFrame(urls: [], username: "", credential: [], ttl: 1)
        func joined(_ revision: Int64, seat: Int) -> RoomJoined {
            RoomJoined(
                room: self.state(revision, seat: seat, via: .link), seat: seat, code: nil, codeExpiresAt: nil,
                turn: turn)
        }
        var visit = RoomVisit(
            joined(2, seat: 2), own: Self.id(self.other), secret: nil, isReturning: false, talk: Self.talk)
        visit.learn(joined(2, seat: 2).room)
        #expect(visit.keys(of: Self.id(self.host))?.isSalted == false)
        for (seat, given) in [(3, secret), (4, nil)] as [(Int, RoomSecret?)] {
            visit.entered(joined(Int64(seat), seat: seat), with: given)
            visit.learn(joined(Int64(seat), seat: seat).room)
            #expect(visit.keys(of: Self.id(self.host))?.isSalted == true)
        }
    }

    /// Each signal is later than the one before, also if the clock stands still or goes back a little. The time of a clock
    /// that no server would take is left behind.
    @Test func signalsGetLater() {
        var visit = self.visit([self.state(2, seat: 2, via: .code)])
        let (now, skew) = (Timestamp(milliseconds: 1_730_000_000_000), Limits.timestampSkewMilliseconds)
        #expect(visit.nextSignalTime(now) == now)
        #expect(visit.nextSignalTime(now).milliseconds == now.milliseconds + 1)
        #expect(visit.nextSignalTime(now - .seconds(60)).milliseconds == now.milliseconds + 2)
        let ahead = Timestamp(milliseconds: now.milliseconds + skew)
        #expect(visit.nextSignalTime(ahead) == ahead)
        #expect(visit.nextSignalTime(now).milliseconds == ahead.milliseconds + 1)
        let tenYearsAhead = Timestamp(milliseconds: now.milliseconds + 315_360_000_000)
        #expect(visit.nextSignalTime(tenYearsAhead) == tenYearsAhead)
        #expect(visit.nextSignalTime(now) == now)
    }
}
