import AuthTestKit
import ClusterContract
import Contract
import Foundation
import HTTPAccess
import OperatorsCore
import ServerCrypto
import Store
import Testing

/// `report`, and what operators make of reports (contract §10).
@Suite(.serialized, .timeLimit(.minutes(20))) struct AdminReportTests {
    let alice = TestIdentity(1)
    let mallory = TestIdentity(2)
    let carol = TestIdentity(3)

    @Test func aReportIsStoredAndShown() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            let http = try HTTPBench(admin: bench)
            let reporter = try await bench.login(self.alice)
            _ = try await bench.login(self.mallory)
            try await self.accept(bench, from: self.mallory, to: self.alice)
            let plain = try await self.report(bench, reporter, #""reason":"abuse","note":"since \"Monday\"""#).reply(
                "report_ack")
            bench.wait(.seconds(1))
            let proven = try await self.report(
                bench, reporter, #""reason":"spam","evidence":\#(self.letter(by: self.mallory, to: self.alice))"#
            ).reply("report_ack")
            let list = try await http.get("/admin/reports", token: HTTPBench.viewerToken)
            #expect(list.status == 200)
            let reports = list.json["reports"] as! [[String: Any]]
            #expect(reports.map { $0["id"] as! String } == [proven, plain].map { $0["reportId"] as! String })
            #expect(reports.map { $0["evidenceVerified"] as! Bool } == [true, false])
            #expect(
                Set(reports[0].keys) == [
                    "id", "reporterId", "targetId", "reason", "evidenceVerified", "status", "createdAt",
                ])
            #expect(reports[1]["note"] as? String == #"since "Monday""#)
            #expect(reports[1]["reporterId"] as? String == "\(self.alice.id())")
            #expect(reports[1]["targetId"] as? String == "\(self.mallory.id())")
            #expect(reports[1]["status"] as? String == "open")
            #expect(reports[0]["createdAt"] as? Int64 == bench.now.milliseconds)
            #expect(list.json["nextCursor"] == nil)
        }
    }

    @Test func forgedEvidenceIsRefused() async throws {
        try await AuthBench.run { bench in
            let reporter = try await bench.login(self.alice)
            for identity in [self.mallory, self.carol] { _ = try await bench.login(identity) }
            let genuine = self.letter(by: self.mallory, to: self.alice)
            let forged = [
                // Signed by somebody else, written to somebody else, of somebody else, changed afterwards.
                self.letter(by: self.mallory, to: self.alice, signedBy: self.carol),
                self.letter(by: self.mallory, to: self.carol), self.letter(by: self.carol, to: self.alice),
                genuine.replacing("Y2lwaGVydGV4dA==", with: "Y2lwaGVydGV4dB=="),
                genuine.replacing(#""timestamp":1730000000000"#, with: #""timestamp":1730000000001"#),
                genuine.replacing("9b2a1f64", with: "9b2a1f65"),
                // Group mail is signed for its group.
                genuine.replacing(
                    #""msgType""#, with: #""groupId":"grp-9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","msgType""#),
            ]
            for evidence in forged {
                let answer = await self.report(bench, reporter, #""reason":"spam","evidence":\#(evidence)"#)
                #expect(answer.refusal == .invalidPayload, "\(evidence)")
            }
            #expect(try await bench.sql("SELECT count(*) FROM auth.reports") == "0")
            _ = try await self.report(bench, reporter, #""reason":"spam","evidence":\#(genuine)"#).reply("report_ack")
        }
    }

    /// The ledger's entry counts: this message, from the target, to the reporter, in this group or in none.
    @Test func evidenceIsVerifiedByTheLedger() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            let reporter = try await bench.login(self.alice)
            for identity in [self.mallory, self.carol] { _ = try await bench.login(identity) }
            let direct = self.letter(by: self.mallory, to: self.alice)
            let inGroup = self.letter(by: self.mallory, to: self.alice, in: Self.group)
            func verified() async throws -> [String] {
                try await bench.sql("DELETE FROM auth.reports")
                for evidence in [direct, inGroup] {
                    _ = try await self.report(bench, reporter, #""reason":"spam","evidence":\#(evidence)"#).reply(
                        "report_ack")
                }
                return try await bench.sql("SELECT evidence_verified FROM auth.reports ORDER BY number").split(
                    separator: "\n"
                ).map { String($0) }
            }
            #expect(try await verified() == ["f", "f"], "signed, and never accepted or forgotten since")
            try await self.accept(bench, from: self.mallory, to: self.carol)
            try await self.accept(bench, from: self.carol, to: self.alice)
            #expect(try await verified() == ["f", "f"], "others' messages with the same id")
            try await self.accept(bench, from: self.mallory, to: self.alice)
            #expect(try await verified() == ["t", "f"])
            try await bench.sql("UPDATE router.ledger SET group_id = '\(Self.group.dropFirst(4))'")
            #expect(try await verified() == ["f", "t"])
            try await bench.sql("UPDATE router.ledger SET group_id = gen_random_uuid()")
            #expect(try await verified() == ["f", "f"])
        }
    }

    /// Nobody has signed the type, the reactions, what it answers or the attachment: whoever reports may write there what they like.
    @Test func onlySignedFieldsAreKept() async throws {
        try await AuthBench.run { bench in
            let reporter = try await bench.login(self.alice)
            _ = try await bench.login(self.mallory)
            for (group, keys) in [(nil, Self.signedKeys), (Self.group, Self.signedKeys.union(["groupId"]))] {
                let evidence = self.letter(by: self.mallory, to: self.alice, in: group)
                    .replacing(
                        #""msgType":"text""#,
                        with: #""msgType":"image","replyTo":"\#(UUIDText.random())","more":{"x":1}"#
                    )
                    .replacing(#""reactions":{}"#, with: #""reactions":{"x":["\#(self.mallory.id())"]}"#)
                _ = try await self.report(bench, reporter, #""reason":"spam","evidence":\#(evidence)"#).reply(
                    "report_ack")
                let stored = try await bench.sql(
                    "SELECT convert_from(evidence, 'UTF8') FROM auth.reports ORDER BY number DESC LIMIT 1")
                let fields = try JSONSerialization.jsonObject(with: Data(stored.utf8)) as! [String: Any]
                #expect(Set(fields.keys) == keys)
                #expect(fields["to"] as? String == "\(self.alice.id())")
            }
        }
    }

    /// The target is erased when it has been found to be there.
    @Test func aReportOfSomebodyWhoIsBeingErasedIsRefused() async throws {
        try await AuthBench.run { bench in
            let reporter = try await bench.login(self.alice)
            _ = try await bench.login(self.mallory)
            let target = self.mallory.id()
            let answer = try await bench.collide(with: [
                "DELETE FROM auth.sessions WHERE whisper_id = \(target)",
                "DELETE FROM auth.devices WHERE whisper_id = \(target)",
                "DELETE FROM auth.identities WHERE whisper_id = \(target)",
            ]) { await self.report(bench, reporter, #""reason":"spam""#) }
            #expect(answer.refusal == .notFound)
            #expect(try await bench.sql("SELECT count(*) FROM auth.reports") == "0")
        }
    }

    /// An erasure locks the identity before reports about it.
    @Test func aReviewThatWaitsForAnErasureHoldsNoReport() async throws {
        try await AuthBench.run { bench in
            let reporter = try await bench.login(self.alice)
            _ = try await bench.login(self.mallory)
            _ = try await self.report(bench, reporter, #""reason":"spam""#).reply("report_ack")
            let id = try #require(UUIDText(try await bench.sql("SELECT id FROM auth.reports")))
            let target = self.mallory.id()
            let isKnown = try await bench.collide(
                with: ["SELECT FROM auth.identities WHERE whisper_id = \(target) FOR UPDATE"],
                then: ["SELECT FROM auth.reports WHERE target = \(target) FOR UPDATE NOWAIT"]
            ) { try await bench.bans.review(id, .ban, note: nil, recording: AuditEvent(.operator, "reviewReport")) }
            #expect(isKnown)
            #expect(try await bench.sql("SELECT is_banned FROM auth.identities ORDER BY is_banned") == "f\nt")
        }
    }

    @Test func twentyReportsOfOneReporterMayBeOpen() async throws {
        try await AuthBench.run { bench in
            let reporter = try await bench.login(self.alice)
            let other = try await bench.login(self.carol)
            _ = try await bench.login(self.mallory)
            let answers = await withTaskGroup(of: Answer.self) { group in
                for _ in 0..<60 { group.addTask { await self.report(bench, reporter, #""reason":"spam""#) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(try await bench.sql("SELECT count(*) FROM auth.reports") == "20")
            let refused = answers.compactMap { answer in if case .refused(let refusal) = answer { refusal } else { nil }
            }
            #expect(refused.count == 40)
            #expect(refused.allSatisfy { $0.code == .rateLimited && ($0.retryAfterMilliseconds ?? 0) > 0 })
            _ = try await self.report(bench, other, #""reason":"spam""#).reply("report_ack")
            // One is reviewed: one more may come.
            let id = try await bench.sql("SELECT id FROM auth.reports LIMIT 1")
            let http = try HTTPBench(admin: bench)
            #expect(try await http.post("/admin/reports/\(id)/review", #"{"decision":"dismiss"}"#).status == 200)
            _ = try await self.report(bench, reporter, #""reason":"spam""#).reply("report_ack")
            #expect(await self.report(bench, reporter, #""reason":"spam""#).refusal == .rateLimited)
        }
    }

    /// Somebody can sign for another identity of their own what was never sent.
    @Test func largeEvidenceIsOfAMessageThatWasSent() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            let reporter = try await bench.login(self.alice)
            _ = try await bench.login(self.mallory)
            func report(_ bytes: Int) async -> Answer {
                let evidence = self.letter(by: self.mallory, to: self.alice, bytes: bytes)
                return await self.report(bench, reporter, #""reason":"spam","evidence":\#(evidence)"#)
            }
            #expect(await report(60_000).refusal == .invalidPayload)
            #expect(try await bench.sql("SELECT count(*) FROM auth.reports") == "0")
            _ = try await report(40_000).reply("report_ack")
            try await self.accept(bench, from: self.mallory, to: self.alice)
            _ = try await report(60_000).reply("report_ack")
        }
    }

    @Test func openReportsHoldOneMebibyteOfEvidence() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            let reporter = try await bench.login(self.alice)
            _ = try await bench.login(self.mallory)
            try await self.accept(bench, from: self.mallory, to: self.alice)
            let evidence = self.letter(by: self.mallory, to: self.alice, bytes: 250_000)
            let answers = await withTaskGroup(of: Answer.self) { group in
                for _ in 0..<6 {
                    group.addTask { await self.report(bench, reporter, #""reason":"spam","evidence":\#(evidence)"#) }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count { $0.refusal == .rateLimited } == 3)
            #expect(try await bench.sql("SELECT count(*) FROM auth.reports") == "3")
            // Without evidence there is room.
            _ = try await self.report(bench, reporter, #""reason":"spam""#).reply("report_ack")
            let id = try await bench.sql("SELECT id FROM auth.reports ORDER BY number LIMIT 1")
            let http = try HTTPBench(admin: bench)
            #expect(try await http.post("/admin/reports/\(id)/review", #"{"decision":"dismiss"}"#).status == 200)
            _ = try await self.report(bench, reporter, #""reason":"spam","evidence":\#(evidence)"#).reply("report_ack")
        }
    }

    @Test func reportsOfAllStrangersTogetherHaveABound() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            let (alice, carol) = (try await bench.login(self.alice), try await bench.login(self.carol))
            _ = try await bench.login(self.mallory)
            var configuration = OperatorsConfiguration()
            configuration.strangersBytesMax = 1_000
            let reporting = Reporting(
                pool: bench.pool, identities: bench.identities, configuration: configuration, clock: bench.clock)
            func file(_ question: UInt64, by login: AuthBench.Login, note: Int) async throws -> Answer {
                let text = String(repeating: "x", count: note)
                let report = try frame(
                    Report.definition,
                    #"{"protocolVersion":1,"cryptoVersion":1,"targetId":"\#(self.mallory.id())","reason":"spam","note":"\#(text)"}"#,
                    Report.init)
                return try await reporting.file(
                    report, of: login.session, question: AnswerAddress(node: bench.near, question: question))
            }
            func count() async throws -> Int64 {
                var key = ReportTable.firstKey
                let table = ReportTable(bench.pool)
                for _ in 0..<2 {
                    await StrangerSweep(table, bytesMax: 1, logger: quiet).sweep(from: &key, age: .zero)
                }
                return try await table.counted()
            }
            _ = try await file(1, by: alice, note: 1_000).reply("report_ack")
            // The row costs something, too.
            #expect(try await count() == 1_256)
            #expect(try await file(2, by: carol, note: 0).refusal == .rateLimited)
            #expect(try await file(3, by: alice, note: 0).refusal == .rateLimited)
            let (one, other) = (self.carol.id().bits, self.mallory.id().bits)
            try await bench.sql("INSERT INTO router.peers VALUES (\(one), \(other), now()), (\(other), \(one), now())")
            _ = try await file(4, by: carol, note: 0).reply("report_ack")
            #expect(try await count() == 1_256)
            // An acknowledged report is acknowledged again.
            _ = try await file(1, by: alice, note: 1_000).reply("report_ack")
        }
    }

    /// A Job whose answer got lost comes again when the bound has been reached.
    @Test func aRepeatedReportIsAcknowledgedAtTheBound() async throws {
        try await AuthBench.run { bench in
            let reporter = try await bench.login(self.alice)
            _ = try await bench.login(self.mallory)
            let reporting = Reporting(pool: bench.pool, identities: bench.identities, clock: bench.clock)
            let report = try frame(
                Report.definition,
                #"{"protocolVersion":1,"cryptoVersion":1,"targetId":"\#(self.mallory.id())","reason":"spam"}"#,
                Report.init)
            func file(_ question: UInt64) async throws -> Answer {
                try await reporting.file(
                    report, of: reporter.session, question: AnswerAddress(node: bench.near, question: question))
            }
            for question in UInt64(1)...20 { _ = try await file(question).reply("report_ack") }
            #expect(try await file(21).refusal == .rateLimited)
            let first = try await file(1).reply("report_ack")["reportId"] as? String
            #expect(first == "\(Evidence.reportID(for: AnswerAddress(node: bench.near, question: 1)))")
            #expect(try await bench.sql("SELECT count(*) FROM auth.reports") == "20")
        }
    }

    @Test func evidenceGoesThirtyDaysAfterTheReviewAndTheReportAfter400() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let reporter = try await bench.login(self.alice)
            _ = try await bench.login(self.mallory)
            let evidence = self.letter(by: self.mallory, to: self.alice)
            for _ in 0..<7 {
                _ = try await self.report(bench, reporter, #""reason":"spam","evidence":\#(evidence)"#).reply(
                    "report_ack")
            }
            let ids = try await bench.sql("SELECT id FROM auth.reports ORDER BY number").split(separator: "\n")
            for id in ids.dropFirst() {
                #expect(try await http.post("/admin/reports/\(id)/review", #"{"decision":"warn"}"#).status == 200)
            }
            let sweep = RecordSweep(
                bench.pool, configuration: OperatorsConfiguration(), clock: bench.clock, logger: quiet)
            // All reports, and those with evidence; the one that is open keeps its own.
            func left() async throws -> String {
                try await sweep.sweep(batch: 2)
                return try await bench.sql("SELECT count(*), count(evidence) FROM auth.reports")
            }
            bench.wait(.seconds(30 * 86_400 - 1))
            #expect(try await left() == "7|7")
            bench.wait(.seconds(1))
            #expect(try await left() == "7|1")
            bench.wait(.seconds(370 * 86_400 - 1))
            #expect(try await left() == "7|1")
            bench.wait(.seconds(1))
            #expect(try await left() == "1|1")
        }
    }

    @Test func aTargetExistsAndAReporterIsLive() async throws {
        try await AuthBench.run { bench in
            let reporter = try await bench.login(self.alice)
            #expect(await self.report(bench, reporter, #""reason":"spam""#).refusal == .notFound)
            _ = try await bench.login(self.mallory)
            _ = try await bench.login(self.alice)
            #expect(await self.report(bench, reporter, #""reason":"spam""#).isStale)
            let again = try await bench.login(self.alice)
            _ = try await bench.bans.ban(
                .identity(self.alice.id()), reason: "x", until: nil, recording: AuditEvent(.operator, "ban"))
            #expect(await self.report(bench, again, #""reason":"spam""#).refusal == .userBanned)
            #expect(try await bench.sql("SELECT count(*) FROM auth.reports") == "0")
        }
    }

    /// A Job whose answer got lost is taken again.
    @Test func oneQuestionIsOneReport() {
        let question = AnswerAddress(node: NodeID(value: 7), question: 12)
        let id = Evidence.reportID(for: question)
        #expect(id == Evidence.reportID(for: question))
        #expect(id != Evidence.reportID(for: AnswerAddress(node: NodeID(value: 7), question: 13)))
        #expect(id != Evidence.reportID(for: AnswerAddress(node: NodeID(value: 8), question: 12)))
    }

    @Test func listsComeInPages() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let reporter = try await bench.login(self.alice)
            _ = try await bench.login(self.mallory)
            var ids: [String] = []
            for _ in 0..<5 {
                ids.append(
                    try await self.report(bench, reporter, #""reason":"other""#).reply("report_ack")["reportId"]
                        as! String)
            }
            var seen: [String] = []
            var cursor = ""
            for count in [2, 2, 1] {
                let page = try await http.get("/admin/reports?limit=2\(cursor)", token: HTTPBench.viewerToken)
                let reports = page.json["reports"] as! [[String: Any]]
                #expect(reports.count == count)
                seen += reports.map { $0["id"] as! String }
                #expect((page.json["nextCursor"] != nil) == (count == 2))
                cursor = page.json["nextCursor"].map { "&cursor=\($0)" } ?? ""
            }
            #expect(seen == ids.reversed())
            #expect((try await http.post("/admin/reports/\(ids[1])/review", #"{"decision":"warn"}"#)).status == 200)
            let warned = try await http.get("/admin/reports?status=warned", token: HTTPBench.viewerToken)
            #expect((warned.json["reports"] as! [[String: Any]]).map { $0["id"] as! String } == [ids[1]])
            #expect((warned.json["reports"] as! [[String: Any]])[0]["reviewedAt"] as? Int64 == bench.now.milliseconds)
            let open = try await http.get("/admin/reports?status=open", token: HTTPBench.viewerToken)
            #expect((open.json["reports"] as! [Any]).count == 4)
            for query in ["status=closed", "limit=0", "limit=101", "limit=x", "cursor=1", "cursor="] {
                let answer = try await http.get("/admin/reports?\(query)", token: HTTPBench.viewerToken)
                #expect(answer.is(400, .invalidPayload), "\(query)")
            }
        }
    }

    @Test func aReviewMayBan() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let reporter = try await bench.login(self.alice)
            let target = try await bench.login(self.mallory)
            let id =
                try await self.report(bench, reporter, #""reason":"abuse""#).reply("report_ack")["reportId"] as! String
            let path = "/admin/reports/\(id)/review"
            #expect(try await http.post(path, #"{"decision":"dismiss"}"#).text == #"{"success":true}"#)
            #expect(try await bench.session(target.session.tokenHash)?.isBanned == false)
            #expect(
                try await http.post(
                    path.uppercased().replacing("/ADMIN/REPORTS/", with: "/admin/reports/").replacing(
                        "/REVIEW", with: "/review"), #"{"decision":"ban","note":"enough"}"#
                ).status == 200)
            #expect(try await bench.session(target.session.tokenHash)?.isBanned == true)
            let bans = try await http.get("/admin/bans", token: HTTPBench.viewerToken).json["bans"] as! [[String: Any]]
            #expect(bans.count == 1 && bans[0]["reason"] as? String == "enough")
            #expect(try await bench.sql("SELECT status, review_note FROM auth.reports") == "banned|enough")
            #expect(
                try await bench.sql(
                    "SELECT string_agg(actor || ' ' || action || ' ' || result, ', ' ORDER BY number) FROM auth.audit_events WHERE action <> 'listBans'"
                )
                    == "operator reviewReport ok, operator reviewReport ok, operator ban ok, system sessionsEnded ok")
            for body in ["", "{}", #"{"decision":"kill"}"#, #"{"decision":1}"#] {
                #expect(try await http.post(path, body).is(400, .invalidPayload))
            }
            #expect(
                try await http.post("/admin/reports/nonsense/review", #"{"decision":"warn"}"#).is(400, .invalidPayload))
            #expect(
                try await http.post("/admin/reports/\(UUIDText.random())/review", #"{"decision":"warn"}"#).is(
                    404, .notFound))
        }
    }

    private func report(_ bench: AuthBench, _ login: AuthBench.Login, _ members: String) async -> Answer {
        await bench.send(
            "report", #"{"protocolVersion":1,"cryptoVersion":1,"targetId":"\#(self.mallory.id())",\#(members)}"#,
            session: login.session)
    }

    private static let messageID = "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"
    private static let group = "grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61"
    private static let signedKeys: Set = ["messageId", "from", "to", "timestamp", "nonce", "ciphertext", "sig"]

    /// The router has accepted it.
    private func accept(_ bench: AuthBench, from sender: TestIdentity, to recipient: TestIdentity) async throws {
        try await bench.sql(
            """
            INSERT INTO router.ledger (message_id, sender, recipient, number, accepted_at, id_case)
            VALUES ('\(Self.messageID)', \(sender.id().bits), \(recipient.id().bits), 1, now(), 0)
            """)
    }

    /// The payload of a `message_received`.
    private func letter(
        by sender: TestIdentity, to recipient: TestIdentity, in group: String? = nil,
        signedBy other: TestIdentity? = nil, bytes: Int? = nil
    ) -> String {
        let message = CanonicalMessage(
            type: group == nil ? "send_message" : "group_send_message", messageID: Self.messageID,
            from: "\(sender.id())",
            toOrGroupID: group ?? "\(recipient.id())", timestamp: 1_730_000_000_000,
            nonce: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX",
            ciphertext: bytes.map { base64([UInt8](repeating: 7, count: $0)) } ?? "Y2lwaGVydGV4dA==")
        let signature = (other ?? sender).sign(SHA256.hash(message.bytes).bytes)
        return
            #"{"messageId":"\#(message.messageID)","from":"\#(message.from)","to":"\#(recipient.id())",\#(group.map { #""groupId":"\#($0)","# } ?? "")"msgType":"text","timestamp":\#(message.timestamp),"nonce":"\#(message.nonce)","ciphertext":"\#(message.ciphertext)","sig":"\#(base64(signature))","reactions":{},"attachment":null}"#
    }
}
