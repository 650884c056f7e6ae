import ClusterContract
import Contract
import Testing

@testable import RouterCore

/// Which identities have come, and which were present all the time.
@Suite struct PresenceMemoryTests {
    private let alice = identity(1)
    private let node = NodeID(value: 1)

    private func bound(
        _ state: BoundConnection.AnnouncementState, _ progress: BoundConnection.Progress = .fresh,
        connection: UInt64 = 1
    ) -> BoundConnection {
        BoundConnection(
            caller: Caller(identity: self.alice, epoch: Epoch(value: 1)), node: self.node,
            connection: ConnectionID(value: connection), boundAt: Timestamp(milliseconds: 0), progress: progress,
            state: state,
            number: 1)
    }

    private func session(_ bound: BoundConnection) -> MailboxSession { MailboxSession(bound, newest: nil, at: 0) }

    @Test func whoeverIsNewAndUnknownHasCome() {
        var memory = PresenceMemory(contract)
        memory.came(self.bound(.new), known: nil, at: 100_000)
        #expect(memory.machine.changes(at: 100_000).map(\.state) == [.online])
        #expect(memory.newcomers == [self.alice])
    }

    /// A takeover: the router before us has heard the first announcement, and has told of it; its confirmation got lost, or
    /// the gateway was faster. That the connection is fresh says only that the gateway has heard nothing yet.
    @Test(arguments: [BoundConnection.AnnouncementState.unconfirmed, .confirmed])
    func whoeverIsAnnouncedAgainAfterATakeoverHasNotCome(state: BoundConnection.AnnouncementState) {
        var memory = PresenceMemory(contract)
        memory.adoptedAt[Partition(of: self.alice)] = 100_000
        memory.came(self.bound(state), known: nil, at: 100_500)
        #expect(memory.machine.changes(at: 900_000).isEmpty)
        #expect(memory.newcomers.isEmpty)
    }

    /// If the one before us has not dealt with it, the first announcement lies in the stream.
    @Test func whoeverCameWhileNobodyOwnedThePartitionIsToldAfterTheAbsence() {
        var memory = PresenceMemory(contract)
        memory.adoptedAt[Partition(of: self.alice)] = 100_000
        let first = self.bound(.new)
        memory.came(first, known: nil, at: 100_100)
        memory.came(self.bound(.unconfirmed), known: self.session(first), at: 103_100)
        #expect(memory.machine.changes(at: 114_999).isEmpty)
        #expect(memory.machine.changes(at: 115_000).map(\.state) == [.online])
        #expect(memory.newcomers == [self.alice])
    }

    @Test func anotherConnectionOfSomebodyWhoIsThereIsNoComing() {
        var memory = PresenceMemory(contract)
        let older = self.session(self.bound(.new))
        memory.came(self.bound(.new, connection: 2), known: older, at: 100_000)
        #expect(memory.machine.changes(at: 900_000).isEmpty)
        // But it knows nothing yet.
        #expect(memory.newcomers == [self.alice])
    }

    /// Each kind of thing that rounds tell, look up or forget. A router whose memory says otherwise would leave it untold.
    @Test func itIsAtRestOnlyWhileNothingIsToldOrForgotten() {
        let (bob, now) = (identity(2), Int64(100_000))
        let pair = PeerPair(from: bob, to: self.alice)
        let notes: [(String, (inout PresenceMemory) -> Void)] = [
            ("came", { $0.machine.came(self.alice, at: now) }),
            ("newcomer", { $0.newcomers.insert(self.alice) }),
            ("told", { _ = $0.pairs.heard(.online, about: bob, by: self.alice, at: now) }),
            ("inherited", { $0.pairs.inherited(self.alice, at: now) }),
            ("typing", { _ = $0.typing.heard(true, pair, at: now) }),
            ("look-up", { $0.toLookUp.insert(pair) }),
            ("telling", { $0.telling = [.init(identity: self.alice, state: .online)] }),
            (
                "early",
                {
                    $0.adoptedAt[Partition(of: self.alice)] = now
                    $0.hold(.online, about: bob, for: self.alice, at: now)
                }
            ),
        ]
        for (name, note) in notes {
            var memory = PresenceMemory(contract)
            #expect(memory.isAtRest, "\(name)")
            note(&memory)
            #expect(!memory.isAtRest, "\(name)")
        }
    }

