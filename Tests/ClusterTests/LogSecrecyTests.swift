import Foundation
import LocalStack
import TestKit
import Testing

/// A cluster that logs as much as it can.
@Suite(.cluster(.busy) { $0.logLevel = "trace" }, .serialized) struct TalkativeCluster {
    /// Spec §13: never tokens, keys, plaintext or ciphertext, whatever happens and however much is logged.
    @Test func noLogKnowsASecret() async throws {
        let book = SecretBook()
        let conversation = try await Self.conversation(book)
        try await Self.company(conversation, book)
        try await Self.mistakes(conversation, book)
        try await Self.abuse(conversation, book)
        try await Self.outage(conversation, book)
        #expect(book.count > 100)

        let logs = try self.logs()
        // An identity may be logged, and is: an empty log would hold no secret either.
        #expect(logs.contains { $0.name.hasPrefix("gateway") && $0.text.contains(conversation.alice.id) })
        for log in logs {
            let leaks = book.leaks(in: log.text)
            #expect(leaks.isEmpty, "\(log.name) knows \(leaks.count): \(leaks.prefix(5).joined(separator: "\n"))")
        }
    }

    /// The search itself: each form of a secret is found in a line that gives it away.
    @Test func aPlantedSecretIsFound() {
        let book = SecretBook()
        let key = Keys.random(32)
        book.note("key", bytes: key)
        book.note("token", "a-token-of-a-session")
        let hex = key.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        let spellings = [
            key.base64, hex, hex.uppercased(), "\(key)", key.base64.replacing("+", with: "-").replacing("/", with: "_"),
        ]
        for text in spellings + [String(key.base64.prefix(30)), "a-token-of-a-session"] {
            #expect(
                !book.leaks(in: "{\"event\":\"x\"}\n{\"event\":\"leak\",\"reason\":\"\(text)\"}\n").isEmpty, "\(text)")
        }
        #expect(book.leaks(in: "{\"event\":\"x\",\"reason\":\"a-token-of\"}\n").isEmpty)
    }

    /// One message from socket to socket, and one to somebody who is away, by the lines that name it.
    @Test func aMessageCanBeFollowedThroughTheServices() async throws {
        try await Cluster.calm()
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        let live = try await alice.text(bob)
        _ = try await bob.received(live)
        bob.acknowledge(live, from: alice.id)
        _ = try await alice.client.next("message_delivered")
        for (service, events) in [
            ("gateway-1", ["message forwarded", "message acknowledged", "outcome written"]),
            ("router", ["message judged", "message sent", "receipt honoured"]),
            ("gateway-2", ["message written", "receipt forwarded"]),
        ] {
            let lines = try self.lines(of: service, about: live)
            for event in events { #expect(lines.contains { $0["event"]?.string == event }, "\(service): \(event)") }
        }

        // Without a token there is nobody to push to.
        try await bob.ask("update_tokens", ["pushToken": newUUID()]).expecting("tokens_updated")
        bob.client.cut()
        let queued = try await self.wake(of: bob, by: alice)
        let wake = try #require(queued["wakeId"]?.string)
        try await waitUntil("push has sent the wake-up", within: .seconds(10)) {
            let lines = try self.lines(of: "push", about: wake)
            return ["wake taken", "wake sent"].allSatisfy { event in lines.contains { $0["event"]?.string == event } }
        }
    }

    /// Each from the gateway through its service and back.
    @Test func aQuestionCanBeFollowedThroughTheServices() async throws {
        try await Cluster.calm()
        let alice = try await Cluster.phone(gateway: 1)
        _ = try await alice.pending()
        try await alice.ask("group_list").expecting("groups")
        try await alice.ask("get_turn_credentials").expecting("turn_credentials")
        try await alice.ask("update_tokens").expecting("tokens_updated")
        for (frame, service) in [
            ("fetch_pending", "router"), ("group_list", "router"), ("get_turn_credentials", "calls"),
            ("update_tokens", "auth"),
        ] {
            let asked = try self.lines(of: "gateway-1", about: alice.id).first {
                $0["event"]?.string == "question asked" && $0["frame"]?.string == frame
            }
            let trace = try #require(asked?["trace"]?.string, "\(frame)")
            #expect(asked?["deviceId"]?.string == alice.person.device)
            try await waitUntil("\(service) says that it has handled \(frame)", within: .seconds(10)) {
                try self.lines(of: service, about: "\"\(trace)\"").contains {
                    $0["event"]?.string == "question handled"
                }
            }
            let answered = try self.lines(of: "gateway-1", about: "\"\(trace)\"").first {
                $0["event"]?.string == "question answered"
            }
            #expect((answered?["latencyMs"]?.integer ?? -1) >= 0)
        }
    }

    /// The first wake-up for somebody who has just gone. It names the message that found nobody, unless that one was on its
    /// way when the router learned of the going: then it is for all that waits.
    private func wake(of bob: Phone, by alice: Phone) async throws -> JSON {
        var queued: JSON?
        try await waitUntil("a message wakes", within: .seconds(20), every: .milliseconds(100)) {
            try await alice.text(bob)
            queued = try self.lines(of: "router", about: bob.id).first { $0["event"]?.string == "wake queued" }
            return queued != nil
        }
        return try #require(queued)
    }

    // MARK: The script

    struct Conversation {
        var alice: Phone
        var bob: Phone
    }

    /// Everything that people do all day.
    private static func conversation(_ book: SecretBook) async throws -> Conversation {
        let alice = try await self.login(gateway: 1, book)
        var bob = try await self.login(gateway: 2, book)
        let message = alice.message(to: bob.id, bytes: 300)
        book.note("message", message: message)
        let id = message["messageId"]!.json.string!
        try await alice.send(message).expecting("message_accepted")
        _ = try await bob.received(id)
        bob.acknowledge(id, from: alice.id, status: "read")
        _ = try await alice.client.next("message_delivered")

        let refreshed = try await bob.ask("session_refresh").expecting("session_refresh_ack")
        bob.token = try #require(refreshed.payload["sessionToken"]?.string)
        book.note("refreshed token", bob.token)
        let (push, voip) = ("push-\(newUUID())", "voip-\(newUUID())")
        book.note("push token", push)
        book.note("voip token", voip)
        let secret = Keys.random(16)
        book.note("wake secret", bytes: secret)
        try await bob.ask("update_tokens", ["pushToken": push, "voipToken": voip, "wakeSecret": secret.base64])
            .expecting("tokens_updated")
        // The same token for somebody else: the last owner wins.
        try await alice.ask("update_tokens", ["pushToken": push]).expecting("tokens_updated")

        bob.client.cut()
        let stored = alice.message(to: bob.id, bytes: 5_000)
        book.note("stored message", message: stored)
        try await alice.send(stored).expecting("message_accepted")
        bob = try await Cluster.reconnected(bob, gateway: 1)
        #expect(try await bob.pending().map(\.id) == [stored["messageId"]!.json.string!])
        bob.acknowledge(stored["messageId"]!.json.string!, from: alice.id)

        let backup: Fields = Person.versions.with([
            "nonce": Keys.random(24).base64, "ciphertext": Keys.random(500).base64,
        ])
        book.note("backup", message: backup)
        for method in ["PUT", "GET", "DELETE"] {
            let answer = await LoopbackRequest.http(
                method, "/backup/contacts", port: Cluster.stack.ports.public,
                headers: ["Authorization": "Bearer \(alice.token)"], body: method == "PUT" ? backup.json.text : "")
            #expect(answer?.status == 200)
        }
        try await Self.shareAProfile(alice, bob, book)
        _ = await LoopbackRequest.get(
            "/users/\(bob.id)/keys", port: Cluster.stack.ports.public,
            headers: ["Authorization": "Bearer \(alice.token)"])
        return Conversation(alice: alice, bob: bob)
    }

    /// Two devices, one of which joins the other with a key.
    private static func shareAProfile(_ alice: Phone, _ bob: Phone, _ book: SecretBook) async throws {
        let (path, key) = ("/profiles/\(newUUID())", Keys.random(32))
        let hash = Keys.sha256(key).base64
        let document: Fields = Person.versions.with([
            "nonce": Keys.random(12).base64, "ciphertext": Keys.random(500).base64,
        ])
        book.note("join key", key.base64)
        book.note("join hash", hash)
        book.note("document", message: document)
        #expect(try await alice.http("PUT", path, Person.versions.with(["joinHash": hash])).status == 200)
        let wrong = Person.versions.with(["joinKey": Keys.random(32).base64])
        #expect(try await bob.http("POST", "\(path)/members", wrong).status == 403)
        let right = Person.versions.with(["joinKey": key.base64])
        #expect(try await bob.http("POST", "\(path)/members", right).status == 200)
        // Without a condition it is refused, and read all the same.
        #expect(try await bob.http("PUT", "\(path)/documents/user", document).status == 400)
        let written = try await HTTPCall(
            "PUT", "\(Cluster.stack.publicURL)\(path)/documents/user",
            headers: ["Authorization": "Bearer \(bob.token)", "If-None-Match": "*"],
            body: Array(document.json.text.utf8)
        ).answer()
        #expect(written.status == 200)
        #expect(try await alice.http("GET", "\(path)/documents/user").status == 200)
    }

    /// A group, a file and a call.
    private static func company(_ people: Conversation, _ book: SecretBook) async throws {
        let (alice, bob) = (people.alice, people.bob)
        let title = "a title for members alone"
        book.note("group's title", title)
        let made = try await alice.ask("group_create", ["title": title, "memberIds": [bob.id]]).expecting("group_event")
        let group = try #require(made.payload["group"]?["groupId"]?.string)
        let message = alice.groupMessage(to: bob.id, in: group)
        book.note("group message", message: message)
        try await alice.ask("group_send_message", message).expecting("message_accepted")

        let content = Keys.random(4_000)
        book.note("file", bytes: Array(content.prefix(100)))
        let presign = try await alice.presign(content.count)
        let url = try #require(presign.json["uploadUrl"]?.string)
        let key = try #require(presign.json["objectKey"]?.string)
        book.note("upload's signature", url.split(separator: "signature=").last.map(String.init))
        #expect(try await Phone.put(content, to: url).status == 200)
        let letter = alice.letter(to: bob, with: key, bytes: content.count)
        book.note("letter", message: letter)
        book.note("file's key", letter["attachment"]?.json["fileKeyBox"]?["ciphertext"]?.string)
        try await alice.send(letter).expecting("message_accepted")
        let download = try #require(try await bob.asksFor(key).json["downloadUrl"]?.string)
        book.note("download's signature", download.split(separator: "signature=").last.map(String.init))
        #expect(try await HTTPCall("GET", download).answer().body == content)

        let relays = try await alice.ask("get_turn_credentials").expecting("turn_credentials").payload
        book.note("relay's credential", relays["credential"]?.string)
        let call = newUUID()
        let initiate = alice.callFields("call_initiate", call, to: bob.id, ["isVideo": false])
        book.note("call", message: initiate)
        alice.client.send("call_initiate", initiate, requestID: "ring")
        try await bob.gets("call_incoming", call)
        let (answer, candidate) = (
            bob.callFields("call_answer", call, to: alice.id), bob.callFields("call_ice_candidate", call, to: alice.id)
        )
        for (type, fields) in [("call_answer", answer), ("call_ice_candidate", candidate)] {
            book.note(type, message: fields)
            bob.client.send(type, fields)
            try await alice.gets(type, call)
        }
        let end = alice.callFields("call_end", call, to: bob.id, ["reason": "ended"])
        book.note("call's end", message: end)
        alice.client.send("call_end", end)
        try await bob.gets("call_end", call)
    }

    private static func login(gateway: Int, _ book: SecretBook) async throws -> Phone {
        let (signSeed, encSeed) = (Keys.random(32), Keys.random(32))
        let person = Person(keys: Keys(signSeed: signSeed, encSeed: encSeed))
        book.note("private signing key", bytes: signSeed)
        book.note("private encryption key", bytes: encSeed)
        book.note("signing key", bytes: person.keys.signPublicKey)
        book.note("encryption key", bytes: person.keys.encPublicKey)
        let client = try await Cluster.client(gateway: gateway)
        let challenge = try await client.ask("register_begin", person.begin()).expecting("register_challenge")
        book.note("challenge", challenge.payload["challenge"]?.string.map { String($0.suffix(24)) })
        let token = "push-\(newUUID())"
        book.note("push token", token)
        let proof = person.proof(of: challenge.payload).with(["pushToken": token])
        book.note("proof", proof["signature"]?.json.string)
        let ack = try await client.ask("register_proof", proof).expecting("register_ack")
        let phone = Phone(
            client: client, person: person, id: try #require(ack.payload["whisperId"]?.string),
            token: try #require(ack.payload["sessionToken"]?.string))
        book.note("session token", phone.token)
        return phone
    }

    /// Everything that goes wrong.
    private static func mistakes(_ people: Conversation, _ book: SecretBook) async throws {
        let (alice, bob) = (people.alice, people.bob)
        // A token where none belongs, or a wrong one.
        let stray = Keys.random(32).base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        book.note("stray token", stray)
        #expect(try await alice.ask("fetch_pending", ["sessionToken": stray]).errorCode == "NOT_REGISTERED")
        #expect(try await alice.ask("fetch_pending", ["cursor": stray]).errorCode == "INVALID_PAYLOAD")
        #expect(try await alice.ask(stray, ["sessionToken": alice.token]).errorCode == "INVALID_PAYLOAD")
        #expect(try await alice.ask("update_tokens", ["pushToken": ["x": stray]]).errorCode == "INVALID_PAYLOAD")
        alice.client.send(
            text: #"{"type":"send_message","payload":{"sessionToken":"\#(stray)","ciphertext":"\#(stray)""#)
        #expect(try await alice.client.next("error").errorCode == "INVALID_PAYLOAD")
        // A wrong signature, a wrong time, a wrong recipient, an id used twice.
        for change in [
            ["sig": Keys.random(64).base64], ["timestamp": nowMilliseconds() - 3_600_000], ["to": "WSP-AAAA-AAAA-AAAA"],
            ["from": bob.id], ["nonce": Keys.random(23).base64],
        ] as [Fields] {
            var message = alice.message(to: bob.id) { $0 = $0.with(change.filter { $0.key != "sig" }) }
            message = message.with(change.filter { $0.key == "sig" })
            book.note("refused message", message: message)
            #expect(try await alice.send(message).type == "error", "\(change)")
        }
        let client = try await Cluster.client()
        let challenge = try await client.ask("register_begin", alice.person.begin()).expecting("register_challenge")
        let proof = alice.person.proof(of: challenge.payload).with(["signature": Keys.random(64).base64])
        book.note("wrong proof", proof["signature"]?.json.string)
        #expect(try await client.ask("register_proof", proof).errorCode == "AUTH_FAILED")
        // HTTP, with a token in every place where one can be put.
        let port = Cluster.stack.ports.public
        for (path, authorization) in [
            ("/users/\(bob.id)/keys", "Bearer \(stray)"), ("/users/\(bob.id)/keys", "Basic \(stray)"),
            ("/users/\(bob.id)/keys", stray), ("/backup/contacts", "Bearer \(stray)"),
        ] {
            #expect(
                await LoopbackRequest.get(path, port: port, headers: ["Authorization": authorization])?.status == 401)
        }
        let body = #"{"protocolVersion":2,"cryptoVersion":1,"nonce":"\#(stray)","ciphertext":"\#(stray)"}"#
        let answer = await LoopbackRequest.http(
            "PUT", "/backup/contacts", port: port, headers: ["Authorization": "Bearer \(alice.token)"], body: body)
        #expect(answer?.status == 400)
    }

    /// Reports, bans, and operators with wrong tokens.
    private static func abuse(_ people: Conversation, _ book: SecretBook) async throws {
        let mallory = try await self.login(gateway: 1, book)
        let letter = mallory.message(to: people.alice.id)
        book.note("reported message", message: letter)
        try await mallory.send(letter).expecting("message_accepted")
        let evidence = try await people.alice.received(letter["messageId"]!.json.string!).payload
        let note = "a note that is nobody's business"
        book.note("note", note)
        let report: Fields = ["targetId": mallory.id, "reason": "abuse", "note": note, "evidence": evidence]
        let id = try #require(
            try await people.alice.ask("report", report).expecting("report_ack").payload["reportId"]?.string)
        let forged = report.with([
            "evidence": JSON.object(evidence.members.merging(["sig": .string(Keys.random(64).base64)]) { $1 })
        ])
        #expect(try await people.alice.ask("report", forged).errorCode == "INVALID_PAYLOAD")

        let configuration = Cluster.stack.configuration
        book.note("operators' token", configuration.adminToken)
        book.note("viewers' token", configuration.viewerToken)
        book.note("wrong admin token", configuration.adminToken.reversed().map { String($0) }.joined())
        let wrong = String(configuration.adminToken.reversed())
        #expect(try await Operators.get("/admin/stats", token: wrong).is(401, "NOT_REGISTERED"))
        #expect(
            try await Operators.post(
                "/admin/ban", ["whisperId": mallory.id, "reason": note], token: configuration.viewerToken
            ).status == 403)
        for path in ["stats", "reports", "bans", "audit", "messages/\(newUUID())"] {
            _ = try await Operators.get("/admin/\(path)")
        }
        try await Operators.post("/admin/reports/\(id)/review", ["decision": "ban", "note": note]).expectSuccess()
        #expect(try await mallory.client.end().code == 4003)
        #expect(
            try await Cluster.client().ask("register_begin", mallory.person.begin(as: mallory.id)).errorCode
                == "USER_BANNED")
        #expect(try await Cluster.reconnected(mallory).ask("fetch_pending").errorCode == "USER_BANNED")
        try await Operators.unban(mallory)
    }

    /// Servers that go away while something is under way. Operators are kept out meanwhile.
    private static func outage(_ people: Conversation, _ book: SecretBook) async throws {
        let stack = Cluster.stack
        let message = people.alice.message(to: people.bob.id)
        book.note("message in an outage", message: message)
        await stack.kill(.redis)
        _ = try? await people.alice.client.ask(
            "send_message", people.alice.privileges.with(message), within: .seconds(2))
        try await Self.expectClosedDoor()
        try await Self.restart(.redis)
        await stack.kill(.postgres)
        _ = try? await people.alice.client.ask(
            "send_message", people.alice.privileges.with(message), within: .seconds(2))
        _ = await LoopbackRequest.get(
            "/users/\(people.bob.id)/keys", port: stack.ports.public,
            headers: ["Authorization": "Bearer \(people.alice.token)"])
        try await Self.expectClosedDoor()
        try await Self.restart(.postgres)
        try await Cluster.calm()
    }

    /// By the service itself, or by the balancer, which has noticed that it is not ready.
    private static func expectClosedDoor() async throws {
        let answer = try await Operators.get("/admin/stats")
        #expect(answer.is(500, "INTERNAL_ERROR") || answer.is(503, "INTERNAL_ERROR"), "\(answer)")
        let direct = await LoopbackRequest.get(
            "/admin/stats", port: Cluster.stack.ports[.auth, 1]!.ops,
            headers: ["Authorization": "Bearer \(Cluster.stack.configuration.viewerToken)"])
        #expect(direct?.status == 500)
    }

    private static func restart(_ process: StackProcess) async throws {
        try await Cluster.stack.start(process)
        try await waitUntil("operators are let in again", within: .seconds(30), every: .milliseconds(100)) {
            try await Operators.get("/admin/stats").status == 200
        }
    }

    // MARK: Reading

    private func logs() throws -> [(name: String, text: String)] {
        let folder = Cluster.stack.folder + "/log"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(Set(names).isSuperset(of: Cluster.stack.processes.map { "\($0).log" }))
        return try names.map { name in
            (name, String(decoding: try Data(contentsOf: URL(filePath: "\(folder)/\(name)")), as: UTF8.self))
        }
    }

    /// The lines of all instances of a service, or of one, that name this id.
    private func lines(of service: String, about id: String) throws -> [JSON] {
        try self.logs().filter { $0.name.hasPrefix(service) }.flatMap { log in
            log.text.split(separator: "\n").filter { $0.contains(id) }.compactMap { try? JSON(parsing: Array($0.utf8)) }
        }
    }
}
