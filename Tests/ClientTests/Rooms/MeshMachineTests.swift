import Contract
import TestKit
import Testing

@testable import WhisperClient

/// The machine of a room alone, and several of them from seeds (contract §15.2, §15.4).
@Suite struct MeshMachineTests {
    // MARK: Properties

    @Test(arguments: UInt64(0)..<10) func withoutTroubleEachPairIsConnectedByOneOffer(seed: UInt64) {
        var world = MeshWorld(seed: seed, people: 4, faults: { _ in .none }, startingAt: start)
        world.play(trouble: .seconds(4), rest: .seconds(3))
        Self.expectMesh(in: world)
        for person in world.people { #expect(person.offered.values.allSatisfy { $0 == 1 }) }
        #expect(world.people.map { $0.offered.values.reduce(0, +) }.reduce(0, +) == 6)
    }

    /// Any loss, repetition, delay, reconnect and restart ends with the same participants, and each pair connected by the offer
    /// of the lower seat.
    @Test(arguments: Prove.seeds(100..<220)) func whateverHappensEachPairIsConnectedInTheEnd(seed: UInt64) {
        var world = MeshWorld(
            seed: seed, people: Int(seed % 4) + 2, faults: { MeshWorld.Faults.all(&$0) }, startingAt: start)
        world.play(trouble: .seconds(40), rest: .seconds(240))
        Self.expectMesh(in: world)
    }

    private static func expectMesh(in world: MeshWorld) {
        #expect(world.wrongOffers == 0)
        #expect(world.expected.count == world.people.count)
        for (one, person) in world.people.enumerated() {
            #expect(person.machine.state == .joined)
            #expect(Set(person.machine.shown?.participants.map(\.participant) ?? []) == world.expected)
            for other in world.people.indices where other > one {
                #expect(world.areConnected(one, other), "\(person.id) and \(world.people[other].id)")
            }
        }
    }

    // MARK: Steps

    private static let own = PrincipalID.guest(GuestID(high: 1, low: 1))
    private static let peer = PrincipalID.guest(GuestID(high: 1, low: 2))
    private static let room = UUIDText(high: 3, low: 4)

    private static func state(
        _ revision: Int64, ownSeat: Int = 1, peerSeat: Int? = 2, isConnected: Bool = true
    ) -> RoomState {
        func participant(_ id: PrincipalID, _ seat: Int, _ isConnected: Bool) -> RoomParticipant {
            RoomParticipant(
                participant: id, seat: seat, via: .code, isConnected: isConnected,
                joinedAt: Timestamp(milliseconds: 0), signPublicKey: Bytes32(Array(repeating: 1, count: 32))!,
                encPublicKey: Bytes32(Array(repeating: 2, count: 32))!)
        }
        return RoomState(
            room: self.room, host: self.own, participantsMax: 2, isLocked: false, revision: revision, phase: .accepted,
            expiresAt: Timestamp(milliseconds: 0),
            participants: [participant(self.own, ownSeat, true)]
                + (peerSeat.map { [participant(self.peer, $0, isConnected)] } ?? []))
    }

    private static func joined(
        ownSeat: Int, peerSeat: Int? = 2, isReturning: Bool = false
    ) -> (machine: MeshMachine, actions: [MeshMachine.Action]) {
        var machine = MeshMachine(room: self.room, own: self.own, isReturning: isReturning)
        #expect(machine.connected() == [.join])
        let actions = machine.joined(self.state(5, ownSeat: ownSeat, peerSeat: peerSeat), at: start)
        return (machine, actions)
    }

    private static func time(_ number: Int64) -> Timestamp { Timestamp(milliseconds: number) }
    private static let now = time(300)

    @Test func theLowerSeatOffersAndTheHigherWaits() {
        let lower = Self.joined(ownSeat: 1)
        #expect(lower.actions == [.changed, .link(Self.peer, number: 1, .offer)])
        let higher = Self.joined(ownSeat: 3)
        #expect(higher.actions == [.changed])
        // With an empty stack somebody comes back: the other one may hold a connection to what it was.
        let returned = Self.joined(ownSeat: 3, isReturning: true)
        #expect(returned.actions == [.changed, .signal(.restart, to: Self.peer, SignalContent(.restart))])
    }

    @Test func candidatesWaitForTheOffer() {
        var (machine, _) = Self.joined(ownSeat: 3)
        func candidate(_ number: Int) -> RoomCandidate {
            RoomCandidate(candidate: "candidate:\(number)", sdpMLineIndex: 0, sdpMid: "0")
        }
        for number in 0..<100 {
            let content = SignalContent(candidate(number))
            #expect(
                machine.received(
                    content, from: Self.peer, Self.time(100 + Int64(number)), serverTime: Self.now, at: start) == [])
        }
        // The last 64 are kept. Candidates older than the offer belong to another one.
        let actions = machine.received(
            SignalContent(.offer, sdp: "o"), from: Self.peer, Self.time(150), serverTime: Self.now, at: start)
        #expect(actions.first == .link(Self.peer, number: 1, .accept("o", isFresh: true)))
        let given = (50..<100).map { MeshMachine.Action.link(Self.peer, number: 1, .candidate(candidate($0))) }
        #expect(Array(actions.dropFirst()) == given)
        let late = machine.received(
            SignalContent(candidate(7)), from: Self.peer, Self.time(149), serverTime: Self.now, at: start)
        #expect(late == [])
        let next = machine.received(
            SignalContent(candidate(8)), from: Self.peer, Self.time(300), serverTime: Self.now, at: start)
        #expect(next == [.link(Self.peer, number: 1, .candidate(candidate(8)))])
    }

