import Bus
import ClusterContract
import Contract
import Logging
import NIOPosix
import ServerCrypto
import Testing

@testable import GatewayCore

/// A real gateway on a loopback port, with a bus in memory; the test plays all other services.
struct GatewayBench {
    let gateway: Gateway
    let bus: LoopBus
    let port: Int
    private let seen = Positions()

    static func run(
        scale: Double = 1, classes: RateClasses = .usual, heldBytesMax: Int = GatewayLimits.heldBytesMax,
        trustedProxies: [String] = [],
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
        _ body: (GatewayBench) async throws -> Void
    ) async throws {
        let configuration = GatewayConfiguration(
            host: "127.0.0.1", port: 0, rates: RateTable(scale: scale), rateClasses: classes,
            heldBytesMax: heldBytesMax,
            trustedProxies: try #require(TrustedProxies(trustedProxies)))
        try await self.run(gateways: 1, configuration, logger: logger) { try await body($0[0]) }
    }

    /// Several gateways on one loop and one bus.
    static func run(
        gateways count: Int, _ configuration: GatewayConfiguration = GatewayConfiguration(host: "127.0.0.1", port: 0),
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
        _ body: ([GatewayBench]) async throws -> Void
    ) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let bus = LoopBus(loop: loop)
        let gateways = (0..<count).map { _ in
            Gateway(configuration: configuration, bus: bus, eventLoop: loop, logger: logger)
        }
        let runs = gateways.map { gateway in Task { try await gateway.run() } }
        let result: Result<Void, any Error>
        do {
            var benches: [GatewayBench] = []
            for gateway in gateways {
                // Ready within milliseconds.
                while await !gateway.isReady {
                    try Task.checkCancellation()
                    await Task.yield()
                }
                benches.append(GatewayBench(gateway: gateway, bus: bus, port: await gateway.port!))
            }
            try await body(benches)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        for run in runs { run.cancel() }
        for run in runs { _ = await run.result }
        try? await group.shutdownGracefully()
        try result.get()
    }

    func client(headers: String = "") async throws -> TestClient {
        try await .webSocket(port: self.port, headers: headers)
    }

    /// A connected client whose session stands in the cache, bound by a first frame.
    func boundClient(
        _ session: Session = .of(identity: "WSP-JBPU-D452-TLT4", token: token)
    ) async throws -> (client: TestClient, connection: ConnectionID) {
        try await self.cache(session)
        let client = try await self.client()
        try await client.send(Frames.receipt(from: session.caller.identity))
        let partition = Partition(of: session.caller.identity)
        guard case .bound(let bound) = try await self.job(of: partition), let connection = bound.first?.connection
        else {
            throw TestClient.Unexpected.end
        }
        guard case .receipt = try await self.job(of: partition) else { throw TestClient.Unexpected.end }
        return (client, connection)
    }

    func cache(_ session: Session) async throws {
        try await self.bus.set(Keyspace.session(session.tokenHash), to: session.encoded(), for: .seconds(60))
    }

    /// The next Job of a partition's stream.
    func job(of partition: Partition) async throws -> MailboxJob {
        try MailboxJob(decoding: try await self.next(in: Keyspace.mailbox(partition).name))
    }

    /// The next request for mail in a partition's stream; `nil` if another Job is next. A gateway repeats an announcement that was
    /// not confirmed in time, as on a slow machine.
    func fetchRequest(of partition: Partition) async throws -> FetchRequest? {
        var job = try await self.job(of: partition)
        while case .bound = job { job = try await self.job(of: partition) }
        guard case .fetch(let request) = job else { return nil }
        return request
    }

    /// The connection that has left, by the next Job of a partition's stream.
    func departure(in partition: Partition) async throws -> ConnectionSnapshotEntry? {
        guard case .unbound(let identity, self.gateway.node, let connection) = try await self.job(of: partition) else {
            return nil
        }
        return ConnectionSnapshotEntry(identity: identity, connection: connection)
    }

    /// The next request to auth.
    func request() async throws -> ServiceRequest {
        try ServiceRequest(decoding: try await self.next(in: Keyspace.auth.name))
    }

    /// The next Job about a share's conversations.
    func liveJob(of share: LiveShare) async throws -> LiveJob {
        try LiveJob(decoding: try await self.next(in: Keyspace.live(share).name))
    }

    private func next(in stream: String) async throws -> [UInt8] {
        while true {
            // A read that is cancelled finds nothing, at once.
            try Task.checkCancellation()
            let batches = try await self.bus.read(
                [(stream, self.seen.of[stream] ?? .start)], limit: 1, blockFor: .seconds(30))
            guard let entry = batches.first?.entries.first else { continue }
            self.seen.of[stream] = entry.id
            return entry.bytes
        }
    }

    func tell(_ events: NodeEvent...) async throws {
        try await self.bus.tell(NodeNotice(events: events), to: Keyspace.node(self.gateway.node))
    }

    func tellAll(_ notice: ClusterNotice) async throws { try await self.bus.tell(notice, to: Keyspace.nodes) }

    private final class Positions { var of: [String: EntryID] = [:] }
}

extension NodeEvent {
    /// The answer to the latest announcement, whichever that is.
    static func bound(_ connection: ConnectionID, isCaughtUp: Bool) -> NodeEvent {
        .bound(connection, isCaughtUp: isCaughtUp, answering: .max)
    }
}

extension Gateway {
    func isBound(_ identity: WhisperID) -> Bool { self.bound[identity] != nil }

