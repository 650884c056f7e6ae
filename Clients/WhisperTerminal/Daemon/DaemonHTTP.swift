import Dispatch
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TerminalText
import WhisperClient
import WhisperCore

/// HTTP on loopback: requests at `/rpc`, events at `/events`, and what its door has beside them.
final class DaemonHTTP: Sendable {
    /// Concurrent connections.
    static let connectionsMax = 32
    /// Connections of these that are event streams.
    static let streamsMax = 8
    /// Longest time for the rest of a request after its header, and for the header: before it, no token has been shown.
    static let requestTimeout = TimeAmount.seconds(30)
    static let headTimeout = TimeAmount.seconds(5)
    /// Bytes of all header lines.
    static let headBytesMax = 16 * 1_024
    /// Interval of signs of life on a stream without events.
    static let streamPause: DispatchTimeInterval = .seconds(20)

    let core: Core
    let door: any HTTPDoor
    private let counts = Mutex((connections: 0, streams: 0))
    private let channels = Mutex<[any Channel]>([])

    init(_ core: Core, door: any HTTPDoor) {
        (self.core, self.door) = (core, door)
    }

    convenience init(_ core: Core, token: BearerToken) { self.init(core, door: BearerDoor(token: token)) }

    /// - Throws: a `Problem` if it cannot listen there.
    func listen(at address: LoopbackAddress) async throws {
        do {
            let channel = try await Self.bound(to: address, serving: self)
            self.channels.withLock { $0.append(channel) }
        } catch {
            throw Problem("Cannot listen at \(address.host):\(address.port): \(error).")
        }
    }

    private static func bound(to address: LoopbackAddress, serving server: DaemonHTTP) async throws -> any Channel {
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            // A file that is sealed as it comes needs the memory of one read.
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard server.enter() else { throw ChannelError.inputClosed }
                    channel.closeFuture.whenComplete { _ in server.leave() }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                        withEncoderConfiguration: .init(), withDecoderLimitConfiguration: Self.headLimits)
                    try channel.pipeline.syncOperations.addHandler(DaemonRequest(server))
                }
            }
        return try await bootstrap.bind(host: address.host, port: address.port).get()
    }

    private static var headLimits: NIOHTTPDecoderLimitConfiguration {
        var limits = NIOHTTPDecoderLimitConfiguration()
        (limits.maxHeaderFieldSize, limits.maxHeaderListSize) = (self.headBytesMax, self.headBytesMax)
        return limits
    }

    /// Where it listens.
    var port: Int? { self.channels.withLock { $0.first?.localAddress?.port } }

    func close() async {
        let channels = self.channels.withLock { channels in
            defer { channels = [] }
            return channels
        }
        for channel in channels { try? await channel.close().get() }
    }

    private func enter() -> Bool {
        self.counts.withLock { counts in
            guard counts.connections < Self.connectionsMax else { return false }
            counts.connections += 1
            return true
        }
    }

    private func leave() { self.counts.withLock { $0.connections -= 1 } }

    /// - Returns: a seat for one more stream; `nil` if there is none.
    func seat() -> CoreSeat? {
        self.counts.withLock { counts in
            guard counts.streams < Self.streamsMax,
                let seat = self.core.seat(handOver: self.door.handOver, grace: self.door.grace)
            else { return nil }
            counts.streams += 1
            return seat
        }
    }

    func leave(_ seat: CoreSeat) {
        seat.leave()
        self.counts.withLock { $0.streams -= 1 }
    }
}

/// `127.0.0.1:PORT`, or the same of IPv6.
struct LoopbackAddress: Equatable {
    let host: String
    let port: Int

    init(host: String, port: Int) { (self.host, self.port) = (host, port) }

    /// - Returns: `nil` for any other address.
    init?(_ text: String) {
        for (start, host) in [("127.0.0.1:", "127.0.0.1"), ("[::1]:", "::1")] where text.hasPrefix(start) {
            let digits = text.dropFirst(start.count)
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits),
                (0...65_535).contains(port)
            else { return nil }
            (self.host, self.port) = (host, port)
            return
        }
        return nil
    }
}
