import Bus
import ClusterContract
import Contract
import RedisBus
import Testing

/// Relations between the bounds of the bus and the limits of the contract.
@Suite struct LimitTests {
    /// Otherwise a stream whose turn never comes would wait for the others for ever. Partitions are more, and take turns.
    @Test func oneReadHoldsTheLongestFrameOfEachShare() {
        #expect(BusLimits.readStreamsMax * BusLimits.entryBytesMax <= BusLimits.readBytesMax)
        #expect(CallShare.count <= BusLimits.readStreamsMax)
        #expect(LiveShare.count <= BusLimits.readStreamsMax)
    }

    @Test func manyFramesFitIntoWhatWaitsToBeWritten() {
        #expect(Limits.frameBytesMax * 100 <= BusLimits.bytesWaitingMax)
        #expect(RedisLimits.memoryKeptMax >= Limits.frameBytesMax)
    }

    /// A gateway hears that a Job was lost before it gives up the request.
    @Test func aServerThatIsSilentIsNoticedWithinARequest() {
        // Ages are counted in looks.
        #expect(RedisLimits.answerMax.milliseconds.isMultiple(of: RedisLimits.watchEvery.milliseconds))
        #expect(RedisLimits.answerMax + RedisLimits.watchEvery + RedisLimits.connectMax < ClusterLimits.answerMax)
        #expect(RedisLimits.unreadMax < RedisLimits.watchEvery)
        #expect(RedisLimits.reconnect.first < RedisLimits.reconnect.longest)
        #expect(RedisLimits.reconnect.longest < RedisLimits.answerMax)
    }
}