    @Test func theNewestRevisionWins() {
        var (machine, _) = Self.joined(ownSeat: 1, peerSeat: nil)
        #expect(machine.changed(.left, Self.peer, Self.state(7, peerSeat: nil), at: start) == [.changed])
        #expect(machine.changed(.joined, Self.peer, Self.state(6), at: start) == [])
        #expect(machine.shown?.revision == 7 && machine.shown?.participants.count == 1)
        let actions = machine.changed(.joined, Self.peer, Self.state(8), at: start)
        #expect(actions == [.changed, .link(Self.peer, number: 1, .offer)])
    }

    /// Its leaving and its coming may both be missed.
    @Test func whoHasAnotherSeatIsSomebodyNew() {
        var (machine, _) = Self.joined(ownSeat: 1)
        let actions = machine.changed(.updated, nil, Self.state(9, peerSeat: 3), at: start)
        #expect(actions == [.link(Self.peer, number: 1, .drop), .changed, .link(Self.peer, number: 2, .offer)])
    }

    @Test func whoIsBackIsOfferedAnewUnlessItIsConnected() throws {
        var (machine, _) = Self.joined(ownSeat: 1)
        let sent = machine.heard(.offer("o"), of: Self.peer, number: 1, at: start)
        #expect(sent == [.signal(.offer, to: Self.peer, SignalContent(.offer, sdp: "o"))])
        _ = machine.changed(.away, Self.peer, Self.state(6, isConnected: false), at: start)
        // Nobody is there to answer.
        #expect(machine.nextWake == nil)
        // Signals that the server keeps still reach the peer.
        let soon = machine.changed(.back, Self.peer, Self.state(7), at: start + .seconds(29))
        #expect(soon == [.changed])
        _ = machine.changed(.away, Self.peer, Self.state(8, isConnected: false), at: start + .seconds(30))
        let later = machine.changed(.back, Self.peer, Self.state(9), at: start + .seconds(31))
        #expect(
            later == [.changed, .link(Self.peer, number: 1, .drop), .link(Self.peer, number: 2, .offer)])
        let again = machine.heard(.offer("p"), of: Self.peer, number: 2, at: start + .seconds(31))
        #expect(again == [.signal(.restart, to: Self.peer, SignalContent(.restart, sdp: "p"))])
        _ = machine.received(
            SignalContent(.answer, sdp: "a"), from: Self.peer, Self.time(1), serverTime: Self.now,
            at: start + .seconds(32))
        #expect(machine.heard(.connected, of: Self.peer, number: 2, at: start + .seconds(33)) == [.changed])
        _ = machine.changed(.away, Self.peer, Self.state(10, isConnected: false), at: start + .seconds(40))
        // Media flows on: nothing is begun anew.
        #expect(machine.changed(.back, Self.peer, Self.state(11), at: start + .seconds(90)) == [.changed])
        #expect(machine.isLinked(to: Self.peer))
    }

    @Test func anUnansweredOfferIsSentAgainAndThenReplaced() throws {
        var (machine, _) = Self.joined(ownSeat: 1)
        let offer = SignalContent(.offer, sdp: "o")
        let candidate = RoomCandidate(candidate: "c", sdpMLineIndex: 0, sdpMid: "0")
        _ = machine.heard(.offer("o"), of: Self.peer, number: 1, at: start)
        _ = machine.heard(.candidate(candidate), of: Self.peer, number: 1, at: start)
        for _ in 0..<2 {
            let due = try #require(machine.nextWake)
            #expect(
                machine.timerFired(at: due) == [
                    .signal(.offer, to: Self.peer, offer),
                    .signal(.candidate, to: Self.peer, SignalContent(candidate)),
                ])
        }
        let due = try #require(machine.nextWake)
        #expect(
            machine.timerFired(at: due) == [
                .link(Self.peer, number: 1, .drop), .link(Self.peer, number: 2, .offer),
            ])
        // The stack's reports of the replaced connection are ignored.
        #expect(machine.heard(.connected, of: Self.peer, number: 1, at: due) == [])
    }

    @Test func aRepeatedOfferIsAnsweredAsBefore() {
        var (machine, _) = Self.joined(ownSeat: 3)
        let offer = SignalContent(.offer, sdp: "o")
        _ = machine.received(offer, from: Self.peer, Self.time(10), serverTime: Self.now, at: start)
        let answer = MeshMachine.Action.signal(.answer, to: Self.peer, SignalContent(.answer, sdp: "a"))
        #expect(machine.heard(.answer("a"), of: Self.peer, number: 1, at: start) == [answer])
        #expect(machine.received(offer, from: Self.peer, Self.time(20), serverTime: Self.now, at: start) == [answer])
        // The very same signal again, and one from before it.
        #expect(machine.received(offer, from: Self.peer, Self.time(20), serverTime: Self.now, at: start) == [])
        let old = SignalContent(.restart, sdp: "older")
        #expect(machine.received(old, from: Self.peer, Self.time(19), serverTime: Self.now, at: start) == [])
    }

    /// Somebody came by a server whose clock was ahead, which has been set right since (contract §13a).
    @Test func anOfferOfAClockThatWasAheadShutsOutNone() {
        let skew = Limits.timestampSkewMilliseconds
        for ahead in [skew, skew + 1] {
            var (machine, _) = Self.joined(ownSeat: 3)
            let early = Self.time(Self.now.milliseconds + ahead)
            _ = machine.received(
                SignalContent(.offer, sdp: "ahead"), from: Self.peer, early, serverTime: early, at: start)
            let next = machine.received(
                SignalContent(.offer, sdp: "next"), from: Self.peer, Self.now, serverTime: Self.now, at: start)
            #expect(next.contains(.link(Self.peer, number: 2, .accept("next", isFresh: true))) == (ahead > skew))
        }
    }

    @Test func theLowerSeatTakesNoFirstOffer() {
        var (machine, _) = Self.joined(ownSeat: 1)
        let offer = SignalContent(.offer, sdp: "o")
        #expect(machine.received(offer, from: Self.peer, Self.time(10), serverTime: Self.now, at: start) == [])
    }

    /// Either may change a connection that is up. If both do at once, the lower seat insists.
    @Test(arguments: [1, 3]) func ofTwoChangesAtOnceTheLowerSeatsStands(ownSeat: Int) {
        var (machine, _) = Self.joined(ownSeat: ownSeat)
        if ownSeat == 1 {
            _ = machine.heard(.offer("o"), of: Self.peer, number: 1, at: start)
            _ = machine.received(
                SignalContent(.answer, sdp: "a"), from: Self.peer, Self.time(10), serverTime: Self.now, at: start)
        } else {
            _ = machine.received(
                SignalContent(.offer, sdp: "o"), from: Self.peer, Self.time(10), serverTime: Self.now, at: start)
            _ = machine.heard(.answer("a"), of: Self.peer, number: 1, at: start)
        }
        _ = machine.heard(.connected, of: Self.peer, number: 1, at: start)
        let own = machine.heard(.offer("mine"), of: Self.peer, number: 1, at: start)
        #expect(own == [.signal(.offer, to: Self.peer, SignalContent(.offer, sdp: "mine"))])
        let taken = machine.received(
            SignalContent(.offer, sdp: "theirs"), from: Self.peer, Self.time(20), serverTime: Self.now, at: start)
        #expect(taken == (ownSeat == 1 ? [] : [.link(Self.peer, number: 1, .accept("theirs", isFresh: false))]))
    }

    @Test func whoeverIsUnknownMakesTheMachineAsk() throws {
        var (machine, _) = Self.joined(ownSeat: 1, peerSeat: nil)
        #expect(machine.nextWake == nil)
        #expect(
            machine.received(SignalContent(.restart), from: Self.peer, Self.time(1), serverTime: Self.now, at: start)
                == [])
        let due = try #require(machine.nextWake)
        #expect(machine.timerFired(at: due) == [.join])
        let actions = machine.joined(Self.state(6), at: due)
        #expect(actions == [.changed, .link(Self.peer, number: 1, .offer)])
    }

    @Test func whoeverSpeaksThoughAwayMakesTheMachineAsk() throws {
        var (machine, _) = Self.joined(ownSeat: 3)
        _ = machine.changed(.away, Self.peer, Self.state(6, ownSeat: 3, isConnected: false), at: start)
        #expect(machine.nextWake == nil)
        _ = machine.received(
            SignalContent(.offer, sdp: "o"), from: Self.peer, Self.time(1), serverTime: Self.now, at: start)
        let due = try #require(machine.nextWake)
        #expect(machine.timerFired(at: due) == [.join])
    }

    @Test func whoseSeatHasGoneMakesTheMachineAsk() throws {
        var (machine, _) = Self.joined(ownSeat: 1)
        machine.seatIsGone(at: start)
        let due = try #require(machine.nextWake)
        #expect(machine.timerFired(at: due) == [.join])
        var kept = machine
        #expect(machine.joinFailed(.notFound, retryAfter: nil, at: due).last == .over(.notFound))
        // It was told in error: nothing is made anew.
        #expect(kept.joined(Self.state(5), at: due) == [])
    }

    @Test func leavingSaysByeFirst() {
        var (machine, _) = Self.joined(ownSeat: 1)
        #expect(
            machine.leave() == [
                .signal(.bye, to: Self.peer, SignalContent(.bye)), .link(Self.peer, number: 1, .drop), .over(.left),
            ])
        #expect(machine.leave() == [] && machine.connected() == [])
        #expect(machine.joined(Self.state(9), at: start) == [])
    }

    @Test func byeEndsTheConnectionAndTheServerIsAsked() {
        var (machine, _) = Self.joined(ownSeat: 1)
        let actions = machine.received(
            SignalContent(.bye), from: Self.peer, Self.time(1), serverTime: Self.now, at: start)
        #expect(actions == [.link(Self.peer, number: 1, .drop)])
        // Nothing is offered to somebody who is about to leave.
        #expect(machine.timerFired(at: start + .seconds(1)) == [])
        #expect(machine.timerFired(at: start + .seconds(2)) == [.join])
        var other = machine
        #expect(machine.joined(Self.state(6, peerSeat: nil), at: start + .seconds(2)) == [.changed])
        #expect(machine.nextWake == nil)
        // An old `bye` of somebody who has come back costs a new connection, no more.
        let actionsThere = other.joined(Self.state(5), at: start + .seconds(2))
        #expect(actionsThere == [.link(Self.peer, number: 2, .offer)])
    }

    @Test func theRoomsEndIsTheMachines() {
        var (removed, _) = Self.joined(ownSeat: 1)
        #expect(
            removed.changed(.removed, Self.own, Self.state(6), at: start) == [
                .link(Self.peer, number: 1, .drop), .over(.removed),
            ])
        var (closed, _) = Self.joined(ownSeat: 3)
        #expect(closed.changed(.closed, nil, Self.state(6), at: start) == [.over(.closed)])
        var (lost, _) = Self.joined(ownSeat: 3)
        lost.disconnected()
        #expect(lost.connected() == [.join])
        #expect(lost.joinFailed(.internalError, retryAfter: .seconds(3), at: start) == [])
        #expect(lost.timerFired(at: start + .seconds(2)) == [] && lost.timerFired(at: start + .seconds(3)) == [.join])
        #expect(lost.joinFailed(.notFound, retryAfter: nil, at: start) == [.over(.notFound)])
    }
}
