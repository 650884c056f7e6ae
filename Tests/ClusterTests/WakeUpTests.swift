import Bus
import ClusterContract
import Contract
import LocalStack
import PushPeers
import ServerCrypto
import TestKit
import Testing

/// Push from end to end: offline mail, the providers' demands, the phone that comes back, and what happens when push dies.
@Suite(.cluster(PushWorld.configure), .serialized) struct WakeUps {
    /// Somebody with a push token who has gone away.
    fileprivate func sleeper(
        platform: String = "ios", device: String = newUUID(), token: String? = nil, voip: String? = nil,
        secret: WakeSecret? = nil
    ) async throws -> (phone: Phone, token: String) {
        let token = token ?? Keys.random(32).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let phone = try await Cluster.phone(Person(device: device, platform: platform))
        var tokens: Fields = ["pushToken": token]
        tokens["voipToken"] = voip
        tokens["wakeSecret"] = secret?.bytes.base64
        try await phone.ask("update_tokens", tokens).expecting("tokens_updated")
        phone.client.cut()
        return (phone, token)
    }

    /// Mail that finds its recipient away: written until a push comes, because a router may learn late that it is.
    @discardableResult
    fileprivate func mail(to sleeper: Phone, token: String) async throws -> (id: String, push: PeerRequest) {
        let alice = try await Cluster.phone()
        var id = ""
        try await waitUntil("a push for new mail", within: .seconds(30), every: .milliseconds(200)) {
            id = try await alice.text(sleeper)
            // A second message at once would have a wake-up of its own, which may take the place of the first one's.
            try? await waitUntil("its push", within: .seconds(5), every: .milliseconds(50)) {
                try await !PushWorld.requests(for: token).isEmpty
            }
            return try await !PushWorld.requests(for: token).isEmpty
        }
        return (id, try await PushWorld.requests(for: token)[0])
    }

    private func tokens(of phone: Phone) async throws -> String {
        try await Cluster.database(
            "SELECT COALESCE(push_token, '-') FROM auth.devices WHERE auth.whisper_id_text(whisper_id) = '\(phone.id)'")
    }

    /// Both identities of a phone show its token, and the phone knows for which of them each push is.
    @Test(arguments: ["ios", "android"]) func twoIdentitiesOnAPhoneAreWokenEachByItsTag(platform: String) async throws {
        let device = newUUID()
        let secrets = try (0..<2).map { _ in try #require(WakeSecret(Keys.random(16))) }
        let (ann, token) = try await self.sleeper(platform: platform, device: device, secret: secrets[0])
        let (bob, _) = try await self.sleeper(platform: platform, device: device, token: token, secret: secrets[1])
        for phone in [ann, bob] { #expect(try await self.tokens(of: phone) == token) }
        func owners(of push: PeerRequest) throws -> [Int] {
            let wakeID = try #require(push.wake["wakeId"].flatMap { UUIDText($0) })
            return secrets.indices.filter { index in
                push.wake["tag"] == secrets[index].tag(of: wakeID) { hmacSHA256(key: $0, $1).bytes }
            }
        }
        let alice = try await Cluster.phone()
        for (index, phone) in [ann, bob].enumerated() {
            try await waitUntil("a push for one of them", within: .seconds(30), every: .milliseconds(500)) {
                try await alice.text(phone)
                return try await PushWorld.requests(for: token).contains { try owners(of: $0) == [index] }
            }
            let pushes = try await PushWorld.requests(for: token)
            #expect(try pushes.allSatisfy { try owners(of: $0).count == 1 && owners(of: $0)[0] <= index })
        }
        // Neither takes the other's place at the provider, or on the screen.
        let pushes = try await PushWorld.requests(for: token)
        #expect(pushes.allSatisfy { $0.headers["apns-collapse-id"] != "mail" })
        #expect(pushes.allSatisfy { !String(decoding: $0.body, as: UTF8.self).contains("collapse_key") })
    }

    @Test func offlineMailWakesAPhoneAndItsComingBackIsCounted() async throws {
        let (bob, token) = try await self.sleeper()
        let woke = await PushWorld.metric("whisper_push_woke_total")
        let (id, push) = try await self.mail(to: bob, token: token)
        #expect(push.headers["apns-push-type"] == "alert" && push.headers["apns-collapse-id"] == "mail")
        #expect(push.wake["kind"] == "mail")
        let text = String(decoding: push.body, as: UTF8.self)
        #expect(!text.contains(bob.id) && !text.contains(id))

        let back = try await Cluster.reconnected(bob)
        for message in try await back.pending() {
            back.acknowledge(message.id, from: message["from"]?.string ?? "")
        }
        try await waitUntil("it is counted", within: .seconds(15), every: .milliseconds(100)) {
            await PushWorld.metric("whisper_push_woke_total") > woke
        }
        #expect(await PushWorld.metric(#"whisper_push_total{"#) >= 1)
        #expect(try await Cluster.database("SELECT count(*) FROM push.recipients WHERE woke_at IS NOT NULL") != "0")
    }

    @Test func operatorsSeeThePushOfAMessage() async throws {
        let (bob, token) = try await self.sleeper()
        let alice = try await Cluster.phone()
        var push: JSON?
        try await waitUntil("a message with its push", within: .seconds(30), every: .milliseconds(200)) {
            let id = try await alice.text(bob)
            try? await waitUntil("its push", within: .seconds(3), every: .milliseconds(100)) {
                push = try await Operators.get("/admin/messages/\(id)").body["deliveries"]?[0]?["push"]
                return push != nil
            }
            return push != nil
        }
        let wakes = try await PushWorld.requests(for: token).map { $0.wake["wakeId"] }
        #expect(push?["result"]?.string == "sent" && push?["provider"]?.string == "apns")
        #expect(wakes.contains(push?["wakeId"]?.string))
    }

    @Test func aSecondWakeUpGoesOutWhileMailWaits() async throws {
        let (bob, token) = try await self.sleeper()
        try await self.mail(to: bob, token: token)
        let requests = try await PushWorld.requests(for: token, atLeast: 3, within: .seconds(60))
        #expect(requests[0].headers["apns-priority"] == "10")
        #expect(requests.contains { $0.headers["apns-priority"] == "5" })
        // A push that was under way for too long may be tried again, by its own name.
        #expect(Set(requests.map { $0.wake["wakeId"] }).count >= 2)
    }

    @Test func wakeUpsQueuedWhilePushIsAwayAreSentWhenItIsBack() async throws {
        let (bob, token) = try await self.sleeper()
        let alice = try await Cluster.phone()
        await Cluster.stack.kill(.push(1))
        for _ in 0..<5 { try await alice.text(bob) }
        try await Cluster.stack.start(.push(1))
        try await PushWorld.requests(for: token, atLeast: 1, within: .seconds(60))
    }

    @Test func aProviderThatFailsIsAskedAgainAndWhatItRefusesIsADeadLetter() async throws {
        let (bob, token) = try await self.sleeper()
        PushWorld.reply(to: token, .answer(status: 503), .drop, .answer(status: 429, headers: [("retry-after", "1")]))
        try await self.mail(to: bob, token: token)
        // The dropped one is sent again at once.
        try await PushWorld.requests(for: token, atLeast: 5, within: .seconds(60))

        let (carol, other) = try await self.sleeper()
        PushWorld.reply(
            to: other, .answer(status: 503), .answer(status: 503), .answer(status: 503), .answer(status: 503),
            .answer(status: 503), .answer(status: 503), .answer(status: 503), .answer(status: 503), .answer(status: 503)
        )
        try await self.mail(to: carol, token: other)
        try await waitUntil("operators see it", within: .seconds(60), every: .milliseconds(200)) {
            // All tries but one have failed. A try that is under way writes its own number.
            _ = try await Cluster.database(
                "UPDATE push.recipients SET failures = 63 WHERE recipient = \(try #require(WhisperID(carol.id)).bits) AND failures > 0"
            )
            let letters = try await Operators.get("/admin/push/dead-letters").body["deadLetters"]?.elements ?? []
            return letters.contains { $0["whisperId"]?.string == carol.id && $0["reason"]?.string == "unavailable" }
        }
    }

    @Test func aTokenIsClearedOnlyIfItIsStillTheSameAndOlder() async throws {
        let (bob, old) = try await self.sleeper()
        let (carol, gone) = try await self.sleeper()
        // It was gone before the device showed it again: the device knows better.
        PushWorld.reply(to: old, .answer(status: 410, body: #"{"reason":"Unregistered","timestamp":1600000000000}"#))
        PushWorld.reply(to: gone, .answer(status: 410, body: #"{"reason":"Unregistered"}"#))
        try await self.mail(to: bob, token: old)
        try await self.mail(to: carol, token: gone)
        // Auth takes them in order.
        try await waitUntil("it is cleared", within: .seconds(20), every: .milliseconds(100)) {
            try await self.tokens(of: carol) == "-"
        }
        #expect(try await self.tokens(of: bob) == old)
    }

    @Test func aCallRingsAndItsEndFollows() async throws {
        let voip = Keys.random(32).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let (bob, _) = try await self.sleeper(voip: voip)
        let (recipient, wakeID) = (try #require(WhisperID(bob.id)), UUIDText.random())
        try await PushWorld.queue(
            Wake(
                recipient: recipient, reason: .call(isVideo: true, until: .now + .seconds(45)), wakeID: wakeID,
                queuedAt: .now))
        let ring = try await PushWorld.requests(for: voip, atLeast: 1)[0]
        #expect(ring.headers["apns-push-type"] == "voip" && ring.wake["kind"] == "call")
        try await PushWorld.queue(Wake(recipient: recipient, reason: .callOver, wakeID: wakeID, queuedAt: .now))
        var over = ring
        try await waitUntil("it is said to be over", within: .seconds(20), every: .milliseconds(100)) {
            over = try await PushWorld.requests(for: voip, atLeast: 2).first { $0.wake["kind"] == "callOver" } ?? ring
            return over.wake["kind"] == "callOver"
        }
        #expect(over.wake == ["wakeId": "\(wakeID)", "kind": "callOver"])
        #expect(over.headers["apns-collapse-id"] == ring.headers["apns-collapse-id"])
    }

    @Test func everyKindOfTokenFindsItsProvider() async throws {
        let (android, token) = try await self.sleeper(platform: "android", token: "fcm:\(newUUID())")
        try await self.mail(to: android, token: token)
        #expect(try await PushWorld.requests(for: token)[0].path.hasPrefix("/v1/projects/"))

        let device = newUUID()
        let subscription = try PushWorld.subscriber.get().token(endpoint: "\(PushWorld.endpoint)/\(device)")
        let (free, _) = try await self.sleeper(platform: "android", token: subscription)
        let (_, push) = try await self.mail(to: free, token: device)
        let opened = try #require(try PushWorld.subscriber.get().open(push.body))
        #expect(PeerRequest(body: opened).wake["kind"] == "mail")
    }
}

/// The second wake-up follows after 11 s. After 2.4 s, as above, it may take the place of a wake-up that is tried again: a busy
/// machine needs as long to start push anew.
@Suite(
    .cluster {
        PushWorld.configure(&$0)
        $0.environment[.push]!["PUSH_SCHEDULE_SCALE"] = "0.09"
    }) struct KilledPush
{
    private let wakes = WakeUps()

    @Test func aPushServiceThatIsKilledLosesNone() async throws {
        let (bob, token) = try await self.wakes.sleeper()
        PushWorld.reply(to: token, .stall)
        let (_, first) = try await self.wakes.mail(to: bob, token: token)
        await Cluster.stack.kill(.push(1))
        try await Cluster.stack.start(.push(1))
        let requests = try await PushWorld.requests(for: token, atLeast: 2, within: .seconds(40))
        #expect(requests.dropFirst().contains { $0.wake["wakeId"] == first.wake["wakeId"] })
    }
}

/// Routers that look after waiting mail every six seconds, sooner than they wake the same person twice by themselves.
@Suite(
    .cluster {
        PushWorld.configure(&$0)
        $0.environment[.router] = ["PENDING_TTL_SECONDS": "24"]
    }, .serialized) struct LostWakeUps
{
    @Test func aWakeUpThatRedisForgotIsQueuedAgain() async throws {
        let (alice, bob) = (
            try await Cluster.phone(gateway: 1), try await Cluster.phone(Person(platform: "ios"), gateway: 2)
        )
        let token = Keys.random(32).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        try await bob.ask("update_tokens", ["pushToken": token]).expecting("tokens_updated")
        await Cluster.stack.kill(.push(1))
        bob.client.cut()
        try await waitUntil("a wake-up is queued", within: .seconds(20), every: .milliseconds(100)) {
            try await alice.text(bob)
            return try #require(try await Cluster.redis("XLEN \(Keyspace.wakes.name)")) > 0
        }
        try await Cluster.stack.flushRedis()
        try await Cluster.stack.start(.push(1))
        try await PushWorld.requests(for: token, atLeast: 1)
    }

    /// Nobody is asleep for its router as long as that has not heard so.
    @Test(.long) func whoseGoingRedisForgotIsWoken() async throws {
        let (alice, bob) = (
            try await Cluster.phone(gateway: 1), try await Cluster.phone(Person(platform: "ios"), gateway: 2)
        )
        let token = Keys.random(32).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        try await bob.ask("update_tokens", ["pushToken": token]).expecting("tokens_updated")
        // Known to its router: it has mail live.
        let id = try await alice.text(bob)
        _ = try await bob.received(id)
        bob.acknowledge(id, from: alice.id)
        _ = try await alice.client.next("message_delivered")
        let present = "EXISTS \(Keyspace.presence(try #require(WhisperID(bob.id))).name)"
        try await Cluster.whileRoutersStandStill {
            #expect(try await Cluster.redis(present) == 1)
            bob.client.cut()
            // The Job goes right behind that, in one write.
            try await waitUntil("its gateway says so", within: .seconds(20)) { try await Cluster.redis(present) == 0 }
            try await Cluster.stack.flushRedis()
        }
        try await alice.text(bob)
        try await PushWorld.requests(for: token, atLeast: 1)
    }

    /// Beyond its bound Redis would drop the oldest of a stream, and with it somebody's only wake-up.
    @Test func wakeUpsAreKeptBackBeforeTheirStreamIsFull() async throws {
        let alice = try await Cluster.phone()
        await Cluster.stack.kill(.push(1))
        // The content of these entries does not matter: they fill the stream.
        _ = try await Cluster.redis(
            "EVAL \"for i=1,\(BusLimits.streamEntriesMax / 2) do redis.call('XADD','\(Keyspace.wakes.name)','*','d','x') end return 1\" 0"
        )
        func waiting() async throws -> Int { try #require(try await Cluster.redis("XLEN \(Keyspace.wakes.name)")) }
        var token = ""
        try await waitUntil("a wake-up is kept back", within: .seconds(60), every: .milliseconds(500)) {
            let bob = try await Cluster.phone(Person(platform: "ios"))
            token = Keys.random(32).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            try await bob.ask("update_tokens", ["pushToken": token]).expecting("tokens_updated")
            bob.client.cut()
            let present = "EXISTS \(Keyspace.presence(try #require(WhisperID(bob.id))).name)"
            try await waitUntil("its router can know that it has gone", within: .seconds(20)) {
                try await Cluster.redis(present) == 0
            }
            let before = try await waiting()
            try await alice.text(bob)
            return try await waiting() == before
        }
        _ = try await Cluster.redis("XTRIM \(Keyspace.wakes.name) MAXLEN 0")
        try await Cluster.stack.start(.push(1))
        try await PushWorld.requests(for: token, atLeast: 1)
    }
}
