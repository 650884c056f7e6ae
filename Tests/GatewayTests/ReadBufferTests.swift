import NIOCore
import Testing

@testable import GatewayCore

@Suite struct ReadBufferTests {
    /// NIO keeps the first buffer of a connection for its life.
    @Test func onlyTheFirstBufferOfAConnectionIsKeptAndItIsSmall() {
        var pool = NIOPooledRecvBufferAllocator(capacity: 1, recvAllocator: ReleasingReadAllocator())
        #expect(self.read(100, from: &pool) == ReleasingReadAllocator.firstCapacity)
        for _ in 0..<3 {
            #expect(self.read(100, from: &pool) == ReleasingReadAllocator.capacity)
            #expect(pool.count == 1)
        }
    }

    @Test func whoeverSendsMuchGetsLargeBuffersForAsLong() {
        var pool = NIOPooledRecvBufferAllocator(capacity: 1, recvAllocator: ReleasingReadAllocator())
        _ = self.read(ReleasingReadAllocator.firstCapacity, from: &pool)
        _ = self.read(ReleasingReadAllocator.capacity, from: &pool)
        #expect(self.read(10_000, from: &pool) == ReleasingReadAllocator.busyCapacity)
        #expect(self.read(100, from: &pool) == ReleasingReadAllocator.busyCapacity)
        #expect(self.read(100, from: &pool) == ReleasingReadAllocator.capacity)
    }

    /// - Returns: the capacity of the buffer that was read into.
    private func read(_ count: Int, from pool: inout NIOPooledRecvBufferAllocator) -> Int {
        let (buffer, _) = pool.buffer(allocator: ByteBufferAllocator()) { $0.writeRepeatingByte(0, count: count) }
        pool.record(actualReadBytes: count)
        return buffer.capacity
    }
}
