import Contract
import PushCore
import Testing

/// Relations between the bounds of push, of its providers' connections, and the limits of the contract.
@Suite struct LimitTests {
    /// A Job is another process's when the first cannot be at work on it any more.
    @Test func aJobIsNotClaimedWhileItIsPushed() {
        #expect(PushLimits.claimIdleAbove < PushLimits.claimIdle)
        #expect(PushLimits.callHeldMax + PushLimits.requestMax < PushLimits.callClaimIdle)
        #expect(PushLimits.claimEvery < PushLimits.callClaimIdle)
        #expect(PushLimits.requestMax * 2 < PushLimits.lookLease)
    }

    @Test func aCallIsPushedWhileItRings() {
        #expect(PushLimits.callRetry.first < PushLimits.callRetry.longest)
        #expect(PushLimits.callRetry.longest < PushLimits.callHeldMax)
        #expect(PushLimits.callClaimIdle + PushLimits.claimEvery < Limits.callRingTime)
        // Operators may choose a longer ring, which is shorter than this.
        #expect(Limits.callUnansweredTTL < PushLimits.callMarkSpare)
    }

    @Test func oneProviderThatHangsLeavesRoomForOthers() {
        #expect(HTTP2Limits.givingWayMax < HTTP2Limits.streamsMax)
        #expect(HTTP2Limits.givingWayMax >= 2 * PushLimits.takeMax)
        #expect(HTTP2Limits.givingWayMax < PushLimits.sendsInFlightMax)
        #expect(HTTP2Limits.streamsMax <= HTTP2Limits.waitingMax)
        #expect(PushLimits.webPushInFlightMax < PushLimits.sendsInFlightMax)
        #expect(PushLimits.webPushInFlightOfOneMax < PushLimits.webPushInFlightMax)
        #expect(PushLimits.webPushSlowMax < PushLimits.webPushInFlightOfOneMax)
        #expect(HTTP2Limits.newNamesMax < HTTP2Limits.lookUpsMax)
    }

    @Test func aRequestHasTimeToConnect() {
        #expect(HTTP2Limits.connectMax < PushLimits.requestMax)
        #expect(HTTP2Limits.reconnect.first < HTTP2Limits.reconnect.longest)
        #expect(PushLimits.webPushSlowAfter < PushLimits.requestMax)
        #expect(PushLimits.roundTimeout < PushLimits.webPushSlowAfter)
        #expect(PushLimits.roomPause < PushLimits.roundTimeout)
        #expect(HTTP2Limits.answerHeaderBytesMax < HTTP2Limits.answerBytesMax)
    }

    @Test func pausesGrow() {
        #expect(WakePlan.restPauses == WakePlan.restPauses.sorted())
        #expect(WakePlan.reminderPauses == WakePlan.reminderPauses.sorted())
        #expect(WakePlan.retry.first < WakePlan.retry.longest)
        #expect(WakePlan.retry.longest <= WakePlan.retryAfterMax)
        // Watched until the first reminder; the last comes before the mail expires.
        #expect(PushLimits.watchLength == WakePlan.reminderPauses.first)
        #expect(WakePlan.reminderPauses.reduce(.zero, +) < Limits.pendingTTL)
        #expect(PushLimits.lookEvery < PushLimits.watchLength)
        #expect(Limits.pendingTTL < PushLimits.lastPushKept)
        #expect(PushLimits.lastPushKept <= KeptRecord.deadLetters.usual!)
    }

    /// APNs refuses tokens older than an hour, and more than one in 20 minutes.
    @Test func aProviderTokenIsRenewedInTime() {
        #expect(ProviderTokenLife.renewAfter > .seconds(20 * 60))
        #expect(ProviderTokenLife.renewAfter < .seconds(60 * 60))
    }

    @Test func jobsThatAreHeldHaveTheirWindows() {
        #expect(PushLimits.takeMax <= PushLimits.jobsHeldMax)
        #expect(PushLimits.jobsHeldMax <= PushLimits.windowsMax)
        #expect(PushLimits.lookEvery < PushLimits.quietLookEvery && PushLimits.quietLookEvery < PushLimits.window)
    }
}