    @Test func itComesToRest() {
        var memory = PresenceMemory(contract)
        let bob = identity(2)
        memory.came(self.bound(.new), known: nil, at: 100_000)
        _ = memory.pairs.heard(.online, about: bob, by: self.alice, at: 100_000)
        _ = memory.typing.heard(true, PeerPair(from: bob, to: self.alice), at: 100_000)
        memory.newcomers = []
        for now in stride(from: Int64(100_000), through: 130_000, by: 250) {
            #expect(!memory.isAtRest, "at \(now)")
            _ = memory.machine.changes(at: now)
            _ = memory.pairs.due(at: now)
            memory.typing.forget(at: now)
        }
        _ = memory.machine.changes(at: 130_250)
        #expect(memory.isAtRest)
    }

    /// News may stand in front of the announcements in the stream of a partition that has just been taken over.
    @Test func newsThatIsEarlierThanItsListenerIsTold() {
        var memory = PresenceMemory(contract)
        let bob = identity(2)
        let gone = PresenceState.offline(lastSeen: Timestamp(milliseconds: 99_000))
        memory.hold(gone, about: bob, for: self.alice, at: 100_000)
        memory.adoptedAt[Partition(of: self.alice)] = 100_000
        memory.hold(.online, about: bob, for: self.alice, at: 100_100)
        memory.hold(gone, about: bob, for: self.alice, at: 100_200)
        memory.came(self.bound(.confirmed, .live(through: 7)), known: nil, at: 100_300)
        #expect(memory.pairs.due(at: 130_300) == [.init(listener: self.alice, about: bob, state: gone)])
    }

    @Test func earlyNewsIsForgottenWithItsTime() {
        var memory = PresenceMemory(contract)
        memory.adoptedAt[Partition(of: self.alice)] = 100_000
        memory.hold(.online, about: identity(2), for: self.alice, at: 100_100)
        memory.hold(.online, about: identity(3), for: self.alice, at: 110_000)
        memory.forgetEarlyNews(at: 110_000)
        memory.came(self.bound(.confirmed, .live(through: 7)), known: nil, at: 110_100)
        #expect(memory.pairs.pairs == 0)
    }

    /// A partition that is given up in good order takes along whatever is still to be told.
    @Test func theNextOwnerLearnsWhatIsStillToBeTold() {
        var memory = PresenceMemory(contract)
        let (bob, carol) = (identity(2), identity(3))
        let gone = PresenceState.offline(lastSeen: Timestamp(milliseconds: 99_000))
        // To be told at the end of a pause.
        #expect(memory.pairs.heard(.online, about: bob, by: self.alice, at: 100_000) == true)
        #expect(memory.pairs.heard(gone, about: bob, by: self.alice, at: 101_000) == false)
        // Heard of before the gateways have said who is there.
        memory.adoptedAt[Partition(of: carol)] = 100_000
        memory.hold(gone, about: bob, for: carol, at: 101_000)
        // Told already, but for the look-up of its peers.
        memory.machine.left(bob, at: 80_000)
        memory.telling = memory.machine.changes(at: 101_000)
        #expect(memory.telling.count == 1)

        let handover = memory.keep { _ in false }
        #expect(
            Set(handover.news) == [
                .init(listener: self.alice, about: bob, state: gone), .init(listener: carol, about: bob, state: gone),
            ])
        var successor = PresenceMachine(contract)
        successor.inherit(handover.transitions)
        #expect(successor.changes(at: 101_100).map(\.identity) == [bob])
        let rest = memory.keep { _ in false }
        #expect(rest.news.isEmpty)
    }

    @Test func whoeverWentWhileNobodyOwnedThePartitionIsOffline() {
        var memory = PresenceMemory(contract)
        memory.leftUnseen(self.alice, at: 100_000)
        #expect(memory.machine.pendingTransitions == 0)
        memory.adoptedAt[Partition(of: self.alice)] = 100_000
        memory.leftUnseen(self.alice, at: 101_000)
        #expect(memory.machine.changes(at: 116_000).count == 1)
    }
}
