import CallsCore
import ClusterContract
import Contract
import ConversationsCore
import Participants
import Testing

/// Relations between the bounds of calls and the limits of the contract.
@Suite struct LimitTests {
    @Test func aShareHasANewOwnerWithinARequest() {
        let looks = OwnerLimits.idleInterval + OwnerLimits.leaseInterval
        let takeover = OwnerLimits.frozenAfter + looks + OwnerLimits.readBlockMax
        #expect(takeover < ClusterLimits.answerMax)
        let pause = max(OwnerLimits.idleInterval, OwnerLimits.leaseInterval + OwnerLimits.readBlockMax)
        let silence = pause + OwnerLimits.retryPause
        #expect(silence * 2 < OwnerLimits.frozenAfter)
    }

    @Test func aCalleeIsReachedWhileItRings() {
        #expect(CallLimits.locatePause < CallLimits.resendAfter)
        #expect(CallLimits.resendAfter < CallLimits.wakeUnreachedAfter)
        let shortest = Duration.seconds(CallLimits.ringSeconds.lowerBound)
        #expect(CallLimits.wakeUnreachedAfter < shortest && CallLimits.silenceRemembered < shortest)
        #expect(shortest < Limits.callRingTime)
        #expect(.seconds(CallLimits.ringSeconds.upperBound) < Limits.callUnansweredTTL)
        #expect(CallLimits.resendAfter < ClusterLimits.frameAgeMax)
        #expect(CallLimits.engagedMin >= Limits.callUnansweredTTL)
    }

    @Test func candidatesThatAreKeptAreKnownAgain() {
        #expect(Limits.callCandidatesBufferedMax <= CallLimits.candidatesUnderWayMax)
        #expect(CallLimits.candidatesUnderWayMax <= CallLimits.marksMax)
        #expect(CallLimits.candidateBytesMax >= Limits.frameBytesMax)
    }

    @Test func aLostSlotIsSeenInTime() {
        #expect(CallLimits.slotSeenInterval * 2 < CallLimits.slotLostAfter)
        #expect(CallLimits.slotLostAfter < Limits.callAnsweredTTL)
        #expect(CallLimits.quietAfter < Limits.callAnsweredTTL)
        #expect(CallLimits.endedTTL < Limits.callAnsweredTTL)
    }

    /// Contract §14.11.
    @Test func linesAreGatheredForAMoment() {
        #expect(ConversationLimits.linesGatheredFor <= .milliseconds(250))
        #expect(
            ConversationLimits.linesGatheredMax + OwnerLimits.jobsPerShareMax * LiveShare.count
                <= LiveLimits.linesToldMax)
        #expect(ConversationLimits.linesGatheredFor * 4 < LiveLimits.lineStoredWithin)
        #expect(ConversationLimits.shareBodyBytesMax > LiveLimits.shareCiphertext.upperBound * 4 / 3 + 1_024)
        #expect(LiveLimits.sharesMax == 20 && LiveLimits.shareCiphertext.upperBound == 16_384)
    }

    /// Contract §13b.
    @Test func nobodyHasAllOfALiveConversation() {
        #expect(LiveLimits.waitingOfAddressMax * 2 < LiveLimits.waitingMax, "two addresses leave places to others")
        #expect(LiveLimits.streamsPerConnectionMax <= LiveLimits.streamsOfIdentityMax)
        #expect(LiveLimits.streamsOfIdentityMax <= LiveLimits.streamsOfProfileMax)
        #expect(LiveLimits.streamsOfProfileMax < LiveLimits.conversationsPerProfileMax)
        // A report names each present holder and listener before their conversation leaves the memory.
        #expect(OwnerLimits.reportsMissedFor < ConversationLimits.pausedKeptFor)
        #expect(ConversationLimits.pausedKeptFor <= .seconds(60))
    }

    /// Each look deletes one statement's lines at least, and goes on while there is time.
    @Test func linesExpireAsFastAsTheyAreAccepted() {
        func rate(_ lines: Int, _ time: Duration) -> Double { Double(lines) / (time / .seconds(1)) }
        let accepted = rate(ConversationLimits.linesGatheredMax, ConversationLimits.linesGatheredFor)
        let look = OwnerLimits.leaseInterval + ConversationLimits.linesSweptFor
        #expect(rate(ConversationLimits.linesSweptAtOnce, look) >= accepted)
        // A transcript has one line at least.
        #expect(ConversationLimits.transcriptsSweptAtOnce >= ConversationLimits.linesSweptAtOnce)
        // Lines that come meanwhile are stored in time.
        #expect(
            ConversationLimits.linesSweptFor + ConversationLimits.linesGatheredFor * 4 < LiveLimits.lineStoredWithin)
        #expect(ConversationLimits.strangersCountedEvery < OwnerLimits.sweepInterval)
    }

    /// Contract §13b.
    @Test func whatIsKeptIsBounded() {
        let bounds = KeptBounds()
        #expect(bounds.strangerLineBytesMax == 8 << 20 && bounds.profileLineBytesMax == 64 << 20)
        #expect(bounds.profileSharesMax == 64 && bounds.profileShareBytesMax == 1 << 20)
        #expect(bounds.strangersBytesMax == 10 << 30)
    }

    @Test func aKeyOfPseudonymsOutlivesItsPeriod() {
        #expect(RelayPeriod.lengthMax < RelayPeriod.keyLife)
        #expect(RelayPeriod.lengthMax < Limits.turnCredentialsTTL)
    }
}
