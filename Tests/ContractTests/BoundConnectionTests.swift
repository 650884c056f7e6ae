import ClusterContract
import Contract
import Testing

/// Which of two connections of one identity stays.
@Suite struct BoundConnectionTests {
    typealias AnnouncementState = BoundConnection.AnnouncementState

    private func connection(
        _ state: AnnouncementState, boundAt: Int64, epoch: Int64 = 1, node: UInt64 = 1, number: UInt64 = 1
    ) -> BoundConnection {
        BoundConnection(
            caller: Caller(identity: WhisperID(bits: 1)!, epoch: Epoch(value: epoch)), node: NodeID(value: node),
            connection: ConnectionID(value: number), boundAt: Timestamp(milliseconds: boundAt),
            progress: .live(through: 0),
            state: state, number: 1)
    }

    private func wins(_ one: BoundConnection, over other: BoundConnection, isNewToo: Bool = false) -> Bool {
        one.wins(
            over: other.caller, boundAt: other.boundAt, node: other.node, connection: other.connection,
            isNewToo: isNewToo)
    }

    /// The end of the older one got lost on the way to its gateway, and both are announced again, in whichever order.
    @Test(arguments: [AnnouncementState.unconfirmed, .confirmed], [AnnouncementState.unconfirmed, .confirmed])
    func ofTwoThatAreAnnouncedAgainTheOneBoundLastStays(older: AnnouncementState, newer: AnnouncementState) {
        let older = self.connection(older, boundAt: 1_000)
        let newer = self.connection(newer, boundAt: 2_000)
        #expect(self.wins(newer, over: older))
        #expect(!self.wins(older, over: newer))
    }

    /// Gateways' clocks need not agree for it.
    @Test func whoeverIsAnnouncedForTheFirstTimeStays() {
        #expect(self.wins(self.connection(.new, boundAt: 1_000), over: self.connection(.confirmed, boundAt: 2_000)))
    }

    /// A router has read its stream again from the start, because a master of Redis was replaced. The older one's gateway is gone,
    /// and its first announcement still stands there.
    @Test func whatIsReadAgainIsNoFirstAnnouncement() {
        var (older, newer) = (self.connection(.new, boundAt: 1_000), self.connection(.new, boundAt: 2_000))
        older.isReadAgain = true
        newer.isReadAgain = true
        #expect(!self.wins(older, over: newer))
        #expect(self.wins(newer, over: older))
    }

    /// Both waited for the bus, and the one that had waited longer comes second.
    @Test func ofTwoThatAreAnnouncedTogetherTheOneThatCameLastStays() {
        let (older, newer) = (self.connection(.new, boundAt: 1_000), self.connection(.new, boundAt: 2_000))
        #expect(!self.wins(older, over: newer, isNewToo: true))
        #expect(self.wins(newer, over: older, isNewToo: true))
        #expect(self.wins(older, over: newer))
    }

    /// Two connections showed the token in the same millisecond, at two gateways or at one, and are announced once or more.
    /// Otherwise each would take the place of the other, and both would be closed.
    @Test(
        arguments: [AnnouncementState.new, .unconfirmed, .confirmed], [AnnouncementState.new, .unconfirmed, .confirmed])
    func ofTwoThatWereBoundInOneMomentOneWins(first: AnnouncementState, second: AnnouncementState) {
        let one = self.connection(first, boundAt: 1_000, node: 1, number: 2)
        for other in [
            self.connection(second, boundAt: 1_000, node: 2, number: 1),
            self.connection(second, boundAt: 1_000, node: 1, number: 3),
        ] {
            #expect(!self.wins(one, over: other, isNewToo: true))
            #expect(self.wins(other, over: one, isNewToo: true))
        }
    }

    @Test func aNewerSessionStaysWheneverItWasBound() {
        let older = self.connection(.unconfirmed, boundAt: 2_000)
        let newer = self.connection(.confirmed, boundAt: 1_000, epoch: 2)
        #expect(self.wins(newer, over: older))
        #expect(!self.wins(older, over: newer))
    }
}
