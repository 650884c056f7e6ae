import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §10: what operators see and do, and what it does to everybody else.
    @Suite struct Admin {
        // MARK: Bans

        @Test(arguments: [1, 2]) func aBanEndsTheLiveSession(gateway: Int) async throws {
            let banned = try await Cluster.phone(gateway: gateway)
            let other = try await Cluster.phone(gateway: 3 - gateway)
            let waiting = try await other.text(banned)
            _ = try await banned.received(waiting)
            try await Operators.ban(banned)
            let farewell = try await banned.client.next("error")
            #expect(farewell.errorCode == "USER_BANNED")
            #expect(try await banned.client.end().code == 4003)

            // Nowhere is a way back in, and nobody can write.
            let again = try await Cluster.reconnected(banned, gateway: 3 - gateway)
            #expect(try await again.ask("fetch_pending").errorCode == "USER_BANNED")
            #expect(try await again.client.end().code == 4003)
            let begin = try await Cluster.client(gateway: gateway).ask(
                "register_begin", banned.person.begin(as: banned.id))
            #expect(begin.errorCode == "USER_BANNED")
            let client = try await Cluster.client()
            let challenge = try await client.ask("register_begin", banned.person.begin()).expecting(
                "register_challenge")
            #expect(
                try await client.ask("register_proof", banned.person.proof(of: challenge.payload)).errorCode
                    == "USER_BANNED")
            #expect(try await other.send(other.message(to: banned.id)).errorCode == "FORBIDDEN")
            #expect(try await self.keys(of: banned.id, as: other).body["status"]?.string == "banned")
            let own = try await self.keys(of: other.id, as: banned)
            #expect(own.status == 403 && own.body["error"]?.string == "USER_BANNED")
            let bans = try await self.bans(of: banned)
            #expect(bans.count == 1)
            #expect(bans.first?["reason"]?.string == "a test" && bans.first?["expiresAt"] == nil)
        }

        @Test func afterAnUnbanAllIsAsBefore() async throws {
            let (phone, other) = (try await Cluster.phone(), try await Cluster.phone())
            let kept = try await other.text(phone)
            try await Operators.ban(phone)
            #expect(try await phone.client.end().code == 4003)
            try await Operators.unban(phone)
            #expect(try await self.bans(of: phone).isEmpty)
            #expect(try await self.keys(of: phone.id, as: other).body["status"]?.string == "active")
            // The session was known all the time; what was stored before waits, and new mail comes.
            let back = try await Cluster.reconnected(phone)
            #expect(try await back.fetch().ids == [kept])
            let new = try await other.text(back)
            _ = try await back.received(new)
            _ = try await Cluster.phone(phone.person)
        }

        @Test func aBanWithAnEndEnds() async throws {
            let phone = try await Cluster.phone()
            let end = nowMilliseconds() + 10_000
            try await Operators.ban(phone, until: end)
            #expect(try await phone.client.end().code == 4003)
            #expect(try await self.bans(of: phone).first?["expiresAt"]?.integer == end)
            let refused = try await Cluster.client().ask("register_begin", phone.person.begin(as: phone.id))
            #expect(refused.errorCode == "USER_BANNED")
            try await waitUntil("the ban is over", within: .seconds(40), every: .milliseconds(100)) {
                try await Cluster.client().ask("register_begin", phone.person.begin(as: phone.id)).type
                    == "register_challenge"
            }
            #expect(nowMilliseconds() >= end)
            _ = try await Cluster.phone(phone.person)
            let writer = try await Cluster.phone()
            try await writer.text(phone)
        }

        @Test func whatIsNoBanIsRefused() async throws {
            let phone = try await Cluster.phone()
            let valid: Fields = ["whisperId": phone.id, "reason": "x"]
            for fields in [
                [:], valid.without("reason"), valid.without("whisperId"), valid.with(["reason": ""]),
                valid.with(["whisperId": "WSP-1"]), valid.with(["expiresAt": nowMilliseconds() - 1]),
                valid.with(["expiresAt": "soon"]), valid.with(["reason": String(repeating: "x", count: 1_001)]),
            ] as [Fields] {
                #expect(try await Operators.post("/admin/ban", fields).is(400, "INVALID_PAYLOAD"), "\(fields)")
            }
            let nobody: Fields = ["whisperId": "WSP-AAAA-AAAA-AAAA", "reason": "x"]
            #expect(try await Operators.post("/admin/ban", nobody).is(404, "NOT_FOUND"))
            #expect(try await Operators.post("/admin/unban", nobody).is(404, "NOT_FOUND"))
            try await phone.ask("fetch_pending").expecting("pending_messages")
        }

        // MARK: Roles

        @Test func onlyTheOpsOriginKnowsOperators() async throws {
            let stack = Cluster.stack
            for path in ["stats", "reports", "bans", "audit", "messages/\(newUUID())"].map({ "/admin/\($0)" }) {
                for token in [nil, "", "x", stack.configuration.viewerToken + "x"] {
                    #expect(try await Operators.get(path, token: token).is(401, "NOT_REGISTERED"), "\(path)")
                }
                let headers = ["Authorization": "Bearer \(stack.configuration.adminToken)"]
                for port in [stack.ports.public, stack.ports[.auth, 1]!.http!, stack.ports[.gateway, 1]!.ops] {
                    #expect(await LoopbackRequest.get(path, port: port, headers: headers)?.status == 404, "\(path)")
                }
            }
            // A session is no role.
            let phone = try await Cluster.phone()
            #expect(try await Operators.get("/admin/stats", token: phone.token).is(401, "NOT_REGISTERED"))
            let viewer = stack.configuration.viewerToken
            for (path, fields) in [
                ("/admin/ban", ["whisperId": phone.id, "reason": "x"]),
                ("/admin/unban", ["whisperId": phone.id, "reason": "x"]),
                ("/admin/reports/\(newUUID())/review", ["decision": "dismiss"]),
            ] as [(String, Fields)] {
                #expect(try await Operators.post(path, fields, token: viewer).is(403, "FORBIDDEN"))
                #expect(try await Operators.post(path, fields, token: nil).is(401, "NOT_REGISTERED"))
            }
            #expect(phone.client.ending == nil)
        }

        // MARK: Reports

        @Test func aReportIsReviewedAndBans() async throws {
            let (alice, mallory) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            let letter = try await alice.received(try await mallory.text(alice)).payload
            let plain: Fields = ["targetId": mallory.id, "reason": "spam"]
            let first = try await alice.ask("report", plain.with(["note": "a note"])).expecting("report_ack")
            let second = try await alice.ask("report", plain.with(["evidence": letter])).expecting("report_ack")
            let id = try #require(second.payload["reportId"]?.string)
            #expect(second.payload.members.count == 1 && first.payload["reportId"]?.string != id)

            let reports =
                try await Operators.get("/admin/reports?limit=100&status=open").body["reports"]?.elements ?? []
            let own = reports.filter { $0["targetId"]?.string == mallory.id }
            #expect(own.map { $0["evidenceVerified"] } == [.bool(true), .bool(false)])
            #expect(own.map { $0["reporterId"]?.string } == [alice.id, alice.id])
            #expect(own.map { $0["note"]?.string } == [nil, "a note"])
            #expect(own.first?["id"]?.string == id)

            try await Operators.post("/admin/reports/\(id)/review", ["decision": "ban", "note": "seen it"])
                .expectSuccess()
            #expect(try await mallory.client.end().code == 4003)
            #expect(try await self.bans(of: mallory).first?["reason"]?.string == "seen it")
            let banned =
                try await Operators.get("/admin/reports?limit=100&status=banned").body["reports"]?.elements ?? []
            let reviewed = try #require(banned.first { $0["id"]?.string == id })
            #expect(reviewed["status"]?.string == "banned" && reviewed["reviewedAt"]?.integer != nil)
            let unknown = try await Operators.post("/admin/reports/\(newUUID())/review", ["decision": "warn"])
            #expect(unknown.is(404, "NOT_FOUND"))
        }

        @Test func forgedEvidenceIsRefused() async throws {
            let (alice, mallory) = (try await Cluster.phone(), try await Cluster.phone())
            let carol = try await Cluster.phone()
            let genuine = try await alice.received(try await mallory.text(alice)).payload.members
            let foreign = try await carol.received(try await mallory.text(carol)).payload
            let changed = [
                genuine.merging(["ciphertext": .string(Keys.random(40).base64)]) { $1 },
                genuine.merging(["timestamp": .integer(nowMilliseconds() + 1)]) { $1 },
                genuine.merging(["messageId": .string(newUUID())]) { $1 },
                genuine.merging(["from": .string(carol.id)]) { $1 },
                genuine.merging(["sig": .string(Keys.random(64).base64)]) { $1 },
                genuine.filter { $0.key != "sig" },
            ].map { JSON.object($0) }
            for evidence in changed + [foreign, .string("x")] {
                let answer = try await alice.ask(
                    "report", ["targetId": mallory.id, "reason": "spam", "evidence": evidence])
                #expect(answer.errorCode == "INVALID_PAYLOAD", "\(evidence.text)")
            }
            let stranger = try await alice.ask("report", ["targetId": "WSP-AAAA-AAAA-AAAA", "reason": "spam"])
            #expect(stranger.errorCode == "NOT_FOUND")
            let reason = try await alice.ask("report", ["targetId": mallory.id, "reason": "envy"])
            #expect(reason.errorCode == "INVALID_PAYLOAD")
            try await alice.ask(
                "report", ["targetId": mallory.id, "reason": "spam", "evidence": JSON.object(genuine)]
            ).expecting("report_ack")
        }

        // MARK: Questions

        @Test func aMessageIsFollowedWithoutItsContent() async throws {
            let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
            // His router has heard of his connection, so it wakes nobody.
            try await bob.ask("fetch_pending").expecting("pending_messages")
            let before = nowMilliseconds()
            let id = try await alice.text(bob)
            let pending = try await self.delivery(of: id)
            #expect(pending["from"]?.string == alice.id && pending["to"]?.string == bob.id)
            #expect(pending["status"]?.string == "pending")
            #expect((before - 1_000...nowMilliseconds() + 1_000).contains(try #require(pending["acceptedAt"]?.integer)))
            #expect(Set(pending.members.keys) == ["from", "to", "status", "acceptedAt"])
            bob.acknowledge(id, from: alice.id)
            _ = try await alice.client.next("message_delivered")
            let delivered = try await self.delivery(of: id)
            #expect(delivered["status"]?.string == "delivered")
            #expect((before...nowMilliseconds()).contains(try #require(delivered["deliveredAt"]?.integer)))
            // The sender knows: what was kept for it is gone, and the time is still there.
            try await waitUntil("the outcome is confirmed", within: .seconds(10), every: .milliseconds(50)) {
                try await Cluster.database("SELECT count(*) FROM router.outcomes WHERE message_id = '\(id)'") == "0"
            }
            #expect(try await self.delivery(of: id) == delivered)
            bob.acknowledge(id, from: alice.id, status: "read")
            _ = try await alice.client.next("message_delivered") { $0.payload["status"]?.string == "read" }
            let read = try await self.delivery(of: id.uppercased())
            #expect(read["status"]?.string == "read")
            try await waitUntil("the outcome is confirmed", within: .seconds(10), every: .milliseconds(50)) {
                try await Cluster.database("SELECT count(*) FROM router.outcomes WHERE message_id = '\(id)'") == "0"
            }
            #expect(try await self.delivery(of: id) == read)
            #expect(read["deliveredAt"] == delivered["deliveredAt"])
            #expect((before...nowMilliseconds()).contains(try #require(read["readAt"]?.integer)))
            #expect(try await Operators.get("/admin/messages/\(newUUID())").is(404, "NOT_FOUND"))
            #expect(try await Operators.get("/admin/messages/nonsense").is(400, "INVALID_PAYLOAD"))
        }

        @Test func theClusterIsCounted() async throws {
            let before = try await Operators.get("/admin/stats").body
            #expect(
                Set(before.members.keys) == [
                    "users", "devices", "devicesByClient", "sessions", "online", "pendingMessages", "groups",
                    "attachments", "reportsOpen",
                    "bansActive", "guests", "profiles", "conversations", "streams", "listeners", "rooms",
                    "transcriptLines",
                ])
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            bob.client.cut()
            try await alice.text(bob)
            // Others come and go meanwhile: what this test adds is at least there.
            try await waitUntil("the newcomers are counted", within: .seconds(30), every: .milliseconds(100)) {
                let after = try await Operators.get("/admin/stats").body
                func count(_ name: String) -> Int64 { after[name]?.integer ?? -1 }
                return count("users") >= (before["users"]?.integer ?? 0) + 2 && count("sessions") >= 2
                    && count("devices") >= 2
                    && count("online") >= 1 && count("online") <= count("sessions") && count("pendingMessages") >= 1
            }
        }

        @Test func theRecordSaysWhoDidWhat() async throws {
            let phone = try await Cluster.phone()
            try await Operators.ban(phone)
            _ = try await Cluster.client().ask("register_begin", phone.person.begin(as: phone.id))
            try await Operators.unban(phone)
            let viewer = Cluster.stack.configuration.viewerToken
            _ = try await Operators.post("/admin/ban", ["whisperId": phone.id, "reason": "x"], token: viewer)
            let events = try await Operators.get("/admin/audit?target=\(phone.id)").body["events"]?.elements ?? []
            #expect(
                events.reversed().map {
                    "\($0["actor"]?.string ?? "") \($0["action"]?.string ?? "") \($0["result"]?.string ?? "")"
                } == [
                    "operator ban ok", "system sessionsEnded ok", "system loginRefused ok", "operator unban ok",
                ])
            let all = try await Operators.get("/admin/audit?limit=1").body
            #expect(all["events"]?.elements.count == 1 && all["nextCursor"]?.string != nil)
        }

        /// One person in numbers, from each service that holds something.
        @Test func aPersonIsFoundInNumbers() async throws {
            let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
            alice.client.cut()
            try await bob.text(alice)
            _ = try await bob.ask("group_create", ["title": "A choir", "memberIds": [alice.id]])
                .expecting("group_event")
            let path = "/admin/identities/\(alice.id)"
            try await waitUntil("the message waits", within: .seconds(30), every: .milliseconds(50)) {
                try await Operators.get(path).body["waitingMessages"]?.integer == 1
            }
            let person = try await Operators.get(path).body
            #expect(person["groups"]?.integer == 1 && person["isBanned"] == .bool(false))
            #expect(person["files"]?.integer == 0 && person["seenOn"]?.string?.count == 10)
            #expect(try await Operators.tool("identity", alice.id.lowercased()).contains("messages waiting  1"))
            #expect(try await Operators.tool("identity", alice.id, "--json").contains(#""waitingMessages":1"#))
            // Changes too answer as they came, and an empty list says so.
            let ban = try await Operators.tool("ban", bob.id, "--reason", "a test", "--json")
            #expect(ban == "{\"success\":true}\n")
            #expect(try await Operators.tool("audit", "--target", newUUID()) == "There are no such events.\n")
        }

        /// Scripts go by the status: 1 refused, 2 wrong usage, 3 no answer.
        @Test func theToolTellsByItsStatus() async throws {
            func status(
                _ arguments: [String], url: String = Cluster.stack.opsURL,
                token: String? = Cluster.stack.configuration.viewerToken
            ) async throws -> Int32 {
                var command = Command("\(Cluster.stack.configuration.programs)/whisper-admin", arguments)
                command.environment = ["WHISPER_OPS_URL": url]
                command.environment["ADMIN_TOKEN"] = token
                do {
                    try await command.run(name: "whisper-admin")
                    return 0
                } catch LaunchError.ended(_, .exited(let code), _) {
                    return code
                }
            }
            for arguments in [["stats"], ["help"], ["--version"], ["bans", "--help"], ["reports", "--json"]] {
                #expect(try await status(arguments) == 0, "\(arguments)")
            }
            let nobody = "WSP-AAAA-AAAA-AAAA"
            for arguments in [["identity", nobody], ["ban", nobody, "--reason", "x"], ["message", newUUID()]] {
                #expect(try await status(arguments) == 1, "\(arguments)")
            }
            #expect(try await status(["stats"], token: "no token of this server") == 1)
            let wrong = [
                ["identity", "WSP-1"], ["identity"], ["nonsense"], ["ban", nobody], ["invite", "--qr"],
                ["stats", "--url", "x"],
                ["ban", nobody, "--reason", "x", "--for", "0d"],
                ["ban", nobody, "--reason", "x", "--for", "1d", "--permanently"],
            ]
            for arguments in wrong {
                #expect(try await status(arguments) == 2, "\(arguments)")
            }
            #expect(try await status(["stats"], token: nil) == 2)
            #expect(try await status(["stats"], url: "http://127.0.0.1:1") == 3)
            // Something that is not this server.
            #expect(try await status(["stats"], url: Cluster.stack.publicURL + "/join") == 3)
        }

        /// The tool for people, over the same HTTP.
        @Test func operatorsHaveATool() async throws {
            let (alice, mallory) = (try await Cluster.phone(), try await Cluster.phone())
            let report = try await alice.ask("report", ["targetId": mallory.id, "reason": "abuse"]).expecting(
                "report_ack")
            let id = try #require(report.payload["reportId"]?.string)
            #expect(try await Operators.tool("stats").contains("open reports"))
            #expect(try await Operators.tool("reports", "--status", "open", "--limit", "100").contains(id))
            #expect(try await Operators.tool("review", id, "warn").contains("Done."))
            #expect(
                try await Operators.tool("ban", mallory.id, "--reason", "enough").contains(
                    "is banned until")
            )
            #expect(try await mallory.client.end().code == 4003)
            #expect(try await Operators.tool("bans").contains("\(mallory.id)  until"))
            let day = nowMilliseconds() + 86_400_000
            let end = try #require(try await self.bans(of: mallory).first?["expiresAt"]?.integer)
            #expect((day - 600_000...day).contains(end))
            #expect(
                try await Operators.tool("ban", mallory.id, "--reason", "enough", "--permanently").contains(
                    "is banned permanently."))
            #expect(try await Operators.tool("bans").contains("\(mallory.id)  permanently"))
            #expect(try await self.bans(of: mallory).first?["expiresAt"] == nil)
            #expect(try await Operators.tool("review", id, "ban", "--for", "2h").contains("Banned until"))
            #expect(try #require(try await self.bans(of: mallory).first?["expiresAt"]?.integer) < end)
            #expect(
                try await Operators.tool("audit", "--target", mallory.id).contains(
                    "operator ban \(mallory.id): ok “enough”")
            )
            #expect(try await Operators.tool("unban", mallory.id, "--reason", "appeal").contains("is not banned"))
            let invited = try await Operators.tool("invite", "--host", "chat.example.org", "--qr").split(
                separator: "\n")
            #expect(invited.contains { $0.hasSuffix("https://chat.example.org/invite#\(invited[0])") })
            #expect(invited.count { $0.contains("█") } > 15)
            await #expect(throws: LaunchError.self) { try await Operators.tool("ban", "WSP-1", "--reason", "x") }
            let message = try await alice.text(try await Cluster.phone())
            #expect(try await Operators.tool("message", message).contains("pending; accepted"))
        }

        // MARK: -

        private func delivery(of id: String) async throws -> JSON {
            let answer = try await Operators.get("/admin/messages/\(id)")
            #expect(answer.status == 200 && answer.body["messageId"]?.string == id)
            #expect(answer.body["deliveries"]?.elements.count == 1)
            return try #require(answer.body["deliveries"]?[0])
        }

        private func bans(of phone: Phone) async throws -> [JSON] {
            let bans = try await Operators.get("/admin/bans").body["bans"]?.elements ?? []
            return bans.filter { $0["whisperId"]?.string == phone.id }
        }

        private func keys(of id: String, as phone: Phone) async throws -> Operators.Answer {
            let answer = try #require(
                await LoopbackRequest.get(
                    "/users/\(id)/keys", port: Cluster.stack.ports.public,
                    headers: ["Authorization": "Bearer \(phone.token)"]))
            return Operators.Answer(status: answer.status, body: try JSON(parsing: Array(answer.body.utf8)))
        }
    }
}

extension HastyCluster {
    @Test func anExpiredMessageIsKnownAsSuch() async throws {
        let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
        bob.client.cut()
        let before = nowMilliseconds()
        let id = try await alice.text(bob)
        _ = try await alice.client.next("message_expired", within: .seconds(20))
        let delivery = try await Operators.get("/admin/messages/\(id)").body["deliveries"]?[0]
        #expect(delivery?["status"]?.string == "expired")
        #expect((before + 8_000...nowMilliseconds() + 1_000).contains(try #require(delivery?["expiredAt"]?.integer)))
    }
}
