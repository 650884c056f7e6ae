import ClusterContract
import Contract
import TestKit

@testable import GatewayCore

/// Live conversations at several gateways. The test plays calls: it says who holds and who attends.
struct LiveBench {
    let gateways: [GatewayBench]

    static func run(gateways count: Int = 2, _ body: (LiveBench) async throws -> Void) async throws {
        try await GatewayBench.run(gateways: count) { try await body(LiveBench(gateways: $0)) }
    }

    /// A client of one of the gateways.
    struct Client {
        let bench: GatewayBench
        let socket: TestClient
        let connection: ConnectionID
        let identity: WhisperID
        let token: String

        func send(_ text: String) async throws { try await self.socket.send(text) }

        func tell(_ event: LiveEvent) async throws { try await self.bench.tell(.live(self.connection, event)) }

        /// The next frame, without pings.
        func next() async throws -> LiveReply { LiveReply(try await self.socket.json()) }

        /// Everything up to here has been answered.
        func expectSilence() async throws -> Bool {
            try await self.send(#"{"type":"ping","payload":{}}"#)
            return try await self.next().type == "pong"
        }
    }

    /// - Parameter name: a letter, which makes its identity.
    func client(_ name: Character, at gateway: Int) async throws -> Client {
        let identity = "WSP-AAAA-AAAA-AAA\(name)"
        let token = String(repeating: name, count: 43)
        let bench = self.gateways[gateway]
        let session = Session.of(identity: identity, token: token)
        try await bench.cache(session)
        let socket = try await bench.client()
        try await socket.send(Frames.receipt(from: session.caller.identity, session: token))
        while await !bench.gateway.isBound(session.caller.identity) {
            try Task.checkCancellation()
            await Task.yield()
        }
        let connection = await bench.gateway.connection(of: session.caller.identity)
        guard let connection else { throw TestClient.Unexpected.end }
        return Client(
            bench: bench, socket: socket, connection: connection, identity: session.caller.identity, token: token)
    }

    func stream(
        epoch: Int64 = 1, at gateway: Int? = 0, content: UInt64 = 1, generation: Int = 1,
        state: LiveStreamState = .live, isTranscribed: Bool = false, ending: LiveEnding? = nil, changedAt: Int64? = nil
    ) -> LiveStream {
        .test(
            epoch: epoch, content: content, generation: generation, state: state,
            home: gateway.map { self.gateways[$0].gateway.node }, isTranscribed: isTranscribed, ending: ending,
            changedAt: changedAt)
    }

    /// A client that holds the stream.
    func whisperer(_ name: Character = "W", at gateway: Int = 0, _ stream: LiveStream? = nil) async throws -> Client {
        let client = try await self.client(name, at: gateway)
        try await client.tell(.holds(stream ?? self.stream(at: gateway)))
        return client
    }

    /// A client that has joined, and the answer.
    func listener(
        _ name: Character, at gateway: Int, _ stream: LiveStream? = nil, since: Timestamp = .now,
        after: LivePoint? = nil
    ) async throws -> (client: Client, joined: LiveReply) {
        let client = try await self.client(name, at: gateway)
        let joined = try await self.join(client, stream, since: since, after: after)
        return (client, joined)
    }

    func join(
        _ client: Client, _ stream: LiveStream? = nil, since: Timestamp = .now, after: LivePoint? = nil
    ) async throws -> LiveReply {
        try await client.tell(
            .attends(
                LiveAttendance(
                    stream: stream ?? self.stream(), since: since, after: after, requestID: "j", isAnswer: true,
                    grant: nil)))
        return try await client.next()
    }

    /// Returns when a gateway knows this of the stream.
    func until(_ gateway: Int, _ isSo: @Sendable (StreamFeed) -> Bool) async throws {
        while await !self.gateways[gateway].gateway.knows(isSo) { try await Task.sleep(for: .milliseconds(1)) }
    }
}

/// A frame of the server, by the fields that these tests look at.
struct LiveReply: Equatable {
    var type: String
    var requestID: String?
    var seq: Int?
    var line: Int?
    var epoch: Int?
    var kind: String?
    var code: String?
    var want: String?
    var state: String?
    var fields: Set<String>
    var listener: String?
    var fromLine: Int?

    init(_ reply: Reply) {
        let payload = reply.payload
        self.type = reply.type ?? ""
        self.requestID = reply.requestID
        self.seq = payload["seq"] as? Int
        self.line = payload["line"] as? Int
        self.epoch = payload["epoch"] as? Int
        self.kind = payload["kind"] as? String
        self.code = reply.code
        self.want = payload["want"] as? String
        self.state = payload["state"] as? String
        self.fields = Set(payload.allKeys.compactMap { $0 as? String })
        self.listener = payload["listener"] as? String
        self.fromLine = payload["fromLine"] as? Int
    }

    /// `kind seq`, of packets; else the type.
    var short: String { self.type == "live_packet" ? "\(self.kind ?? "") \(self.seq ?? 0)" : self.type }
}

extension LiveBench.Client {
    func whisper(
        _ kind: LivePacketKind, _ seq: Int64, line: Int = 0, epoch: Int64 = 1, generation: Int = 1,
        to listener: WhisperID? = nil, bytes: Int = 32
    ) async throws {
        let to = listener.map { #","to":"\#($0)""# } ?? ""
        let sealed = String(decoding: Base64.encode([UInt8](repeating: UInt8(seq & 255), count: bytes)), as: UTF8.self)
        try await self.send(
            #"{"type":"live_packet","requestId":"p\#(seq)","payload":{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"\#(self.token)","conversationId":"\#(ConversationID.test)","epoch":\#(epoch),"seq":\#(seq),"kind":"\#(kind.rawValue)","line":\#(line),"generation":\#(generation)\#(to),"nonce":"AAECAwQFBgcICQoL","ciphertext":"\#(sealed)"}}"#
        )
    }

    func resync(_ seq: Int64, line: Int = 0, epoch: Int64 = 1) async throws {
        try await self.send(
            #"{"type":"live_resync","requestId":"r","payload":{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"\#(self.token)","conversationId":"\#(ConversationID.test)","epoch":\#(epoch),"seq":\#(seq),"line":\#(line)}}"#
        )
    }

    func stop() async throws {
        try await self.send(
            #"{"type":"live_stop","requestId":"s","payload":{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"\#(self.token)","conversationId":"\#(ConversationID.test)","contentId":"\#(UUIDText(high: 0, low: 1))"}}"#
        )
    }

    func wants(_ want: String) async throws {
        try await self.send(
            #"{"type":"live_attention","requestId":"a","payload":{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"\#(self.token)","conversationId":"\#(ConversationID.test)","want":"\#(want)"}}"#
        )
    }

    /// Short forms of the next frames.
    func next(_ count: Int) async throws -> [String] {
        var frames: [String] = []
        for _ in 0..<count { frames.append(try await self.next().short) }
        return frames
    }
}

extension Gateway {
    func connection(of identity: WhisperID) -> ConnectionID? { self.bound[identity]?.id }

    func knows(_ isSo: @Sendable (StreamFeed) -> Bool) -> Bool { self.live[.test].map { isSo($0) } ?? false }

    /// Whether the connection has anything of live conversations.
    func takesPart(_ id: ConnectionID) -> Bool { self.live.takesPart(id) }

    var isAttendedElsewhere: Bool { self.live.othersAttending(.test).contains { _ in true } }
}
