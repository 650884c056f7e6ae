import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import Foundation
import OperatorsCore
import Store
import Testing

/// Classes of rates that operators give and take (contract §20.7), by `/admin`, at the console and by invitation.
@Suite(.serialized, .timeLimit(.minutes(20))) struct RateClassTests {
    private let alice = TestIdentity(1)
    private let bob = TestIdentity(2)

    private func put(
        _ http: HTTPBench, _ body: String, of id: WhisperID, token: String = HTTPBench.operatorToken
    ) async throws -> HTTPBench.Answer {
        try await http.send(
            .put, "/admin/identities/\(id)/rate-class", authorization: "Bearer \(token)", body: body)
    }

    private static let bot = #"{"rateClass":"bot","reason":"reminders"}"#
    private static let none = #"{"rateClass":null,"reason":"over"}"#

    /// The classes that gateways were told last.
    private func told(_ bench: AuthBench) -> [RateClassGrant]? {
        for heard in bench.listener.heard.reversed() {
            if case .news(.rateClasses(let grants)) = heard { return grants }
        }
        return nil
    }

    @Test func aClassIsGivenTakenAndTold() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let (alice, bob) = (try await bench.login(self.alice), self.bob.id())
            let id = self.alice.id()
            #expect(try await self.put(http, Self.bot, of: id, token: HTTPBench.viewerToken).is(403, .forbidden))
            #expect(try await self.put(http, Self.bot, of: bob).is(404, .notFound))
            for wrong in [
                "{}", #"{"rateClass":"bot"}"#, #"{"rateClass":"b o t","reason":"x"}"#,
                #"{"rateClass":"fast","reason":"x"}"#,
            ] {
                #expect(try await self.put(http, wrong, of: id).is(400, .invalidPayload), "\(wrong)")
            }
            #expect(alice.session.rateClass == nil && self.told(bench) ?? [] == [])
            for _ in 0..<2 { #expect(try await self.put(http, Self.bot, of: id).status == 200) }
            #expect(self.told(bench) == [RateClassGrant(id, RateClassName("bot")!)])
            // The cache had her without a class.
            #expect(try await bench.directory.session(alice.session.tokenHash)?.rateClass?.description == "bot")
            #expect(try await bench.session(alice.session.tokenHash)?.rateClass?.description == "bot")
            let answer = await bench.send(
                "session_refresh", AuthBench.privileged, session: alice.session, token: alice.token)
            #expect(try answer.reply("session_refresh_ack")["rateClass"] as? String == "bot")
            #expect(try answer.refreshed().session.rateClass?.description == "bot")
            let again = try await bench.login(self.alice)
            #expect(again.session.rateClass?.description == "bot")
            let person = try await http.get("/admin/identities/\(id)", token: HTTPBench.viewerToken)
            #expect(person.json["rateClass"] as? String == "bot")
            #expect(
                try await bench.sql(
                    "SELECT auth.held_about(whisper_id, 9)->>'rateClass' FROM auth.identities WHERE rate_class IS NOT NULL"
                ) == "bot")

            #expect(try await self.put(http, Self.none, of: id).status == 200)
            #expect(self.told(bench) == [])
            #expect(try await bench.session(again.session.tokenHash)?.rateClass == nil)
            #expect(
                try await http.get("/admin/identities/\(id)", token: HTTPBench.viewerToken).json["rateClass"] == nil)
            #expect(
                try await bench.sql(
                    "SELECT string_agg(concat_ws(' ', actor, result, target, note), ', ' ORDER BY number) FROM auth.audit_events WHERE action = 'setRateClass' AND result IN ('ok', 'NOT_FOUND')"
                )
                    == "operator NOT_FOUND bot: reminders, operator ok \(id) bot: reminders, operator ok \(id) bot: reminders, operator ok \(id) none: over"
            )
        }
    }

    /// A Notice may have been lost.
    @Test func gatewaysAreToldAgain() async throws {
        try await AuthBench.run { bench in
            _ = try await bench.login(self.alice)
            try await bench.sql("UPDATE auth.identities SET rate_class = 'bot'")
            while self.told(bench) != [RateClassGrant(self.alice.id(), RateClassName("bot")!)] {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    @Test func classesAreListedWithWhoHasThem() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            _ = try await bench.login(self.bob)
            #expect(try await self.put(http, Self.bot, of: self.alice.id()).status == 200)
            // The settings had another class before.
            try await bench.sql("UPDATE auth.identities SET rate_class = 'feed' WHERE rate_class IS NULL")
            let answer = try await http.get("/admin/rate-classes", token: HTTPBench.viewerToken)
            let classes = try #require(answer.json["classes"] as? [[String: Any]])
            #expect(classes.map { $0["name"] as? String } == ["bot", "feed"])
            #expect(classes.map { $0["isKnown"] as? Bool } == [true, false])
            #expect(classes.map { $0["whisperIds"] as? [String] } == [["\(self.alice.id())"], ["\(self.bob.id())"]])
            let rates = try #require(classes[0]["rates"] as? [[String: Any]])
            #expect(rates.count == 6)
            let sends = try #require(rates.first { $0["name"] as? String == "send_message" })
            #expect(sends["uses"] as? Int == 1_200 && sends["burst"] as? Int == 1_200)
            #expect((classes[1]["rates"] as? [Any])?.isEmpty == true)
            // It counts as none.
            let bob = await bench.send(
                "register_proof", try await self.proof(of: self.bob, bench))
            #expect(try bob.reply("register_ack")["rateClass"] == nil)
            #expect(try await http.get("/admin/rate-classes", token: "x").is(401, .notRegistered))
        }
    }

    private func proof(of somebody: TestIdentity, _ bench: AuthBench, more: String = "") async throws -> String {
        let challenge = try await bench.challenge(somebody)
        return somebody.proof(challenge.id, signing: challenge.bytes, more: more)
    }

    @Test func whoComesInWithAnInvitationHasItsClass() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            try await bench.doors { doors, now, transaction throws(StoreError) in
                try await doors.choose(.invited, at: now, in: transaction)
            }
            for wrong in ["fast", "none", "b o t"] {
                #expect(
                    try await http.post("/admin/invitations", #"{"rateClass":"\#(wrong)"}"#).is(400, .invalidPayload))
            }
            let made = try await http.post("/admin/invitations", #"{"rateClass":"bot"}"#)
            let token = try #require(made.json["token"] as? String)
            let list = try await http.get("/admin/invitations", token: HTTPBench.viewerToken)
            #expect((list.json["invitations"] as? [[String: Any]])?.first?["rateClass"] as? String == "bot")
            let answer = await bench.send(
                "register_proof", try await self.proof(of: self.alice, bench, more: #","invitation":"\#(token)""#))
            #expect(try answer.reply("register_ack")["rateClass"] as? String == "bot")
            #expect(try answer.login().session.rateClass?.description == "bot")
            #expect(try await bench.sql("SELECT rate_class FROM auth.identities") == "bot")
            let plain = try await bench.invite()
            let other = await bench.send(
                "register_proof", try await self.proof(of: self.bob, bench, more: #","invitation":"\#(plain.text)""#))
            #expect(try other.reply("register_ack")["rateClass"] == nil)
        }
    }

    /// Identities that have one, and those who may still come in with one.
    @Test func thereIsABoundForGrants() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            _ = try await bench.login(self.bob)
            let room = Limits.rateClassGrantsMax
            let wish = #"{"rateClass":"bot","uses":\#(room - 1)}"#
            let made = try await http.post("/admin/invitations", wish)
            #expect(made.status == 200)
            #expect(try await http.post("/admin/invitations", #"{"rateClass":"bot","uses":2}"#).is(403, .forbidden))
            #expect(try await http.post("/admin/invitations", #"{"uses":2}"#).status == 200)
            #expect(try await self.put(http, Self.bot, of: self.alice.id()).status == 200)
            #expect(try await self.put(http, Self.bot, of: self.bob.id()).is(403, .forbidden))
            // An identity that has one may get another, or the same.
            #expect(try await self.put(http, Self.bot, of: self.alice.id()).status == 200)
            #expect(try await self.put(http, Self.none, of: self.bob.id()).status == 200)
            let path = "/admin/invitations/\(made.json["invitationId"] as? String ?? "")"
            #expect(
                try await http.send(.delete, path, authorization: "Bearer \(HTTPBench.operatorToken)").status == 200)
            #expect(try await self.put(http, Self.bot, of: self.bob.id()).status == 200)
        }
    }

    @Test func thePageOfAPersonHasAForm() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            let browser = try await ConsoleBrowser(http, token: HTTPBench.operatorToken)
            let viewer = try await ConsoleBrowser(http, token: HTTPBench.viewerToken)
            let page = "/console/people?id=\(self.alice.id())"
            #expect(!(try await viewer.get(page).text.contains("id=\"rate-class\"")))
            #expect(try await browser.get(page).text.contains("<option value=\"bot\">"))
            let wish = ["whisperId": "\(self.alice.id())", "rateClass": "bot", "reason": "reminders"]
            #expect(try await browser.post("/console/rate-class", wish).status == 403)
            #expect(
                try await browser.submit("/console/rate-class", wish.merging(["rateClass": "fast"]) { $1 }).status
                    == 400)
            let answer = try await browser.submit("/console/rate-class", wish)
            #expect(answer.status == 303)
            let next = try await browser.get(try #require(answer.headers[.location])).text
            #expect(next.contains("It counts within seconds") && next.contains("<option value=\"none\">"))
            #expect(try await viewer.get(page).text.contains("<dd>bot</dd>"))
            let list = try await viewer.get("/console/rate-classes").text
            #expect(list.contains("<dt>send_message</dt><dd>1200/1200</dd>") && list.contains("\(self.alice.id())"))
            try await bench.sql("UPDATE auth.identities SET rate_class = 'lost'")
            let other = try await viewer.get("/console/rate-classes").text
            let parts = other.components(separatedBy: "data-class=\"lost\"")
            #expect(parts.count == 2 && parts[0].contains("Nobody has it."))
            #expect(
                parts.last?.contains("it counts as none") == true && parts.last?.contains("\(self.alice.id())") == true)
            #expect(
                try await browser.submit("/console/rate-class", wish.merging(["rateClass": "none"]) { $1 }).status
                    == 303)
            #expect(try await bench.sql("SELECT count(rate_class) FROM auth.identities") == "0")
        }
    }
}
