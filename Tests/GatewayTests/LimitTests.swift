import Bus
import Contract
import GatewayCore
import ServiceRuntime
import Testing

/// Relations between a gateway's bounds and those of clients, bus and process.
@Suite struct LimitTests {
    @Test func whatOneClientMaySendAndBeSentFits() {
        #expect(GatewayLimits.outboundBytesMax >= 2 * Limits.frameBytesMax + Limits.pageBytesMax)
        #expect(GatewayLimits.bytesWaitingMax >= Limits.frameBytesMax)
        #expect(GatewayLimits.framesWaitingMax >= Limits.framesBurst)
        #expect(GatewayLimits.closingBytesMax >= Limits.frameBytesMax)
        #expect(GatewayLimits.heldBytesUncounted < Limits.frameBytesMax)
        // One client cannot have others closed.
        let ofOne = GatewayLimits.outboundBytesMax + GatewayLimits.bytesWaitingMax + Limits.frameBytesMax
        #expect(GatewayLimits.heldBytesMax >= 32 * ofOne)
    }

    /// Beyond its bound Redis drops the oldest Jobs.
    @Test func aGatewayStopsBeforeRedisDropsJobs() {
        #expect(GatewayLimits.partitionDepthMax <= BusLimits.streamEntriesMax / 2)
        #expect(GatewayLimits.pendingRequestsMax <= BusLimits.commandsInFlightMax)
    }

    @Test func presenceOutlivesALostRefresh() {
        #expect(GatewayLimits.presenceRefresh * 2 < GatewayLimits.presenceTTL)
        #expect(.seconds(GatewayLimits.aliveRefreshSeconds * 2) < GatewayLimits.aliveTTL)
        #expect(GatewayLimits.aliveTTL < GatewayLimits.presenceTTL)
        #expect(Limits.idleTimeout < GatewayLimits.presenceTTL)
    }

    @Test func whatWaitsForOthersDoesNotMakeItsClientWait() {
        #expect(GatewayLimits.receiptsHeldFor < GatewayLimits.receiptRateWindow)
        #expect(GatewayLimits.receiptRateWindow < ClusterLimits.answerMax)
        #expect(GatewayLimits.turnInterval < GatewayLimits.receiptsHeldFor)
        #expect(GatewayLimits.turnInterval < GatewayLimits.turnRateWindow)
        #expect(GatewayLimits.announceAgainAfter < ClusterLimits.answerMax)
        #expect(GatewayLimits.handshakeMax < Limits.idleTimeout)
    }

    @Test func whatIsConfirmedIsRemembered() {
        #expect(GatewayLimits.confirmedRememberedMax >= 10 * ClusterLimits.outcomesPerBindMax)
        #expect(GatewayLimits.groupEventBytesMax < Limits.groupEventsBytesMax)
        #expect(GatewayLimits.departuresAtOnceMax <= GatewayLimits.departuresUntoldMax)
    }

    /// Answers under way, then 10,000 connections, then what they have not read.
    @Test func aDrainEndsBeforeTheProcessIsEnded() {
        let steps = 10_000 / GatewayLimits.drainBatch
        #expect(GatewayLimits.drainAnswersMax + GatewayLimits.drainPause * steps < RuntimeLimits.drainMax)
        #expect(GatewayLimits.closeLinger < RuntimeLimits.drainMax)
        #expect(GatewayLimits.drainJitterMinMilliseconds < GatewayLimits.drainJitterMaxMilliseconds)
    }
}
