import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A real HTTP/2 server over TLS on a free port of loopback, that does what it is told.
package final class HTTP2Peer: Sendable {
    package typealias Answer = @Sendable (PeerRequest) -> PeerReply

    private struct State {
        var requests: [PeerRequest] = []
        var connections = 0
        var streamsOpen = 0
        var streamsMost = 0
        var pings = 0
        var answer: Answer
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    private let state: Mutex<State>
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel
    package let port: Int

    package static let host = "localhost"
    package var origin: String { "https://\(Self.host):\(self.port)" }

    private init(_ state: State, group: MultiThreadedEventLoopGroup, listener: any Channel) {
        self.state = Mutex(state)
        self.group = group
        self.listener = listener
        self.port = listener.localAddress!.port!
    }

    /// - Parameters:
    ///   - port: a free one if 0.
    ///   - streamsMax: SETTINGS_MAX_CONCURRENT_STREAMS.
    ///   - protocols: what it agrees to speak (ALPN).
    package static func start(
        _ identity: PeerIdentity, port: Int = 0, streamsMax: UInt32 = 100, agrees protocols: [String] = ["h2"],
        answer: @escaping Answer = { _ in .answer(status: 200) }
    ) async throws -> HTTP2Peer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.key, format: .pem)))
        configuration.applicationProtocols = protocols
        let context = try NIOSSLContext(configuration: configuration)
        let made = LatePeer()
        let listener = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let peer = made.peer else { throw ChannelError.ioOnClosedChannel }
                    try channel.pipeline.syncOperations.addHandlers([
                        NIOSSLServerHandler(context: context),
                        PeerConnection(peer: peer, number: peer.opened(channel), streamsMax: streamsMax),
                    ])
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        let peer = HTTP2Peer(State(answer: answer), group: group, listener: listener)
        made.set(peer)
        return peer
    }

    package func stop() async {
        try? await self.listener.close()
        self.dropAll()
        try? await self.group.shutdownGracefully()
    }

    /// Everything asked so far, in order.
    package var requests: [PeerRequest] { self.state.withLock { $0.requests } }
    package var connections: Int { self.state.withLock { $0.connections } }
    /// The most requests that were open on one connection at a time.
    package var streamsMost: Int { self.state.withLock { $0.streamsMost } }
    package var pings: Int { self.state.withLock { $0.pings } }

    /// From here on.
    package func answer(_ answer: @escaping Answer) { self.state.withLock { $0.answer = answer } }

    /// Closes all sockets; new ones are taken.
    package func dropAll() {
        for channel in self.state.withLock({ Array($0.channels.values) }) { channel.close(promise: nil) }
    }

    // MARK: Of its connections

    fileprivate func opened(_ channel: any Channel) -> Int {
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { $0.channels[ObjectIdentifier(channel)] = nil }
        }
        return self.state.withLock {
            $0.channels[ObjectIdentifier(channel)] = channel
            $0.connections += 1
            return $0.connections
        }
    }

    func heard(_ request: PeerRequest, open: Int) -> PeerReply {
        let answer = self.state.withLock {
            $0.requests.append(request)
            $0.streamsMost = max($0.streamsMost, open)
            return $0.answer
        }
        return answer(request)
    }

    func heardPing() { self.state.withLock { $0.pings += 1 } }
}

/// The peer that connections belong to: the listener is made before it.
private final class LatePeer: Sendable {
    private let made = Mutex<HTTP2Peer?>(nil)
    var peer: HTTP2Peer? { self.made.withLock { $0 } }
    func set(_ peer: HTTP2Peer) { self.made.withLock { $0 = peer } }
}
