import ClusterContract
import Contract
import Testing

@testable import RouterCore

@Suite struct MailboxSessionTests {
    private let resendAfter: Int64 = 15_000

    private func session(_ progress: BoundConnection.Progress, newest: Int64?, at now: Int64 = 0) -> MailboxSession {
        MailboxSession(
            BoundConnection(
                caller: Caller(identity: identity(1), epoch: Epoch(value: 1)), node: NodeID(value: 1),
                connection: ConnectionID(value: 1),
                boundAt: Timestamp(milliseconds: 0), progress: progress, state: progress == .fresh ? .new : .confirmed,
                number: 1),
            newest: newest, at: now)
    }

    @Test func mailGoesLiveToWhomNothingWaitsFor() {
        var session = self.session(.fresh, newest: nil)
        #expect(session.isCaughtUp)
        #expect(session.accepted(5, at: 0) == .send)
        #expect(session.sentThrough == 5)
    }

    /// Contract §13: binding never sends pending mail.
    @Test func whatWaitsIsTheClientsToFetchAndNewMailWaitsBehindIt() {
        var session = self.session(.fresh, newest: 4)
        #expect(!session.isCaughtUp)
        #expect(session.accepted(5, at: 0) == .hold)
        session.paged(last: 3, isLast: false, at: 1_000)
        #expect(session.accepted(6, at: 1_000) == .hold)
        session.paged(last: 6, isLast: true, at: 2_000)
        #expect(session.accepted(7, at: 2_000) == .send)
    }

    @Test func mailHeldBackTooLongIsSentWithoutBeingAskedFor() {
        var session = self.session(.fresh, newest: 4)
        _ = session.accepted(5, at: 1_000)
        #expect(session.timerFired(at: 10_999, resendAfter: self.resendAfter) == .none)
        #expect(session.timerFired(at: 11_000, resendAfter: self.resendAfter) == .catchUp(after: 0))
        session.caughtUp([4, 5], isAll: true, at: 11_000)
        #expect(session.accepted(6, at: 11_000) == .send)
    }

    @Test func whatFollowsSomethingThatMayBeLostWaitsBehindIt() {
        var session = self.session(.fresh, newest: nil)
        for number: Int64 in [5, 6, 7] { _ = session.accepted(number, at: 0) }
        session.acknowledged(5)
        session.mayHaveLost(at: 1_000)
        #expect(session.accepted(8, at: 1_000) == .hold)
        #expect(session.mayLeaveMail)
        // No gateway says how far the connection is: all that nobody has acknowledged, in order.
        #expect(session.timerFired(at: 11_000, resendAfter: self.resendAfter) == .catchUp(after: 4))
    }

    @Test func whatWasAcknowledgedIsNotSentAgainBecauseSomethingMayBeLost() {
        var session = self.session(.fresh, newest: nil)
        _ = session.accepted(5, at: 0)
        session.acknowledged(5)
        session.mayHaveLost(at: 1_000)
        #expect(session.accepted(6, at: 1_000) == .hold)
        #expect(session.timerFired(at: 11_000, resendAfter: self.resendAfter) == .catchUp(after: 5))
    }

    // MARK: Who is woken when the connection ends

    @Test func whoGotNothingNewNeedNotBeWoken() {
        var session = self.session(.fresh, newest: 4)
        #expect(!session.mayLeaveMail)
        session.paged(last: 4, isLast: true, at: 1_000)
        #expect(!session.mayLeaveMail)
    }

    /// Nobody was woken for it: its recipient was connected.
    @Test func mailThatWasHeldBackMayBeLeft() {
        var session = self.session(.fresh, newest: 4)
        _ = session.accepted(5, at: 1_000)
        #expect(session.mayLeaveMail)
        // A page went to a connection that may have been dead by then.
        session.paged(last: 5, isLast: true, at: 2_000)
        #expect(session.mayLeaveMail)
    }

    @Test func mailThatIsToBeCaughtUpWithMayBeLeft() {
        var session = self.session(.fresh, newest: 4)
        _ = session.accepted(5, at: 0)
        _ = session.timerFired(at: 10_000, resendAfter: self.resendAfter)
        #expect(session.mayLeaveMail)
        _ = session.accepted(6, at: 10_000)
        session.caughtUp([4, 5, 6], isAll: true, at: 10_000)
        #expect(session.mayLeaveMail)
    }

    @Test func whatIsAnnouncedForTheFirstTimeIsNewForAMoment() {
        let (first, again) = (
            self.session(.fresh, newest: nil, at: 1_000), self.session(.live(through: 0), newest: nil, at: 1_000)
        )
        let end = 1_000 + RouterLimits.newcomerTime.milliseconds
        #expect(first.isNew(at: 1_000) && first.isNew(at: end - 1) && !first.isNew(at: end))
        #expect(!again.isNew(at: 1_000))
    }

