import ClusterContract
import Contract
import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import GatewayCore

/// Bytes that go to a socket without the channel's queue, and bytes that wait in it.
@Suite(.timeLimit(.minutes(20))) struct DirectSocketTests {
    /// More than the kernel keeps for both ends of a connection.
    private static let flood = 32 << 20

    /// The peer makes room while the loop is busy, so that bytes wait in the queue although the socket would take more.
    @Test func nothingOvertakesWhatWaitsInTheQueue() async throws {
        let accepted = AsyncStream.makeStream(of: (any Channel).self, bufferingPolicy: .bufferingOldest(1))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { _ = accepted.continuation.yield(channel) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let peer = try Peer(port: #require(server.localAddress?.port))
        var channels = accepted.stream.makeAsyncIterator()
        let channel = try #require(await channels.next())
        let (sentFirst, head) = try await channel.eventLoop.submit {
            let now: Int64 = 0
            let connection = Connection(
                id: ConnectionID(value: 1), channel: channel, address: NetworkAddress(channel.remoteAddress!)!.network,
                bucket: TokenBucket(.init(perSecond: 1, burst: 1), at: now), at: now)
            let isTaken = connection.send(ByteBuffer(repeating: 1, count: Self.flood))
            // The loop stands still meanwhile: nothing leaves the queue.
            let head = peer.readAll()
            _ = connection.send(ByteBuffer(repeating: 2, count: 1_000))
            return (isTaken, head)
        }.get()
        #expect(!sentFirst, "the socket took everything")
        var bytes = head
        while bytes.count < Self.flood + 1_000 { bytes += peer.readSome() }
        #expect(bytes.firstIndex(of: 2) == Self.flood)
        #expect(bytes.count { $0 == 2 } == 1_000)
        peer.close()
        try await server.close()
        try await group.shutdownGracefully()
    }
}

/// The other end of a connection, read when the test says so.
private struct Peer: Sendable {
    private let descriptor: CInt
    /// Wait until nothing more is expected, in milliseconds.
    private static let silence: CInt = 500

    init(port: Int) throws {
        self.descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let descriptor = self.descriptor
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(status == 0)
    }

    /// Waits until there is something; nothing at the end.
    func readSome() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
            count = max(0, read(self.descriptor, buffer.baseAddress, buffer.count))
        }
    }

    /// Everything that the kernel holds, and what follows while there is room again.
    func readAll() -> [UInt8] {
        var bytes: [UInt8] = []
        var waiting = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&waiting, 1, Self.silence) > 0 { bytes += self.readSome() }
        return bytes
    }

    func close() { _ = Glibc.close(self.descriptor) }
}
