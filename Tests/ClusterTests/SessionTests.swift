import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §4: what a session token does from its login to its end.
    @Suite struct Sessions {
        @Test func aTokenOpensEveryGateway() async throws {
            let phone = try await Cluster.phone(gateway: 1)
            phone.client.cut()
            try await Cluster.reconnected(phone, gateway: 2).ask("fetch_pending").expecting("pending_messages")
        }

        // MARK: Refresh

        @Test func repeatingARefreshGivesTheSameToken() async throws {
            let phone = try await Cluster.phone()
            let before = nowMilliseconds()
            let first = try await phone.ask("session_refresh").expecting("session_refresh_ack").payload
            let second = try await phone.ask("session_refresh").expecting("session_refresh_ack").payload
            let token = try #require(first["sessionToken"]?.string)
            #expect(token.wholeMatch(of: /[A-Za-z0-9_-]{32,64}/) != nil)
            #expect(token != phone.token)
            #expect(second["sessionToken"]?.string == token)
            let week: Int64 = 7 * 86_400_000
            #expect(try #require(first["sessionExpiresAt"]?.integer) >= before + week - 60_000)
            #expect(first["serverTime"]?.integer != nil)
        }

        @Test func theOldTokenLivesUntilTheNewOneIsUsed() async throws {
            let phone = try await Cluster.phone(gateway: 1)
            var next = phone
            next.token = try #require(try await phone.ask("session_refresh").payload["sessionToken"]?.string)
            try await phone.ask("fetch_pending").expecting("pending_messages")
            try await phone.ask("update_tokens").expecting("tokens_updated")
            try await next.ask("fetch_pending").expecting("pending_messages")
            #expect(try await phone.ask("fetch_pending").errorCode == "NOT_REGISTERED")
            try await next.ask("fetch_pending").expecting("pending_messages")
            #expect(next.client.ending == nil)
            // The other gateway learns of it from auth, which is told without being waited for.
            try await waitUntil("the old token is dead at the other gateway", within: .seconds(30)) {
                try await Cluster.reconnected(phone, gateway: 2).ask("update_tokens").errorCode == "NOT_REGISTERED"
            }
        }

        @Test func aRefreshedTokenOpensAnotherConnectionAndEndsTheOldOne() async throws {
            let phone = try await Cluster.phone(gateway: 1)
            var next = try await Cluster.reconnected(phone, gateway: 2)
            next.token = try #require(try await phone.ask("session_refresh").payload["sessionToken"]?.string)
            try await next.ask("fetch_pending").expecting("pending_messages")
            #expect(try await phone.client.end().code == 4001)
            try await waitUntil("the old token is dead", within: .seconds(30)) {
                try await Cluster.reconnected(phone, gateway: 1).ask("update_tokens").errorCode == "NOT_REGISTERED"
            }
            try await Cluster.reconnected(next, gateway: 1).ask("fetch_pending").expecting("pending_messages")
        }

        // MARK: Logout

        @Test func afterALogoutTheTokenIsNobodys() async throws {
            let phone = try await Cluster.phone(gateway: 1)
            try await phone.ask("update_tokens", ["pushToken": "push-\(phone.id)", "voipToken": "voip-\(phone.id)"])
                .expecting("tokens_updated")
            let ack = try await phone.ask("logout").expecting("logout_ack")
            #expect(ack.payload["success"] == .bool(true))
            #expect(try await phone.client.end().code == 1000)
            for gateway in [1, 2] {
                let answer = try await Cluster.reconnected(phone, gateway: gateway).ask("fetch_pending")
                #expect(answer.errorCode == "NOT_REGISTERED")
            }
            #expect(try await self.identities(holding: "push-\(phone.id)") == [])
            // The identity is not gone: a login brings it back.
            #expect(try await Cluster.phone(phone.person).id == phone.id)
        }

        // MARK: Push tokens

        @Test func aPushTokenBelongsToItsLastOwner() async throws {
            let (first, second) = (try await Cluster.phone(), try await Cluster.phone())
            let token = "push-\(newUUID())"
            for phone in [first, second] {
                let answer = try await phone.ask("update_tokens", ["pushToken": token]).expecting("tokens_updated")
                #expect(answer.payload["success"] == .bool(true))
                #expect(try await self.identities(holding: token) == [phone.id])
            }
        }

        @Test func anAbsentPushTokenIsKeptAndNullClears() async throws {
            let phone = try await Cluster.phone()
            let (push, voip) = ("push-\(newUUID())", "voip-\(newUUID())")
            try await phone.ask("update_tokens", ["pushToken": push, "voipToken": voip]).expecting("tokens_updated")
            try await phone.ask("update_tokens", ["voipToken": JSON.null]).expecting("tokens_updated")
            #expect(try await self.identities(holding: push) == [phone.id])
            #expect(try await self.identities(holding: voip) == [])
        }

        @Test func aLoginCanBringPushTokens() async throws {
            let token = "push-\(newUUID())"
            let phone = try await Person().logIn(on: try await Cluster.client(), tokens: ["pushToken": token])
            #expect(try await self.identities(holding: token) == [phone.id])
        }

        @Test func pushTokensHaveUpTo512Characters() async throws {
            let phone = try await Cluster.phone()
            let longest = String(repeating: "é", count: 512 - 36) + newUUID()
            try await phone.ask("update_tokens", ["pushToken": longest]).expecting("tokens_updated")
            #expect(try await phone.ask("update_tokens", ["pushToken": longest + "x"]).errorCode == "INVALID_PAYLOAD")
            #expect(try await phone.ask("update_tokens", ["pushToken": ""]).errorCode == "INVALID_PAYLOAD")
            for secret in ["", "AAAA", Keys.random(15).base64, Keys.random(17).base64, "not base64, 24 characters"] {
                let refused = try await phone.ask("update_tokens", ["wakeSecret": secret])
                #expect(
                    refused.errorCode == "INVALID_PAYLOAD"
                        && refused.payload["message"]?.string?.contains("wakeSecret") == true)
            }
        }

        private func identities(holding token: String) async throws -> [String] {
            try await Cluster.database(
                """
                SELECT auth.whisper_id_text(whisper_id) FROM auth.devices
                WHERE push_token = '\(token)' OR voip_token = '\(token)'
                """
            ).split(separator: "\n").map(String.init)
        }
    }
}