    /// The client comes back before anybody has noticed that it was gone, and goes for good before it has read.
    @Test func whatOneConnectionMayLeaveTheNextOneMayLeaveToo() {
        var older = self.session(.fresh, newest: nil)
        _ = older.accepted(5, at: 0)
        #expect(older.mayLeaveMail)
        let bound = BoundConnection(
            caller: older.caller, node: NodeID(value: 2), connection: ConnectionID(value: 2),
            boundAt: Timestamp(milliseconds: 1), progress: .fresh, state: .new, number: 1)
        #expect(MailboxSession(bound, newest: 5, after: older, at: 1_000).mayLeaveMail)
        #expect(!MailboxSession(bound, newest: nil, after: older, at: 1_000).mayLeaveMail)
        #expect(!MailboxSession(bound, newest: 5, at: 1_000).mayLeaveMail)
    }

    /// A router that has died may have sent it and woken nobody.
    @Test func whatMayHaveBeenMissedMayBeLeft() {
        var session = self.session(.fresh, newest: 4)
        #expect(!session.mayLeaveMail)
        session.mayHaveBeenMissed()
        #expect(session.mayLeaveMail)
    }

    /// Its predecessor may have held it back.
    @Test func whatWaitsForAPagingClientThatWasTakenOverMayBeLeft() {
        #expect(self.session(.paging, newest: 4).mayLeaveMail)
        #expect(!self.session(.paging, newest: nil).mayLeaveMail)
    }

    // MARK: Hand-overs

    /// Another router may have held it back, and the client may have come to the end of its pages long ago.
    @Test func whatWaitsForAPagingClientThatWasTakenOverIsSentAfterAWhile() {
        var session = self.session(.paging, newest: 4, at: 1_000)
        #expect(session.timerFired(at: 11_000, resendAfter: self.resendAfter) == .catchUp(after: 0))
    }

    @Test func whoPagesOnIsNotSentWhatItIsAboutToRead() {
        var session = self.session(.paging, newest: 400, at: 0)
        for page in 1...4 {
            let now = Int64(page) * 9_000
            #expect(session.timerFired(at: now, resendAfter: self.resendAfter) == .none)
            session.paged(last: Int64(page) * 100, isLast: page == 4, at: now)
        }
        #expect(session.accepted(401, at: 40_000) == .send)
    }

    @Test func aRouterThatTakesOverSendsWhatItsPredecessorDidNot() {
        var session = self.session(.live(through: 3), newest: 6)
        #expect(session.isCaughtUp)
        #expect(session.accepted(7, at: 0) == .hold)
        #expect(session.timerFired(at: 0, resendAfter: self.resendAfter) == .catchUp(after: 3))
        session.caughtUp([4, 5], isAll: false, at: 0)
        #expect(session.timerFired(at: 1_000, resendAfter: self.resendAfter) == .catchUp(after: 5))
        session.caughtUp([6, 7], isAll: true, at: 1_000)
        #expect(session.accepted(8, at: 1_000) == .send)
    }

    @Test func whatAPageHasShownInTheSameBatchIsNotSentAgain() {
        var session = self.session(.live(through: 3), newest: nil)
        session.paged(last: 9, isLast: true, at: 0)
        #expect(session.accepted(9, at: 0) == .hold)
        #expect(session.accepted(10, at: 0) == .send)
    }

    @Test func unacknowledgedMailComesAgainEverMoreRarely() {
        var session = self.session(.fresh, newest: nil)
        _ = session.accepted(5, at: 0)
        _ = session.accepted(6, at: 1_000)
        #expect(session.timerFired(at: 14_999, resendAfter: self.resendAfter) == .none)
        #expect(session.timerFired(at: 15_000, resendAfter: self.resendAfter) == .resend(after: 4, through: 6))
        session.resent(count: 1, from: 5, youngSince: 1_000, isAll: true, at: 15_000)
        #expect(session.timerFired(at: 16_000, resendAfter: self.resendAfter) == .resend(after: 4, through: 6))
        session.resent(count: 2, from: 5, youngSince: nil, isAll: true, at: 16_000)
        #expect(session.timerFired(at: 45_999, resendAfter: self.resendAfter) == .none)
        #expect(session.timerFired(at: 46_000, resendAfter: self.resendAfter) == .resend(after: 4, through: 6))
    }

    @Test func acknowledgedMailDoesNotComeAgain() {
        var session = self.session(.fresh, newest: nil)
        _ = session.accepted(5, at: 0)
        _ = session.accepted(6, at: 0)
        session.acknowledged(5)
        #expect(session.unacknowledged == 1)
        session.acknowledged(6)
        #expect(session.unacknowledged == 0)
        #expect(session.timerFired(at: 1_000_000, resendAfter: self.resendAfter) == .none)
    }

    @Test func receiptsOfPagedMailDoNotCountForLiveMail() {
        var session = self.session(.fresh, newest: 4)
        session.paged(last: 4, isLast: true, at: 0)
        _ = session.accepted(5, at: 0)
        session.acknowledged(3)
        session.acknowledged(4)
        #expect(session.unacknowledged == 1)
    }
}
