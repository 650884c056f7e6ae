import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §14.3: a browser without an identity, over whole gateways.
    @Suite struct Guests {
        @Test func aBrowserBecomesAGuestAndComesBackAsTheSame() async throws {
            let keys = Keys()
            let client = try await Cluster.client(gateway: 1)
            let before = nowMilliseconds()
            let challenge = try await client.ask("guest_begin", GuestClient.begin(keys)).expecting("guest_challenge")
                .payload
            let bytes = try #require(challenge["challenge"]?.string?.bytesOfBase64)
            #expect(bytes.count == 32 && bytes.starts(with: "whisper-guest-v1".utf8))
            let ack = try await client.ask("guest_proof", GuestClient.proof(keys, challenge)).expecting("guest_ack")
                .payload
            #expect(ack["success"] == .bool(true))
            let digest = Keys.sha256(Array("whisper-guest\n".utf8) + keys.signPublicKey + keys.encPublicKey)
            let digits = digest.prefix(16).flatMap { [$0 >> 4, $0 & 15] }.map { String($0, radix: 16) }.joined()
            #expect(ack["guestId"]?.string == "gst-\(digits)")
            #expect(try #require(ack["guestToken"]?.string).wholeMatch(of: /[A-Za-z0-9_-]{32,64}/) != nil)
            #expect(try #require(ack["guestExpiresAt"]?.integer) >= before + 86_400_000 - 60_000)
            #expect(try await client.ask("ping", [:]).type == "pong")
            client.cut()

            let again = try await GuestClient.proved(keys, gateway: 2)
            #expect(again.id == "gst-\(digits)")
            #expect(again.token != ack["guestToken"]?.string)
        }

        @Test(arguments: [1, 2]) func aNewerConnectionClosesTheOlderOne(gateway: Int) async throws {
            let keys = Keys()
            let older = try await GuestClient.proved(keys, gateway: 1)
            let newer = try await GuestClient.proved(keys, gateway: gateway)
            #expect(try await older.client.next("error").errorCode == "AUTH_FAILED")
            #expect(try await older.client.end().code == 4001)
            // The newer one stays, and hears nothing of it.
            #expect(try await newer.client.ask("ping", [:]).type == "pong")
            #expect(newer.client.ending == nil)
        }

        /// By one token, without a new proof: the older one hears of it within a second, also when it holds a seat.
        @Test(arguments: [1, 2], [false, true])
        func aConnectionWithTheSameTokenClosesTheOlderOne(gateway: Int, hasSeat: Bool) async throws {
            let (keys, room) = (Keys(), Room())
            let older = try await GuestClient.proved(keys, gateway: 1)
            let join = older.fields(room.join(keys, proof: room.proof))
            if hasSeat {
                let phone = try await Cluster.phone()
                try await phone.ask("room_create", room.create(phone.person.keys)).expecting("room_joined")
                try await older.client.ask("room_join", join).expecting("room_joined")
            }
            var newer = older
            newer.client = try await Cluster.client(gateway: gateway)
            // Any frame does: its token binds the connection.
            _ = try await newer.client.ask("room_leave", newer.fields(Room().named))
            let shownAt = ContinuousClock.now
            #expect(try await older.client.next("error").errorCode == "AUTH_FAILED")
            #expect(try await older.client.end().code == 4001)
            #expect(try #require(older.client.endedAt) - shownAt < .seconds(1))
            if hasSeat { try await newer.client.ask("room_join", join).expecting("room_joined") }
            #expect(try await newer.client.ask("ping", [:]).type == "pong")
            #expect(newer.client.ending == nil)
        }

        @Test func aChallengeIsGoodOnceAndForItsConnection() async throws {
            let keys = Keys()
            let (client, other) = (try await Cluster.client(gateway: 1), try await Cluster.client(gateway: 2))
            let challenge = try await client.ask("guest_begin", GuestClient.begin(keys)).expecting("guest_challenge")
                .payload
            #expect(try await other.ask("guest_proof", GuestClient.proof(keys, challenge)).errorCode == "AUTH_FAILED")
            #expect(try await client.ask("guest_proof", GuestClient.proof(keys, challenge)).errorCode == "AUTH_FAILED")
            // A failed proof closes nothing.
            #expect(try await client.ask("ping", [:]).type == "pong")
        }

        @Test func aConnectionIsOfOneKind() async throws {
            let phone = try await Cluster.phone()
            let begin = try await phone.client.ask("fetch_pending", phone.privileges)
            #expect(begin.type == "pending_messages")
            #expect(try await phone.client.ask("guest_begin", GuestClient.begin(Keys())).errorCode == "AUTH_FAILED")
            #expect(try await phone.client.end().code == 4001)

            let guest = try await GuestClient.proved(Keys())
            #expect(try await guest.client.ask("fetch_pending", Person.versions).errorCode == "NOT_REGISTERED")
            // By the guest's own token neither.
            let own = Person.versions.with(["sessionToken": guest.token])
            #expect(try await guest.client.ask("fetch_pending", own).errorCode == "NOT_REGISTERED")
            let somebody = try await Cluster.phone()
            #expect(try await guest.client.ask("fetch_pending", somebody.privileges).errorCode == "AUTH_FAILED")
            #expect(try await guest.client.end().code == 4001)

            let another = try await GuestClient.proved(Keys())
            #expect(try await another.client.ask("guest_begin", GuestClient.begin(Keys())).errorCode == "AUTH_FAILED")
            #expect(try await another.client.end().code == 4001)
        }

        @Test func aBannedGuestIsSentAway() async throws {
            let keys = Keys()
            let guest = try await GuestClient.proved(keys, gateway: 1)
            let body: Fields = ["guestId": guest.id, "reason": "a test"]
            try await Operators.post("/admin/ban", body).expectSuccess()
            #expect(try await guest.client.next("error").errorCode == "USER_BANNED")
            #expect(try await guest.client.end().code == 4003)
            let client = try await Cluster.client(gateway: 2)
            let challenge = try await client.ask("guest_begin", GuestClient.begin(keys)).expecting("guest_challenge")
                .payload
            #expect(try await client.ask("guest_proof", GuestClient.proof(keys, challenge)).errorCode == "USER_BANNED")
            try await Operators.post("/admin/unban", body).expectSuccess()
            #expect(try await GuestClient.proved(keys, gateway: 2).id == guest.id)
            #expect(try #require(try await Operators.get("/admin/stats").body["guests"]?.integer) >= 1)
        }
    }
}

/// A guest with a connection.
struct GuestClient {
    var client: TestClient
    var id: String
    var token: String

    static func begin(_ keys: Keys) -> Fields {
        Person.versions.with(["signPublicKey": keys.signPublicKey.base64, "encPublicKey": keys.encPublicKey.base64])
    }

    /// - Parameter challenge: the payload of `guest_challenge`.
    static func proof(_ keys: Keys, _ challenge: JSON) -> Fields {
        Person.versions.with([
            "challengeId": challenge["challengeId"]?.string ?? "",
            "signature": keys.sign(challenge["challenge"]?.string?.bytesOfBase64 ?? []).base64,
        ])
    }

    static func proved(_ keys: Keys, gateway: Int? = nil) async throws -> GuestClient {
        let client = try await Cluster.client(gateway: gateway)
        let challenge = try await client.ask("guest_begin", self.begin(keys)).expecting("guest_challenge").payload
        let ack = try await client.ask("guest_proof", self.proof(keys, challenge)).expecting("guest_ack")
        guard let id = ack.payload["guestId"]?.string, let token = ack.payload["guestToken"]?.string else {
            throw Unexpected(frame: ack)
        }
        return GuestClient(client: client, id: id, token: token)
    }
}
