import Bus
import Contract
import RedisBus
import Testing

/// Relations between the bounds of the bus and the limits of the contract.
@Suite struct LimitTests {
    /// Otherwise a stream whose turn never comes would wait for the others for ever.
    @Test func oneReadHoldsTheLongestFrameOfEachPartition() {
        // A Job holds a frame, and a quarter more of what the gateway adds.
        #expect(Partition.count * Limits.frameBytesMax / 4 * 5 <= BusLimits.readBytesMax)
        #expect(CallShare.count * Limits.frameBytesMax / 4 * 5 <= BusLimits.readBytesMax)
        #expect(LiveShare.count * Limits.frameBytesMax / 4 * 5 <= BusLimits.readBytesMax)
    }

    @Test func manyFramesFitIntoWhatWaitsToBeWritten() {
        #expect(Limits.frameBytesMax * 100 <= BusLimits.bytesWaitingMax)
        #expect(RedisLimits.memoryKeptMax >= Limits.frameBytesMax)
    }

    /// A gateway hears that a Job was lost before it gives up the request.
    @Test func aServerThatIsSilentIsNoticedWithinARequest() {
        #expect(RedisLimits.watchEvery < RedisLimits.answerMax)
        #expect(RedisLimits.answerMax + RedisLimits.watchEvery + RedisLimits.connectMax < ClusterLimits.answerMax)
        #expect(RedisLimits.unreadMax < RedisLimits.watchEvery)
        #expect(RedisLimits.reconnect.first < RedisLimits.reconnect.longest)
        #expect(RedisLimits.reconnect.longest < RedisLimits.answerMax)
    }
}