    /// Outcomes and group events that were written to it.
    func unconfirmed(on connection: ConnectionID) -> Int { self.outcomes.unconfirmed(on: connection) }

    /// Something was written to it that its client has yet to confirm.
    func waitsForPong(_ connection: ConnectionID) -> Bool { self.unconfirmed(on: connection) > 0 }
}

let token = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

extension Session {
    static func of(
        identity: String, token: String, epoch: Int64 = 1, isBanned: Bool = false,
        expiresAt: Timestamp = .now + .seconds(600)
    ) -> Session {
        Session(
            caller: Caller(identity: WhisperID(identity)!, epoch: Epoch(value: epoch)), device: .random(),
            platform: .ios,
            tokenHash: SHA256.hash(Array(token.utf8)), expiresAt: expiresAt,
            signPublicKey: Bytes32([UInt8](repeating: 7, count: 32))!,
            isBanned: isBanned)
    }
}

/// Frames as a client writes them.
enum Frames {
    static func message(requestID: String = "m1", session: String? = token, sample: Int = 0) -> String {
        self.frame("send_message", SendMessage.definition.samples[sample], requestID: requestID, session: session)
    }

    static func fetch(requestID: String = "f1", session: String? = token) -> String {
        self.frame("fetch_pending", FetchPending.definition.samples[0], requestID: requestID, session: session)
    }

    static func receipt(from: WhisperID, session: String? = token) -> String {
        let sample = DeliveryReceipt.definition.samples[0]
            .replacing("WSP-AAAA-AAAA-AAAA", with: "\(from)").replacing(
                #""to":"WSP-JBPU-D452-TLT4""#, with: #""to":"WSP-7777-7777-7777""#)
        return self.frame("delivery_receipt", sample, requestID: "d1", session: session)
    }

    static func begin(requestID: String = "b1") -> String {
        self.frame("register_begin", RegisterBegin.definition.samples[0], requestID: requestID, session: nil)
    }

    static func proof(requestID: String = "p1") -> String {
        self.frame("register_proof", RegisterProof.definition.samples[0], requestID: requestID, session: nil)
    }

    static func logout(session: String) -> String {
        self.frame("logout", Logout.definition.samples[0], requestID: "l1", session: session)
    }

    static func frame(_ type: String, _ payload: String, requestID: String, session: String?) -> String {
        let field = #""sessionToken":"\#(token)","#
        let last = #","sessionToken":"\#(token)""#
        let payload =
            session.map { payload.replacing(token, with: $0) }
            ?? payload.replacing(field, with: "").replacing(last, with: "")
        return #"{"type":"\#(type)","requestId":"\#(requestID)","payload":\#(payload)}"#
    }
}
