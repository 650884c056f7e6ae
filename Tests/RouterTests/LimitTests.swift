import Bus
import ClusterContract
import Contract
import RouterCore
import Store
import Testing

/// Relations between a router's bounds and those of contract, bus and store.
@Suite struct LimitTests {
    /// Without its row in the ledger no receipt about a message counts.
    @Test func theLedgerOutlivesAllMail() {
        #expect(Limits.pendingTTLMax + .seconds(86_400) <= RouterLimits.ledgerTTL)
        #expect(Limits.pendingTTL <= Limits.pendingTTLMax)
    }

    /// A frozen owner is ended, and another takes its partitions, within the time that clients wait.
    @Test func aPartitionHasANewOwnerWithinARequest() {
        let looks = RouterLimits.idleInterval + RouterLimits.leaseInterval
        let takeover = RouterLimits.frozenAfter + looks + RouterLimits.readBlockMax
        #expect(takeover < ClusterLimits.answerMax)
        // A live router asks often enough not to seem frozen.
        let pause = max(RouterLimits.idleInterval, RouterLimits.leaseInterval + RouterLimits.readBlockMax)
        let silence = pause + RouterLimits.retryPause
        #expect(silence * 2 < RouterLimits.frozenAfter)
    }

    @Test func mailIsSentAgainInTime() {
        // Timers are looked at once a second, and after the batch under way.
        #expect(RouterLimits.resendAfterMax + .seconds(5) <= Limits.resendWithin)
        #expect(RouterConfiguration().resendAfter <= RouterLimits.resendAfterMax)
        #expect(RouterLimits.resendAfterMax < RouterLimits.resendPauseMax)
        #expect(RouterLimits.resendPauseMax < Limits.pendingTTL)
        #expect(RouterLimits.holdMax < Limits.resendWithin)
        #expect(RouterLimits.reconciliationPause < RouterConfiguration().resendAfter)
    }

    @Test func readsHoldThePagesTheyAskFor() {
        #expect(RouterLimits.pagesPerReadMax * Limits.pageBytesMax <= RouterLimits.catchUpBytesMax)
        #expect(RouterLimits.catchUpBytesMax <= RouterLimits.pageBytesMax)
        #expect(RouterLimits.intakeBytes < BusLimits.readBytesMax)
        #expect(RouterLimits.messagesPerReadMax <= Limits.fetchPendingMax)
        #expect(Limits.groupEventsBytesMax < RouterLimits.intakeBytes)
    }

    /// Beyond its bound Redis drops the oldest Jobs.
    @Test func routersStopBeforeRedisDropsWakes() {
        #expect(RouterLimits.wakesWaitingMax <= BusLimits.streamEntriesMax / 2)
    }

    /// A question whose router is gone is answered by another while its client waits.
    @Test func aGroupQuestionIsClaimedWithinItsTime() {
        #expect(RouterLimits.groupClaimIdle + RouterLimits.groupClaimEvery < ClusterLimits.frameAgeMax)
        #expect(ClusterLimits.answerMax < RouterLimits.groupEventTTL)
        #expect(RouterLimits.groupEventTTL < Limits.groupEventTTL)
        #expect(RouterLimits.groupConnectionsMax <= RouterLimits.groupJobsMax)
    }

    @Test func whatWaitsForOthersWaitsShortly() {
        #expect(RouterLimits.readInterval < RouterLimits.readRateWindow)
        #expect(RouterLimits.readInterval < RouterLimits.deferredJobsHeldFor)
        #expect(RouterLimits.deferredJobsHeldFor < RouterLimits.deferredJobsRateWindow)
        #expect(RouterLimits.readJobsWorthWaiting < RouterLimits.readJobsWorthOverlapping)
    }

    @Test func countingAndSweepingHaveTheirOrder() {
        #expect(RouterLimits.recountPause < RouterLimits.countedFor)
        #expect(RouterLimits.sweepInterval < Limits.pendingTTL)
        #expect(RouterLimits.keptAtOnceMax <= RouterLimits.sweepRowsMax)
        #expect(RouterLimits.clearingPause < RouterLimits.clearingInterval)
        #expect(RouterLimits.clearingInterval < RouterLimits.quietClearingInterval)
        #expect(RouterLimits.recycle.first < RouterLimits.recycle.longest)
        #expect(RouterLimits.sweepRowsMax * Int64(RouterLimits.lingeringPagesMax) >= RouterLimits.lingeringLookBack)
    }

    @Test func presenceIsToldAsOftenAsItMay() {
        let presence = PresenceConfiguration()
        #expect(PresenceLimits.roundPause < presence.typingPause)
        #expect(presence.typingPause < presence.offlineAfter)
        #expect(presence.offlineAfter < presence.pause)
        #expect(PresenceLimits.strangerKnownFor < PresenceLimits.peerKnownFor)
        #expect(PresenceLimits.correspondentsMax >= Int64(ClusterLimits.peersMax))
        #expect(PresenceLimits.newcomersMax <= PresenceLimits.pendingTransitionsMax)
        #expect(PresenceLimits.earlyNewsHeldFor < PresenceLimits.unsettledFor)
    }
}
