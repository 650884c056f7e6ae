import ClusterContract
import Contract
import Foundation
import LocalStack
import PushPeers
import Synchronization
import TestKit

/// Apple, Google and a Web Push service, as one server on loopback that demands of each request what they demand.
enum PushWorld {
    static let identity = Result { try PeerIdentity(folder: TemporaryFolder(named: "push-world").path) }
    private static let port = LoopbackPort.free()
    private static var origin: String { "https://localhost:\(self.port)" }
    private static let fcm = Result { FCMDemands(try identity.get()) }
    static let subscriber = Result { WebPushDemands(try identity.get()) }
    static var endpoint: String { self.origin + "/up" }

    /// Prepared replies to a device, by a part of the path or body. Each is used once, instead of the usual one.
    private static let replies = Mutex<[String: [PeerReply]]>([:])

    private static let started = Task { () async throws -> HTTP2Peer in
        let (apns, google, web) = (APNsDemands(try identity.get()), try Self.fcm.get(), try Self.subscriber.get())
        return try await HTTP2Peer.start(identity.get(), port: port) { request in
            if let reply = replies.withLock({ replies in
                replies.first { !$0.value.isEmpty && Self.is(request, for: $0.key) }.map {
                    replies[$0.key]!.removeFirst()
                }
            }) {
                return reply
            }
            if request.path == FCMDemands.tokenPath { return google.token(request, audience: origin + request.path) }
            if request.path.hasPrefix("/v1/") { return google.refusal(request) ?? .answer(status: 200, body: "{}") }
            if request.path.hasPrefix("/up") { return web.refusal(request, origin: origin) ?? .answer(status: 201) }
            return apns.refusal(request) ?? .answer(status: 200)
        }
    }

    static func peer() async throws -> HTTP2Peer { try await self.started.value }

    /// The next requests for a device get these answers.
    static func reply(to device: String, _ replies: PeerReply...) {
        self.replies.withLock { $0[device, default: []] += replies }
    }

    /// Requests for a device so far.
    static func requests(for device: String) async throws -> [PeerRequest] {
        try await self.peer().requests.filter { Self.is($0, for: device) }
    }

    /// Returns when so many have come.
    @discardableResult
    static func requests(
        for device: String, atLeast count: Int, within timeout: Duration = .seconds(20)
    ) async throws -> [PeerRequest] {
        try await waitUntil("\(count) pushes", within: timeout, every: .milliseconds(50)) {
            try await self.requests(for: device).count >= count
        }
        return try await self.requests(for: device)
    }

    private static func `is`(_ request: PeerRequest, for device: String) -> Bool {
        request.path.hasSuffix("/" + device) || String(decoding: request.body, as: UTF8.self).contains("\"\(device)\"")
    }

    /// Points the cluster's push service here. Its minutes are seconds: 120 s become 2.4.
    static func configure(_ configuration: inout StackConfiguration) {
        guard let identity = try? self.identity.get() else { return }
        try? identity.writeAccount(tokenURL: self.origin + FCMDemands.tokenPath)
        _ = self.started
        configuration.environment[.push, default: [:]].merge([
            "PUSH_CA_FILE": identity.certificate, "PUSH_SCHEDULE_SCALE": "0.02", "PUSH_CLAIM_SECONDS": "2",
            "APNS_KEY_FILE": identity.apnsKey, "APNS_KEY_ID": APNsDemands.keyID, "APNS_TEAM_ID": APNsDemands.teamID,
            "APNS_BUNDLE_ID": APNsDemands.bundle, "APNS_URL": self.origin,
            "FCM_ACCOUNT_FILE": identity.account, "FCM_URL": self.origin,
            "WEBPUSH_KEY_FILE": identity.vapidKey, "WEBPUSH_CONTACT": "mailto:ops@example.org",
            "WEBPUSH_PRIVATE_ALLOWED": "true",
        ]) { $1 }
    }

    /// As the calls service does.
    static func queue(_ wake: Wake) async throws {
        let folder = try TemporaryFolder(named: "wake")
        defer { folder.remove() }
        try Data(wake.encoded()).write(to: URL(filePath: folder.path + "/wake"))
        let words = ["-p", "\(Cluster.stack.ports.redis)", "-x", "XADD", Keyspace.callWakes.name, "*", "d"]
        _ = try Run("/usr/bin/redis-cli", words, reading: folder.path + "/wake")
    }

    /// The sum of a metric of the push service, over all labels that it is asked with.
    static func metric(_ name: String) async -> Double {
        let port = Cluster.stack.ports[.push, 1]!.ops
        let text = await LoopbackRequest.get("/metrics", port: port)?.body ?? ""
        return text.split(separator: "\n").filter { $0.hasPrefix(name) }
            .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
    }
}
