import AuthCore
import Contract
import Foundation
import ServerCrypto
import Testing

/// `report`, and what operators make of reports (contract §10).
@Suite(.serialized, .timeLimit(.minutes(1))) struct AdminReportTests {
    let alice = TestIdentity(1)
    let mallory = TestIdentity(2)
    let carol = TestIdentity(3)

    @Test func aReportIsStoredAndShown() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let reporter = try await bench.login(self.alice)
            _ = try await bench.login(self.mallory)
            let plain = try await self.report(bench, reporter, #""reason":"abuse","note":"since \"Monday\"""#).reply("report_ack")
            bench.wait(.seconds(1))
            let proven = try await self.report(
                bench, reporter, #""reason":"spam","evidence":\#(self.letter(by: self.mallory, to: self.alice))"#
            ).reply("report_ack")
            let list = try await http.get("/admin/reports", token: HTTPBench.viewerToken)
            #expect(list.status == 200)
            let reports = list.json["reports"] as! [[String: Any]]
            #expect(reports.map { $0["id"] as! String } == [proven, plain].map { $0["reportId"] as! String })
            #expect(reports.map { $0["evidenceVerified"] as! Bool } == [true, false])
            #expect(Set(reports[0].keys) == ["id", "reporterId", "targetId", "reason", "evidenceVerified", "status", "createdAt"])
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
                genuine.replacing(#""msgType""#, with: #""groupId":"grp-9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","msgType""#),
            ]
            for evidence in forged {
                let answer = await self.report(bench, reporter, #""reason":"spam","evidence":\#(evidence)"#)
                #expect(answer.refusal == .invalidPayload, "\(evidence)")
            }
            #expect(try await bench.sql("SELECT count(*) FROM auth.reports") == "0")
            _ = try await self.report(bench, reporter, #""reason":"spam","evidence":\#(genuine)"#).reply("report_ack")
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
                self.alice.id(), reason: "x", until: nil, recording: AuditEvent(.operator, "ban"))
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
                ids.append(try await self.report(bench, reporter, #""reason":"other""#).reply("report_ack")["reportId"] as! String)
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
            let id = try await self.report(bench, reporter, #""reason":"abuse""#).reply("report_ack")["reportId"] as! String
            let path = "/admin/reports/\(id)/review"
            #expect(try await http.post(path, #"{"decision":"dismiss"}"#).text == #"{"success":true}"#)
            #expect(try await bench.session(target.session.tokenHash)?.isBanned == false)
            #expect(try await http.post(path.uppercased().replacing("/ADMIN/REPORTS/", with: "/admin/reports/").replacing("/REVIEW", with: "/review"), #"{"decision":"ban","note":"enough"}"#).status == 200)
            #expect(try await bench.session(target.session.tokenHash)?.isBanned == true)
            let bans = try await http.get("/admin/bans", token: HTTPBench.viewerToken).json["bans"] as! [[String: Any]]
            #expect(bans.count == 1 && bans[0]["reason"] as? String == "enough")
            #expect(try await bench.sql("SELECT status, review_note FROM auth.reports") == "banned|enough")
            #expect(
                try await bench.sql("SELECT string_agg(actor || ' ' || action || ' ' || result, ', ' ORDER BY number) FROM auth.audit_events WHERE action <> 'listBans'")
                    == "operator reviewReport ok, operator reviewReport ok, operator ban ok, system sessionsEnded ok")
            for body in ["", "{}", #"{"decision":"kill"}"#, #"{"decision":1}"#] {
                #expect(try await http.post(path, body).is(400, .invalidPayload))
            }
            #expect(try await http.post("/admin/reports/nonsense/review", #"{"decision":"warn"}"#).is(400, .invalidPayload))
            #expect(try await http.post("/admin/reports/\(UUIDText.random())/review", #"{"decision":"warn"}"#).is(404, .notFound))
        }
    }

    private func report(_ bench: AuthBench, _ login: AuthBench.Login, _ members: String) async -> Answer {
        await bench.send(
            "report", #"{"protocolVersion":1,"cryptoVersion":1,"targetId":"\#(self.mallory.id())",\#(members)}"#,
            session: login.session)
    }

    /// The payload of a `message_received`.
    private func letter(by sender: TestIdentity, to recipient: TestIdentity, signedBy other: TestIdentity? = nil) -> String {
        let message = CanonicalMessage(
            type: "send_message", messageID: "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10", from: "\(sender.id())",
            toOrGroupID: "\(recipient.id())", timestamp: 1_730_000_000_000, nonce: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX",
            ciphertext: "Y2lwaGVydGV4dA==")
        let signature = (other ?? sender).sign(SHA256.hash(message.bytes).bytes)
        return #"{"messageId":"\#(message.messageID)","from":"\#(message.from)","to":"\#(recipient.id())","msgType":"text","timestamp":\#(message.timestamp),"nonce":"\#(message.nonce)","ciphertext":"\#(message.ciphertext)","sig":"\#(base64(signature))","reactions":{},"attachment":null}"#
    }
}
