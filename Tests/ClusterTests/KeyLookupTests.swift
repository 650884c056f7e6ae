import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Spec §3.6 and contract §8, through the balancer.
    @Suite struct KeyLookup {
        @Test func everybodyWithASessionSeesTheKeysOfAnId() async throws {
            let (phone, other) = (try await Cluster.phone(), try await Cluster.phone())
            let (status, body) = try await self.keys(of: other.id, token: phone.token)
            #expect(status == 200)
            #expect(
                body.members == [
                    "whisperId": .string(other.id), "status": .string("active"),
                    "encPublicKey": .string(other.person.keys.encPublicKey.base64),
                    "signPublicKey": .string(other.person.keys.signPublicKey.base64),
                ])
        }

        @Test func anUnknownIdIsNotFound() async throws {
            let (status, body) = try await self.keys(of: "WSP-AAAA-AAAA-AAAA", token: try await Cluster.phone().token)
            #expect(status == 404)
            #expect(body["error"]?.string == "NOT_FOUND")
        }

        @Test(arguments: ["WSP-1", "wsp-aaaa-aaaa-aaaa", "WSP-0000-0000-0000"])
        func whatIsNoIdIsRefused(id: String) async throws {
            let (status, body) = try await self.keys(of: id, token: try await Cluster.phone().token)
            #expect(status == 400)
            #expect(body["error"]?.string == "INVALID_PAYLOAD")
        }

        @Test(arguments: [nil, "", "x", String(repeating: "A", count: 43)])
        func nobodyElseSeesThem(token: String?) async throws {
            let (status, body) = try await self.keys(of: try await Cluster.phone().id, token: token)
            #expect(status == 401)
            #expect(body["error"]?.string == "NOT_REGISTERED")
        }

        @Test func anEndedSessionSeesThemNoMore() async throws {
            let phone = try await Cluster.phone()
            #expect(try await self.keys(of: phone.id, token: phone.token).status == 200)
            _ = try await Cluster.phone(phone.person.onAnotherDevice())
            #expect(try await self.keys(of: phone.id, token: phone.token).status == 401)
        }

        @Test func aBannedIdentityIsShownAsSuchAndGetsNoMail() async throws {
            let (phone, banned) = (try await Cluster.phone(), try await Cluster.phone())
            try await Cluster.ban(banned.id)
            #expect(try await self.keys(of: banned.id, token: phone.token).body["status"]?.string == "banned")
            #expect(try await phone.send(phone.message(to: banned.id)).errorCode == "FORBIDDEN")
            let login = try await Cluster.client().ask("register_begin", banned.person.begin(as: banned.id))
            #expect(login.errorCode == "USER_BANNED")
        }

        private func keys(of id: String, token: String?) async throws -> (status: Int, body: JSON) {
            let answer = try #require(
                await LoopbackRequest.get(
                    "/users/\(id)/keys", port: Cluster.stack.ports.public,
                    headers: token.map { ["Authorization": "Bearer \($0)"] } ?? [:]))
            return (answer.status, try JSON(parsing: Array(answer.body.utf8)))
        }
    }
}

extension Cluster {
    /// As the row that a ban leaves, for what the other services make of it.
    static func ban(_ id: String) async throws {
        _ = try await self.database(
            "UPDATE auth.identities SET is_banned = true WHERE auth.whisper_id_text(whisper_id) = '\(id)'")
    }
}
