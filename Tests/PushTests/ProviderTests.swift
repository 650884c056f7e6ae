import Contract
import Foundation
import LocalStack
import NIOCore
import NIOPosix
import PushPeers
import ServerCrypto
import Synchronization
import Testing

@testable import PushCore

/// Each provider against a peer that demands what the provider's documentation demands.
@Suite(.timeLimit(.minutes(20))) struct ProviderTests {
    private static let pushes: [Push.Kind] = [
        .mail(isReminder: false), .mail(isReminder: true), .knock, .call(isVideo: true), .callOver,
    ]

    private func push(_ kind: Push.Kind, in seconds: Int64 = 60) -> Push {
        Push(kind: kind, wakeID: .random(), expires: .now + .seconds(seconds))
    }

    // MARK: APNs

    private func apns(
        _ peer: HTTP2Peer, topic: String = APNsDemands.bundle, mailType: APNsRules.MailType = .alert,
        key: P256PrivateKey? = nil,
        clock: @escaping @Sendable () -> Timestamp = { .now }
    ) throws -> APNsProvider {
        let identity = try Peers.identity.get()
        let own = P256PrivateKey(pem: try String(contentsOfFile: identity.apnsKey, encoding: .utf8))!
        return APNsProvider(
            client: try Peers.client(of: peer), rules: APNsRules(topic: topic, mailType: mailType),
            key: APNsProvider.Key(id: APNsDemands.keyID, team: APNsDemands.teamID, key: key ?? own), clock: clock,
            logger: quiet)
    }

    private func withAPNs(_ body: (HTTP2Peer, APNsDemands) async throws -> Void) async throws {
        let demands = APNsDemands(try Peers.identity.get())
        try await Peers.with(answer: { demands.refusal($0) ?? .answer(status: 200) }) { try await body($0, demands) }
    }

    @Test(arguments: [APNsRules.MailType.alert, .background]) func appleTakesAllThatWeSend(
        _ type: APNsRules.MailType
    ) async throws {
        try await self.withAPNs { peer, _ in
            let provider = try self.apns(peer, mailType: type)
            for kind in Self.pushes {
                #expect(await provider.send(self.push(kind), to: "abcdef01", isVoIP: false) == .sent, "\(kind)")
                #expect(
                    await provider.send(self.push(kind, in: -5), to: "abcdef01", isVoIP: false) == .sent,
                    "\(kind) now or never")
            }
            for kind in Self.pushes.suffix(2) {
                #expect(await provider.send(self.push(kind), to: "abcdef01", isVoIP: true) == .sent, "\(kind)")
            }
            #expect(Set(peer.requests.map { $0.headers["authorization"] }).count == 1, "one token for all")
            #expect(peer.connections == 1)
        }
    }

    @Test func aCallIsUrgentAndExpiresWithItsRing() async throws {
        try await self.withAPNs { peer, _ in
            let provider = try self.apns(peer)
            let call = self.push(.call(isVideo: true), in: 45)
            _ = await provider.send(call, to: "ab", isVoIP: true)
            let headers = try #require(peer.requests.first?.headers)
            #expect(headers["apns-push-type"] == "voip" && headers["apns-topic"] == "org.whisper.app.voip")
            #expect(headers["apns-priority"] == "10" && headers["apns-collapse-id"] == "\(call.wakeID)")
            // In whole seconds, reckoned from when it was sent.
            let end = call.expires.milliseconds / 1_000
            #expect(headers["apns-expiration"].flatMap { Int64($0) }.map { (end - 2...end).contains($0) } == true)
            #expect(peer.requests[0].wake == ["wakeId": "\(call.wakeID)", "kind": "call"])
        }
    }

    @Test func whatAppleRefusesIsUnderstood() async throws {
        try await self.withAPNs { peer, demands in
            #expect(
                await (try self.apns(peer, topic: "other")).send(self.push(Self.pushes[0]), to: "ab", isVoIP: false)
                    == .refused)
            let stranger = try self.apns(peer, key: P256PrivateKey())
            #expect(
                await stranger.send(self.push(Self.pushes[0]), to: "ab", isVoIP: false)
                    == .later(.credentials, after: nil))
            let provider = try self.apns(peer)
            #expect(
                { if case .tokenGone = $0 { true } else { false } }(
                    await provider.send(self.push(Self.pushes[0]), to: "no", isVoIP: false)))
            peer.answer { _ in .answer(status: 410, body: #"{"reason":"Unregistered","timestamp":1700000000000}"#) }
            #expect(
                await provider.send(self.push(Self.pushes[0]), to: "ab", isVoIP: false)
                    == .tokenGone(asOf: Timestamp(milliseconds: 1_700_000_000_000)))
            peer.answer { _ in .drop }
            #expect(
                await provider.send(self.push(Self.pushes[0]), to: "ab", isVoIP: false)
                    == .later(.unavailable, after: nil))
        }
    }

    @Test func theProviderTokenIsReusedAndRenewed() async throws {
        let demands = APNsDemands(try Peers.identity.get())
        let time = Ahead()
        try await Peers.with(answer: { demands.refusal($0, now: time.date) ?? .answer(status: 200) }) { peer in
            let provider = try self.apns(peer, clock: { time.timestamp })
            for minutes in [0, 10, 39, 41, 60, 79, 300] {
                time.set(minutes: minutes)
                let push = Push(
                    kind: .mail(isReminder: false), wakeID: .random(), expires: time.timestamp + .seconds(60))
                #expect(await provider.send(push, to: "ab", isVoIP: false) == .sent, "\(minutes)")
            }
            let tokens = peer.requests.map { $0.headers["authorization"]! }
            #expect(tokens[0] == tokens[1] && tokens[1] == tokens[2], "reused")
            #expect(
                tokens[2] != tokens[3] && tokens[3] == tokens[4] && tokens[4] == tokens[5] && tokens[5] != tokens[6])
        }
    }

    @Test func aTokenThatAppleCallsExpiredIsReplacedOnce() async throws {
        let time = Ahead()
        try await Peers.with { peer in
            let provider = try self.apns(peer, clock: { time.timestamp })
            #expect(await provider.send(self.push(Self.pushes[0]), to: "ab", isVoIP: false) == .sent)
            let old = peer.requests[0].headers["authorization"]!
            peer.answer {
                $0.headers["authorization"] == old
                    ? .answer(status: 403, body: #"{"reason":"ExpiredProviderToken"}"#) : .answer(status: 200)
            }
            // Too young to be replaced: Apple would refuse that too.
            #expect(
                await provider.send(self.push(Self.pushes[0]), to: "ab", isVoIP: false)
                    == .later(.credentials, after: nil))
            time.set(minutes: 25)
            #expect(await provider.send(self.push(Self.pushes[0]), to: "ab", isVoIP: false) == .sent)
            #expect(peer.requests.count == 4)
        }
    }

    // MARK: FCM

    @Test func googleTakesAllThatWeSendWithOneAccessToken() async throws {
        let identity = try Peers.identity.get()
        let demands = FCMDemands(identity)
        try await Peers.with { peer in
            let audience = peer.origin + FCMDemands.tokenPath
            peer.answer {
                $0.path == FCMDemands.tokenPath
                    ? demands.token($0, audience: audience) : demands.refusal($0) ?? .answer(status: 200, body: "{}")
            }
            try identity.writeAccount(tokenURL: audience)
            let account = try #require(
                ServiceAccount(file: Array(try Data(contentsOf: URL(filePath: identity.account)))))
            let provider = FCMProvider(
                client: try Peers.client(of: peer), tokens: try Peers.client(of: peer), account: account, logger: quiet)
            await withDiscardingTaskGroup { group in
                for kind in Self.pushes + Self.pushes {
                    group.addTask {
                        #expect(await provider.send(self.push(kind), to: "token:1", isVoIP: false) == .sent, "\(kind)")
                    }
                }
            }
            #expect(demands.tokensIssued == 1)
            let priorities = peer.requests.filter { $0.path != FCMDemands.tokenPath }.map {
                (($0.json["message"] as? [String: Any])?["android"] as? [String: Any])?["priority"] as? String
            }
            #expect(priorities.filter { $0 == "NORMAL" }.count == 2, "only reminders are not urgent")
            // Google forgets it early: one new token, and the push goes out.
            demands.revokeAll()
            #expect(await provider.send(self.push(Self.pushes[0]), to: "token:1", isVoIP: false) == .sent)
            #expect(demands.tokensIssued == 2)
            peer.answer { _ in FCMDemands.error(404, "NOT_FOUND", "UNREGISTERED") }
            #expect(
                { if case .tokenGone = $0 { true } else { false } }(
                    await provider.send(self.push(Self.pushes[0]), to: "t", isVoIP: false)))
            peer.answer { _ in FCMDemands.error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field: "message.token") }
            #expect(
                { if case .tokenGone = $0 { true } else { false } }(
                    await provider.send(self.push(Self.pushes[0]), to: "t", isVoIP: false)))
        }
    }

    // MARK: Web Push

    @Test func aSubscriberOpensWhatItsPushServiceTook() async throws {
        let identity = try Peers.identity.get()
        let subscriber = WebPushDemands(identity)
        try await Peers.with { peer in
            let origin = peer.origin
            peer.answer { subscriber.refusal($0, origin: origin) ?? .answer(status: 201) }
            let provider = try self.webPush(identity, allowsPrivateAddresses: true)
            for kind in Self.pushes {
                let push = self.push(kind)
                #expect(
                    await provider.send(push, to: subscriber.token(endpoint: "\(origin)/up?id=1"), isVoIP: false)
                        == .sent, "\(kind)")
                let request = try #require(peer.requests.last)
                #expect(request.path == "/up?id=1")
                let opened = try #require(subscriber.open(request.body))
                #expect(PeerRequest(body: opened).wake == ["wakeId": "\(push.wakeID)", "kind": kind.name])
                #expect(WebPushDemands(identity).open(request.body) == nil, "somebody else's key")
            }
            #expect(peer.connections == 1)
            for token in ["webpush:x", "webpush:https://localhost#a.b"] {
                #expect(
                    { if case .tokenGone = $0 { true } else { false } }(
                        await provider.send(self.push(Self.pushes[0]), to: token, isVoIP: false)))
            }
            // The world's clients cannot send us to ourselves.
            let careful = try self.webPush(identity, allowsPrivateAddresses: false)
            #expect(
                await careful.send(self.push(Self.pushes[0]), to: subscriber.token(endpoint: origin), isVoIP: false)
                    == .later(.unavailable, after: nil))
            #expect(peer.connections == 1)
        }
    }

    /// Zones that do not answer: they hold up themselves and, once there are too many, each other. Not the names of operators.
    @Test func namesThatNobodyAnswersHoldUpNobodyElse() async throws {
        let identity = try Peers.identity.get()
        let (subscriber, zones) = (WebPushDemands(identity), SilentZones())
        let names = ClientNames { host, port in
            guard host.hasSuffix(".silent") else { return ClientNames.ask(host, port: port) }
            zones.wait()
            return []
        }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        try await Peers.with { peer in
            peer.answer { $0.path == "/up" ? .answer(status: 201) : .answer(status: 200) }
            let provider = try self.webPush(identity, allowsPrivateAddresses: true, names: names, eventLoop: eventLoop)
            let later = PushAnswer.later(.unavailable, after: nil)
            try await withThrowingTaskGroup(of: PushAnswer.self) { group in
                #expect(
                    await provider.send(
                        self.push(Self.pushes[0]), to: subscriber.token(endpoint: "\(peer.origin)/up"), isVoIP: false)
                        == .sent)
                for number in 1...HTTP2Limits.newNamesMax {
                    let token = subscriber.token(endpoint: "https://host-\(number).silent/up")
                    group.addTask { await provider.send(self.push(Self.pushes[0]), to: token, isVoIP: false) }
                }
                try await waitUntil("all are looked up", within: .seconds(20)) {
                    zones.waiting == HTTP2Limits.newNamesMax
                }
                let token = subscriber.token(endpoint: "https://another.silent/up")
                #expect(await provider.send(self.push(Self.pushes[0]), to: token, isVoIP: false) == .busy)
                // Nobody's fault: it may be tried again at once, and is no failed attempt to connect.
                #expect(await provider.send(self.push(Self.pushes[0]), to: token, isVoIP: false) == .busy)
                // A name that people use has room.
                try await Peers.with(answer: { _ in .answer(status: 201) }) { other in
                    let known = subscriber.token(endpoint: "\(other.origin)/up")
                    #expect(await provider.send(self.push(Self.pushes[0]), to: known, isVoIP: false) == .sent)
                }
                let apns = try Peers.client(of: peer, eventLoop: eventLoop)
                #expect(try await apns.send(hello, within: .seconds(20)).status == 200)
                await apns.close()
                // Nothing of this has waited for the names: they still wait.
                #expect(zones.waiting == HTTP2Limits.newNamesMax)
                zones.end()
                for try await answer in group { #expect(answer == later) }
            }
            // There is room again.
            try await waitUntil("the look-ups have ended", within: .seconds(20)) {
                await provider.send(
                    self.push(Self.pushes[0]), to: subscriber.token(endpoint: "\(peer.origin)/up"), isVoIP: false)
                    == .sent
            }
        }
    }

    @Test func aPushServiceThatLetsUsWaitHasItsShareAndNoMore() async throws {
        let identity = try Peers.identity.get()
        let subscriber = WebPushDemands(identity)
        let provider = try self.webPush(identity, allowsPrivateAddresses: true)
        try await Peers.with(answer: { _ in .stall }) { silent in
            try await Peers.with(answer: { _ in .answer(status: 201) }) { other in
                let token = subscriber.token(endpoint: "\(silent.origin)/up")
                await withDiscardingTaskGroup { group in
                    for _ in 0..<PushLimits.webPushSlowMax {
                        group.addTask { _ = await provider.send(self.push(Self.pushes[0]), to: token, isVoIP: false) }
                    }
                    try? await waitUntil("all have come", within: .seconds(20)) {
                        silent.requests.count == PushLimits.webPushSlowMax
                    }
                    try? await Task.sleep(for: PushLimits.webPushSlowAfter)
                    let begin = ContinuousClock.now
                    #expect(
                        await provider.send(self.push(Self.pushes[1]), to: token, isVoIP: false) == .busy)
                    #expect(
                        await provider.send(
                            self.push(Self.pushes[0]), to: subscriber.token(endpoint: "\(other.origin)/up"),
                            isVoIP: false) == .sent)
                    #expect(ContinuousClock.now - begin < PushLimits.requestMax / 2)
                    #expect(silent.requests.count == PushLimits.webPushSlowMax)
                }
                // They have timed out.
                silent.answer { _ in .answer(status: 201) }
                #expect(await provider.send(self.push(Self.pushes[0]), to: token, isVoIP: false) == .sent)
            }
        }
    }

    private func webPush(
        _ identity: PeerIdentity, allowsPrivateAddresses: Bool, names: ClientNames = ClientNames(),
        eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()
    ) throws -> WebPushProvider {
        let key = P256PrivateKey(pem: try String(contentsOfFile: identity.vapidKey, encoding: .utf8))!
        return WebPushProvider(
            rules: WebPushRules(key: key, contact: "mailto:ops@example.org"),
            tls: try ClientTLS.context(authorities: identity.certificate),
            allowsPrivateAddresses: allowsPrivateAddresses,
            names: names, eventLoop: eventLoop, logger: quiet)
    }
}

/// Every lookup here waits until the end.
private final class SilentZones: Sendable {
    private let number = Mutex(0)
    private let isOver = Mutex(false)

    /// How many do, or did.
    var waiting: Int { self.number.withLock { $0 } }

    func wait() {
        self.number.withLock { $0 += 1 }
        while !self.isOver.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.005) }
    }

    func end() { self.isOver.withLock { $0 = true } }
}

/// A clock that can be set forward.
private final class Ahead: Sendable {
    private let minutes = Mutex(0)

    func set(minutes: Int) { self.minutes.withLock { $0 = minutes } }
    var timestamp: Timestamp { .now + .seconds(60 * self.minutes.withLock { $0 }) }
    var date: Date { Date(timeIntervalSince1970: Double(self.timestamp.milliseconds) / 1_000) }
}
