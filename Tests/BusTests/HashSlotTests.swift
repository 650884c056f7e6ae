import Bus
import ClusterContract
import Contract
import LocalStack
import Testing

@testable import RedisBus

struct HashSlotTests {
    /// The check value of CRC-16/XMODEM.
    @Test func theChecksumIsXModems() { #expect(HashSlot.crc16("123456789".utf8) == 0x31C3) }

    /// Examples of the Redis Cluster specification, "Hash tags".
    @Test func bracesNameTheSlot() {
        #expect(HashSlot.of("{user1000}.following") == HashSlot.of("{user1000}.followers"))
        #expect(HashSlot.of("{user1000}.following") == HashSlot.of("user1000"))
        #expect(HashSlot.of("foo{}{bar}") == Int(HashSlot.crc16("foo{}{bar}".utf8) % 16_384))
        #expect(HashSlot.of("foo{{bar}}zap") == HashSlot.of("{bar"))
        #expect(HashSlot.of("foo{bar}{zap}") == HashSlot.of("bar"))
        #expect(HashSlot.of("foo{bar") == Int(HashSlot.crc16("foo{bar".utf8) % 16_384))
        #expect(HashSlot.of("") == 0)
    }

    /// Whichever equal ranges of slots the masters of a cluster have, each has its part of the lanes.
    @Test func eachLaneIsInItsPartOfTheSlots() {
        for partition in Partition.all {
            let lane = Lane(of: partition)
            let slot = HashSlot.of(Keyspace.mailbox(partition).name)
            #expect(slot == HashSlot.of(lane.tag))
            #expect(slot / (HashSlot.count / Lane.count) == lane.index)
        }
        #expect(Set(Partition.all.map { Lane(of: $0) }).count == Lane.count)
    }

    @Test(.enabled(if: RedisServer.isExpected)) func redisHasTheSameSlots() async throws {
        try await RedisServer.run(arguments: ["--cluster-enabled", "yes", "--cluster-port", "\(LoopbackPort.free())"]) {
            server in
            var numbers = SystemRandomNumberGenerator()
            let letters = Array("ab{}:1é")
            let names = (0..<300).map { _ in
                String(
                    (0..<Int.random(in: 1...24, using: &numbers)).map { _ in letters.randomElement(using: &numbers)! })
            }
            for name in names {
                let answer = await server.answer(to: "CLUSTER KEYSLOT \(name)\r\n", lines: 1)
                #expect(answer == ":\(HashSlot.of(name))\r\n", "\(name)")
            }
        }
    }
}
