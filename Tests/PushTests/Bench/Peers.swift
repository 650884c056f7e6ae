import LocalStack
import NIOCore
import NIOPosix
import NIOSSL
import PushPeers

@testable import PushCore

/// A folder with keys and a certificate, made once for all tests of this process.
enum Peers {
    static let identity = Result { () throws -> PeerIdentity in
        try PeerIdentity(folder: try TemporaryFolder(named: "push-peers").path)
    }

    static func client(
        of peer: HTTP2Peer, trusting: Bool = true, allowsPrivateAddresses: Bool = true, host: String = HTTP2Peer.host,
        names: ClientNames? = nil, eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()
    ) throws -> HTTP2Client {
        HTTP2Client(
            origin: HTTP2Client.Origin(host: host, port: peer.port),
            tls: try ClientTLS.context(authorities: trusting ? Self.identity.get().certificate : nil),
            allowsPrivateAddresses: allowsPrivateAddresses, names: names, eventLoop: eventLoop, logger: quiet)
    }

    static func with(
        streamsMax: UInt32 = 100, agrees protocols: [String] = ["h2"],
        answer: @escaping HTTP2Peer.Answer = { _ in .answer(status: 200) }, _ body: (HTTP2Peer) async throws -> Void
    ) async throws {
        let peer = try await HTTP2Peer.start(
            self.identity.get(), streamsMax: streamsMax, agrees: protocols, answer: answer)
        do {
            try await body(peer)
        } catch {
            await peer.stop()
            throw error
        }
        await peer.stop()
    }
}

let hello = HTTP2Request(path: "/hello", headers: [("x-test", "1")], body: Array("hello".utf8))
