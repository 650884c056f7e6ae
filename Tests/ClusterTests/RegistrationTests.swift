import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §4: who is who.
    @Suite struct Registration {
        @Test func aNewIdentityGetsTheIdThatItsKeysDetermine() async throws {
            let (person, client) = (Person(), try await Cluster.client())
            let before = nowMilliseconds()
            let challenge = try await client.ask("register_begin", person.begin()).expecting("register_challenge")
                .payload
            let bytes = try #require(challenge["challenge"]?.string?.bytesOfBase64)
            #expect(bytes.count == 32)
            #expect(bytes.starts(with: Array("whisper-register".utf8)))
            let expiry = try #require(challenge["expiresAt"]?.integer)
            #expect((before + 55_000...before + 75_000).contains(expiry))

            let ack = try await client.ask("register_proof", person.proof(of: challenge)).expecting("register_ack")
                .payload
            #expect(ack["success"] == .bool(true))
            #expect(ack["whisperId"]?.string == person.keys.whisperID)
            let token = try #require(ack["sessionToken"]?.string)
            #expect(token.wholeMatch(of: /[A-Za-z0-9_-]{32,64}/) != nil)
            let week: Int64 = 7 * 86_400_000
            #expect(
                (before + week - 60_000...before + week + 60_000).contains(
                    try #require(ack["sessionExpiresAt"]?.integer)))
            #expect((before - 5_000...before + 60_000).contains(try #require(ack["serverTime"]?.integer)))
        }

        @Test func aClientMaySayWhatItIs() async throws {
            let (person, client) = (Person(), try await Cluster.client())
            let before = try await Operators.get("/admin/stats").body["devicesByClient"]?["web"]?.integer ?? -1
            for begin in [person.begin().with(["client": "toaster"]), person.begin().with(["client": 1])] {
                #expect(try await client.ask("register_begin", begin).errorCode == "INVALID_PAYLOAD")
            }
            let begin = person.begin().with(["client": "web"])
            let challenge = try await client.ask("register_begin", begin).expecting("register_challenge").payload
            let proof = person.proof(of: challenge)
            #expect(
                try await client.ask("register_proof", proof.with(["client": "toaster"])).errorCode == "INVALID_PAYLOAD"
            )
            _ = try await client.ask("register_proof", proof.with(["client": "web"])).expecting("register_ack")
            try await waitUntil("it is counted", within: .seconds(30), every: .milliseconds(100)) {
                try await Operators.get("/admin/stats").body["devicesByClient"]?["web"]?.integer == before + 1
            }
            var metrics = ""
            for instance in [1, 2] {
                guard let port = Cluster.stack.ports[.auth, instance]?.ops else { continue }
                metrics += try #require(await LoopbackRequest.get("/metrics", port: port)).body
            }
            #expect(metrics.contains(/whisper_registrations_total{[^}]*client="web"[^}]*result="new"[^}]*} [1-9]/))
        }

        @Test func theSeedAloneRecoversTheIdentityOnAnotherDevice() async throws {
            let old = try await Cluster.phone()
            let new = try await Cluster.phone(old.person.onAnotherDevice())
            #expect(new.id == old.id)
            #expect(new.token != old.token)
        }

        @Test func theIdCanBeNamedInARecovery() async throws {
            let old = try await Cluster.phone()
            let new = try await old.person.onAnotherDevice().logIn(on: try await Cluster.client(), as: old.id)
            #expect(new.id == old.id)
        }

        @Test func anUnknownIdCannotBeRecovered() async throws {
            let client = try await Cluster.client()
            #expect(
                try await client.ask("register_begin", Person().begin(as: "WSP-AAAA-AAAA-AAAA")).errorCode
                    == "NOT_FOUND")
            _ = try await Person().logIn(on: client)
        }

        @Test func twoPeopleHaveTwoIds() async throws {
            #expect(try await Cluster.phone().id != (try await Cluster.phone().id))
        }

        /// The router may hear of the first login when the second is done: that one must not end with it.
        @Test func twoLoginsAtOnceOnOneConnectionLeaveItAlive() async throws {
            for round in 0..<20 {
                let (person, client) = (Person(), try await Cluster.client(gateway: 1 + round % 2))
                var proofs: [Fields] = []
                for _ in 0..<2 {
                    proofs.append(
                        person.proof(
                            of: try await client.ask("register_begin", person.begin()).expecting("register_challenge")
                                .payload))
                }
                for proof in proofs { client.send("register_proof", proof) }
                var tokens: [String] = []
                for _ in proofs {
                    tokens.append(try #require(try await client.next("register_ack").payload["sessionToken"]?.string))
                }
                // One of the two was done last, and is the live one.
                var answers: [JSONFrame] = []
                for token in tokens {
                    answers.append(try await client.ask("fetch_pending", Person.versions.with(["sessionToken": token])))
                }
                #expect(answers.filter { $0.type == "pending_messages" }.count == 1, "\(answers)")
                #expect(client.ending == nil)
            }
        }

        // MARK: Challenges

        /// One wrong thing each. After the refusal the connection is as good as before.
        @Test(arguments: Misuse.allCases)
        func aMisusedChallengeIsRefused(misuse: Misuse) async throws {
            let (person, client) = (Person(), try await Cluster.client())
            let challenge = try await client.ask("register_begin", person.begin()).expecting("register_challenge")
                .payload
            let proof = try await misuse.spoil(person.proof(of: challenge), of: person, challenge: challenge)
            #expect(try await client.ask("register_proof", proof).errorCode == "AUTH_FAILED")
            _ = try await person.logIn(on: client)
        }

        enum Misuse: CaseIterable {
            case unknownChallenge, otherDevice, otherPlatform, signatureOfOtherBytes, signatureOfTheDigest
            case signatureOfOtherKeys, malleatedSignature, idOfSomebodyElse, unknownId, smallOrderSignKey
            case lowOrderEncKey, zeroEncKey, encKeyWithBit255, encKeyBeyondThePrime

            func spoil(_ proof: Fields, of person: Person, challenge: JSON) async throws -> Fields {
                let bytes = challenge["challenge"]!.string!.bytesOfBase64!
                switch self {
                case .unknownChallenge: return proof.with(["challengeId": newUUID()])
                case .otherDevice: return proof.with(["deviceId": newUUID()])
                case .otherPlatform: return proof.with(["platform": "android"])
                case .signatureOfOtherBytes: return proof.with(["signature": person.keys.sign(bytes.reversed()).base64])
                case .signatureOfTheDigest:
                    return proof.with(["signature": person.keys.sign(Keys.sha256(bytes)).base64])
                case .signatureOfOtherKeys: return proof.with(["signature": Keys().sign(bytes).base64])
                case .malleatedSignature:
                    return proof.with(["signature": Self.malleated(person.keys.sign(bytes)).base64])
                case .idOfSomebodyElse: return proof.with(["whisperId": try await Cluster.phone().id])
                case .unknownId: return proof.with(["whisperId": "WSP-AAAA-AAAA-AAAA"])
                case .smallOrderSignKey:
                    // The identity point, with which any message has the signature (identity, 0).
                    let identity = [1] + [UInt8](repeating: 0, count: 31)
                    return proof.with([
                        "signPublicKey": identity.base64,
                        "signature": (identity + [UInt8](repeating: 0, count: 32)).base64,
                    ])
                case .lowOrderEncKey:
                    return proof.with(["encPublicKey": ([1] + [UInt8](repeating: 0, count: 31)).base64])
                case .encKeyWithBit255:
                    // The same key in another spelling: it agrees on the same secrets with everybody.
                    let key = person.keys.encPublicKey
                    return proof.with(["encPublicKey": (key.dropLast() + [key[31] | 0x80]).base64])
                case .encKeyBeyondThePrime:
                    // 2^255 - 10: another spelling of 9.
                    let key = [0xF6] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
                    return proof.with(["encPublicKey": key.base64])
                case .zeroEncKey: return proof.with(["encPublicKey": [UInt8](repeating: 0, count: 32).base64])
                }
            }

            /// S + L instead of S: equal for a lax verifier, refused by RFC 8032.
            private static func malleated(_ signature: [UInt8]) -> [UInt8] {
                let order: [UInt8] = [
                    0xED, 0xD3, 0xF5, 0x5C, 0x1A, 0x63, 0x12, 0x58, 0xD6, 0x9C, 0xF7, 0xA2, 0xDE, 0xF9, 0xDE, 0x14,
                    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
                ]
                var (result, carry) = (signature, 0)
                for index in 0..<32 {
                    let sum = Int(signature[32 + index]) + Int(order[index]) + carry
                    result[32 + index] = UInt8(sum & 0xFF)
                    carry = sum >> 8
                }
                return result
            }
        }

        @Test func aChallengeServesOnce() async throws {
            let (person, client) = (Person(), try await Cluster.client())
            let challenge = try await client.ask("register_begin", person.begin()).expecting("register_challenge")
                .payload
            let proof = person.proof(of: challenge)
            try await client.ask("register_proof", proof).expecting("register_ack")
            #expect(try await client.ask("register_proof", proof).errorCode == "AUTH_FAILED")
        }

        @Test func aFailedProofUsesTheChallengeUp() async throws {
            let (person, client) = (Person(), try await Cluster.client())
            let challenge = try await client.ask("register_begin", person.begin()).expecting("register_challenge")
                .payload
            let proof = person.proof(of: challenge)
            let wrong = proof.with(["signature": [UInt8](repeating: 7, count: 64).base64])
            #expect(try await client.ask("register_proof", wrong).errorCode == "AUTH_FAILED")
            #expect(try await client.ask("register_proof", proof).errorCode == "AUTH_FAILED")
        }

        @Test(arguments: [1, 2]) func aChallengeBelongsToItsConnection(gateway: Int) async throws {
            let (person, client) = (Person(), try await Cluster.client(gateway: 1))
            let challenge = try await client.ask("register_begin", person.begin()).expecting("register_challenge")
                .payload
            let other = try await Cluster.client(gateway: gateway)
            #expect(try await other.ask("register_proof", person.proof(of: challenge)).errorCode == "AUTH_FAILED")
        }

        @Test func aKnownSigningKeyWithAnotherEncryptionKeyIsRefused() async throws {
            let seed = Keys.random(32)
            _ = try await Cluster.phone(Person(keys: Keys(signSeed: seed)))
            let (impostor, client) = (Person(keys: Keys(signSeed: seed)), try await Cluster.client())
            let challenge = try await client.ask("register_begin", impostor.begin()).expecting("register_challenge")
                .payload
            #expect(try await client.ask("register_proof", impostor.proof(of: challenge)).errorCode == "AUTH_FAILED")
        }

        // MARK: One active device

        @Test(arguments: [1, 2]) func aNewLoginEndsTheOlderOne(gateway: Int) async throws {
            let old = try await Cluster.phone(gateway: 1)
            let client = try await Cluster.client(gateway: gateway)
            let person = old.person.onAnotherDevice()
            let challenge = try await client.ask("register_begin", person.begin()).expecting("register_challenge")
                .payload
            try await client.ask("register_proof", person.proof(of: challenge)).expecting("register_ack")
            let farewell = try await old.client.next("error")
            #expect(farewell.errorCode == "AUTH_FAILED")
            #expect(try await old.client.end().code == 4001)
            let again = try await Cluster.reconnected(old)
            #expect(try await again.ask("fetch_pending").errorCode == "NOT_REGISTERED")
        }

        /// Either session may win: one lives, and the other's client is told that it has ended.
        @Test(arguments: 0..<5) func ofTwoLoginsAtOnceExactlyOneLives(round: Int) async throws {
            let person = Person()
            let phones = try await withThrowingTaskGroup(of: Phone.self) { group in
                for gateway in [1, 2] {
                    group.addTask { try await Cluster.phone(person.onAnotherDevice(), gateway: gateway) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try await waitUntil("one of them is closed", within: .seconds(30)) {
                phones.contains { $0.client.ending != nil }
            }
            let (dead, living) = phones[0].client.ending == nil ? (phones[1], phones[0]) : (phones[0], phones[1])
            #expect(dead.client.ending?.code == 4001)
            #expect(dead.client.frames("error").first?.errorCode == "AUTH_FAILED")
            #expect(try await Cluster.reconnected(dead).ask("fetch_pending").errorCode == "NOT_REGISTERED")
            try await living.ask("fetch_pending").expecting("pending_messages")
            #expect(living.client.ending == nil)
        }

        @Test(arguments: [1, 2]) func aSecondConnectionWithTheSameTokenReplacesTheFirst(gateway: Int) async throws {
            let first = try await Cluster.phone(gateway: 1)
            try await first.ask("fetch_pending").expecting("pending_messages")
            let second = try await Cluster.reconnected(first, gateway: gateway)
            try await second.ask("fetch_pending").expecting("pending_messages")
            #expect(try await first.client.end().code == 4001)
            try await second.ask("fetch_pending").expecting("pending_messages")
            #expect(second.client.ending == nil)
        }

        /// At two gateways in one moment: one stays, and the other is told that it does not.
        @Test func ofTwoConnectionsThatShowOneTokenAtOnceOneStays() async throws {
            let phone = try await Cluster.phone()
            for _ in 0..<10 {
                let two = [
                    try await Cluster.reconnected(phone, gateway: 1), try await Cluster.reconnected(phone, gateway: 2),
                ]
                for one in two { one.client.send("fetch_pending", one.privileges, requestID: "first") }
                try await waitUntil("one of them is closed", within: .seconds(15)) {
                    two.contains { $0.client.ending != nil }
                }
                let living = two.filter { $0.client.ending == nil }
                #expect(living.count == 1)
                try await living.first?.ask("fetch_pending").expecting("pending_messages")
            }
        }

        @Test func aBoundConnectionTakesNoSecondIdentityByToken() async throws {
            let (phone, other) = (try await Cluster.phone(), try await Cluster.phone())
            let answer = try await phone.ask("fetch_pending", ["sessionToken": other.token])
            #expect(answer.errorCode == "AUTH_FAILED")
            #expect(try await phone.client.end().code == 4001)
            try await other.ask("fetch_pending").expecting("pending_messages")
        }

        @Test func aBoundConnectionTakesNoSecondIdentityByLogin() async throws {
            let (phone, other) = (try await Cluster.phone(), Person())
            let challenge = try await phone.client.ask("register_begin", other.begin()).expecting("register_challenge")
                .payload
            #expect(try await phone.client.ask("register_proof", other.proof(of: challenge)).errorCode == "AUTH_FAILED")
            #expect(try await phone.client.end().code == 4001)
        }

        @Test func theSamePersonMayLogInAgainOnTheSameConnection() async throws {
            let phone = try await Cluster.phone()
            try await phone.ask("fetch_pending").expecting("pending_messages")
            let again = try await phone.person.logIn(on: phone.client)
            try await again.ask("fetch_pending").expecting("pending_messages")
            #expect(again.client.ending == nil)
        }
    }
}
