import Bus
import ClusterContract
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
        #expect(GatewayLimits.linesHeldFor < GatewayLimits.lineRateWindow)
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

    /// Answers under way, then as many connections as a gateway has files for (`LimitNOFILE`), then what they have not read.
    /// Twice as long, because the machine is busy with their return.
    @Test func aDrainEndsBeforeTheProcessIsEnded() {
        let steps = 65_536 / GatewayLimits.drainBatch
        let needed = GatewayLimits.drainAnswersMax + GatewayLimits.drainPause * steps + GatewayLimits.closeLinger
        #expect(needed * 2 < GatewayLimits.drainMax)
        #expect(RuntimeLimits.drainMax < GatewayLimits.drainMax)
        #expect(GatewayLimits.drainJitterMinMilliseconds < GatewayLimits.drainJitterMaxMilliseconds)
    }
}
