import Contract
import LocalStack
import PushPeers
import Synchronization
import TestKit

/// Apple's push service, as far as sleepers need it: one server on loopback that demands what Apple demands, and wakes whom
/// a token belongs to.
final class Pushes: Sendable {
    private typealias Woken = @Sendable () -> Void
    private let sleepers: Mutex<[String: Woken]>
    private let peer: HTTP2Peer
    private let identity: PeerIdentity
    private let folder: TemporaryFolder

    private init(_ peer: HTTP2Peer, _ identity: PeerIdentity, _ folder: TemporaryFolder) {
        self.sleepers = Mutex([:])
        self.peer = peer
        self.identity = identity
        self.folder = folder
    }

    static func start() async throws -> Pushes {
        let folder = try TemporaryFolder(named: "pushes")
        let identity = try PeerIdentity(folder: folder.path)
        let pushes = Pushes(try await HTTP2Peer.start(identity), identity, folder)
        let demands = APNsDemands(identity)
        pushes.peer.answer { [weak pushes] request in
            if let refusal = demands.refusal(request) { return refusal }
            pushes?.heard(request.path.split(separator: "/").last.map(String.init) ?? "")
            return .answer(status: 200)
        }
        return pushes
    }

    func stop() async {
        await self.peer.stop()
        self.folder.remove()
    }

    /// Settings of the push service. Its minutes are seconds: what it says again after 120 s comes after 2.4.
    var environment: [String: String] {
        [
            "PUSH_CA_FILE": self.identity.certificate, "PUSH_SCHEDULE_SCALE": "0.02", "PUSH_CLAIM_SECONDS": "2",
            "APNS_KEY_FILE": self.identity.apnsKey, "APNS_KEY_ID": APNsDemands.keyID,
            "APNS_TEAM_ID": APNsDemands.teamID,
            "APNS_BUNDLE_ID": APNsDemands.bundle, "APNS_URL": self.peer.origin,
        ]
    }

    /// A new token; `woken` is called at each push to it.
    func token(woken: @escaping @Sendable () -> Void) -> String {
        let token = Keys.random(32).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        self.sleepers.withLock { $0[token] = woken }
        return token
    }

    private func heard(_ token: String) { self.sleepers.withLock { $0[token] }?() }
}
