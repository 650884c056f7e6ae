import Foundation
import LocalStack
import TestKit
import Testing

/// Two instances of each service that has one elsewhere and is asked over HTTP.
let pairsBehindBalancer: @Sendable (inout StackConfiguration) -> Void = {
    $0.instances[.auth] = 2
    $0.instances[.attachments] = 2
}

/// Contract §9, with files on disk and two instances of the service behind the balancer.
@Suite(.cluster(pairsBehindBalancer), .atATime(6)) struct AttachmentTests {
    @Test func aFileGoesFromItsSenderToItsRecipient() async throws {
        let (alice, bob, eve) = (try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone())
        let content = Keys.random(300_000)
        let before = nowMilliseconds()
        let presign = try await alice.presign(content.count)
        #expect(presign.status == 200)
        #expect(Set(presign.json.members.keys) == ["uploadUrl", "objectKey", "expiresAt", "headers"])
        #expect(presign.json["headers"] == .object(["Content-Type": .string("application/octet-stream")]))
        let life = try #require(presign.json["expiresAt"]?.integer) - before
        #expect((900_000...905_000).contains(life))
        let key = try #require(presign.json["objectKey"]?.string)
        #expect(key.wholeMatch(of: #/att/\d{4}/\d{2}/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.bin/#) != nil)
        #expect(try await Phone.put(content, to: presign.json["uploadUrl"]!.string!).status == 200)

        // Before the message nobody but the uploader has it.
        #expect(try await bob.asksFor(key).is(403, "FORBIDDEN"))
        let letter = alice.letter(to: bob, with: key, bytes: content.count)
        try await alice.send(letter).expecting("message_accepted")
        let received = try await bob.received(letter["messageId"]!.json.string!)
        #expect(received.payload["attachment"] == letter["attachment"]!.json)
        let answer = try await bob.asksFor(key)
        #expect(Set(answer.json.members.keys) == ["downloadUrl", "expiresAt"])
        #expect((300_000...310_000).contains(try #require(answer.json["expiresAt"]?.integer) - before))
        #expect(try await bob.download(key) == content)
        #expect(try await alice.download(key) == content)
        #expect(try await eve.asksFor(key).is(403, "FORBIDDEN"))
        // The slashes of a key may be written both ways.
        for form in [
            key.replacing("/", with: "%2F"), key.replacing("/", with: "%2f"), key.replacing("att/", with: "att%2F"),
        ] {
            #expect(try await bob.asksFor(form).status == 200, "\(form)")
        }
    }

    @Test func aMessagePointsOnlyToItsSendersOwnObject() async throws {
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        let key = try await alice.upload(Keys.random(10))
        let stolen = bob.letter(to: alice, with: key)
        #expect(try await bob.send(stolen).errorCode == "FORBIDDEN")
        let made = "att/2026/01/\(newUUID()).bin"
        for unknown in [made, "x", "att/../../etc/passwd", key + "x", key.uppercased()] {
            #expect(try await alice.send(alice.letter(to: bob, with: unknown)).errorCode == "NOT_FOUND", "\(unknown)")
        }
        // Nothing of it has arrived, and nobody got a link by trying.
        #expect(try await alice.pending().isEmpty)
        #expect(try await bob.pending().isEmpty)
        #expect(try await bob.asksFor(key).is(403, "FORBIDDEN"))
        // The same message with its own object is another story, and repeating it changes nothing.
        let letter = alice.letter(to: bob, with: key)
        for _ in 1...2 { try await alice.send(letter).expecting("message_accepted") }
        #expect(try await bob.download(key).count == 10)
        // A refusal for another reason links nobody.
        let late = alice.signed(
            alice.letter(to: bob, with: try await alice.upload(Keys.random(3))).with(["timestamp": 1]))
        #expect(try await alice.send(late).errorCode == "INVALID_TIMESTAMP")
        #expect(
            try await bob.asksFor(late["attachment"]!.json["objectKey"]!.string!).is(403, "FORBIDDEN"))
    }

    @Test func everyMemberOfAGroupGetsItsOwnLink() async throws {
        let people = [
            try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone(), try await Cluster.phone(),
        ]
        let alice = people[0]
        let created = try await alice.ask("group_create", ["title": "g", "memberIds": people.dropFirst().map(\.id)])
            .expecting("group_event")
        let group = try #require(created.payload["group"]?["groupId"]?.string)
        let content = Keys.random(1_000)
        let key = try await alice.upload(content)
        for member in people[1...2] {
            let plain = alice.letter(to: member, with: key).with(["groupId": group])
            let names = ["messageId", "from", "groupId", "timestamp", "nonce", "ciphertext"]
            let lines =
                ["v1", "group_send_message"] + names.map { plain[$0]?.json.string ?? plain[$0]?.json.text ?? "" }
            let signature = alice.person.keys.sign(Keys.sha256(Array(lines.map { $0 + "\n" }.joined().utf8))).base64
            try await alice.ask("group_send_message", plain.with(["sig": signature])).expecting("message_accepted")
            #expect(try await member.download(key) == content)
        }
        #expect(try await people[3].asksFor(key).is(403, "FORBIDDEN"))
    }

    @Test func onlyALiveSessionIsServed() async throws {
        let alice = try await Cluster.phone()
        let key = try await alice.upload(Keys.random(10))
        for token in ["", "x", String(repeating: "A", count: 43)] {
            #expect(try await alice.http("GET", "/attachments/\(key)/download", token: token).is(401, "NOT_REGISTERED"))
            #expect(try await alice.http("POST", "/attachments/presign", [:], token: token).is(401, "NOT_REGISTERED"))
        }
        let elsewhere = try await Cluster.phone(alice.person.onAnotherDevice())
        #expect(try await alice.asksFor(key).is(401, "NOT_REGISTERED"))
        #expect(try await elsewhere.asksFor(key).status == 200)
        try await Operators.ban(elsewhere)
        #expect(try await elsewhere.asksFor(key).is(403, "USER_BANNED"))
        try await Operators.unban(elsewhere)
        #expect(try await elsewhere.asksFor(key).status == 200)
    }

    /// Contract §4: a refreshed token ends with the first use of its successor, and this is one.
    @Test func theFirstUseOfANewTokenEndsTheOldOne() async throws {
        var alice = try await Cluster.phone()
        let old = alice.token
        let key = try await alice.upload(Keys.random(10))
        alice.token = try #require(
            try await alice.ask("session_refresh").expecting("session_refresh_ack").payload["sessionToken"]?.string)
        #expect(try await alice.http("GET", "/attachments/\(key)/download", token: old).status == 200)
        #expect(try await alice.asksFor(key).status == 200)
        try await waitUntil("the old token has ended", within: .seconds(10)) {
            try await alice.http("GET", "/attachments/\(key)/download", token: old).status == 401
        }
    }

    @Test func whatIsNoPresignIsRefused() async throws {
        let alice = try await Cluster.phone()
        let valid: Fields = ["contentType": "image/png", "sizeBytes": 10, "purpose": "message_attachment"]
        for fields in [
            [:], valid.without("contentType"), valid.without("sizeBytes"), valid.without("purpose"),
            valid.with(["sizeBytes": 0]), valid.with(["sizeBytes": -1]), valid.with(["sizeBytes": "10"]),
            valid.with(["sizeBytes": 1.5]), valid.with(["contentType": ""]), valid.with(["purpose": "avatar"]),
            valid.with(["contentType": String(repeating: "x", count: 101)]), valid.with(["multipart": "yes"]),
        ] as [Fields] {
            #expect(
                try await alice.http("POST", "/attachments/presign", fields).is(400, "INVALID_PAYLOAD"), "\(fields)")
        }
        for (type, size) in [("image/png", 15_000_000), ("audio/ogg", 25_000_000), ("video/mp4", 50_000_000)] {
            #expect(try await alice.presign(size, contentType: type).status == 200)
            #expect(try await alice.presign(size + 1, contentType: type).is(413, "INVALID_PAYLOAD"))
        }
        for path in [
            "/attachments/", "/attachments/x", "/attachments/x/y", "/attachments/blobs/x", "/attachments/%zz/download",
        ] {
            #expect(try await alice.http("GET", path).is(404, "NOT_FOUND"), "\(path)")
        }
        #expect(try await alice.http("GET", "/attachments/att/2026/01/\(newUUID()).bin/download").is(404, "NOT_FOUND"))
    }

    @Test func anUploadURLAllowsThatUploadAlone() async throws {
        let alice = try await Cluster.phone()
        let presign = try await alice.presign(10)
        let (url, key) = (presign.json["uploadUrl"]!.string!, presign.json["objectKey"]!.string!)
        let octets = ["Content-Type": "application/octet-stream"]
        let content = Keys.random(10)
        for (call, status) in [
            (HTTPCall("PUT", url, headers: octets, body: content + [1]), 400),
            (HTTPCall("PUT", url, headers: octets, body: Array(content.dropLast())), 400),
            (HTTPCall("PUT", url, headers: ["Content-Type": "image/jpeg"], body: content), 400),
            (HTTPCall("PUT", url, body: content), 400),
            (
                HTTPCall(
                    "PUT", url, headers: octets.merging(["Transfer-Encoding": "chunked"]) { $1 },
                    body: Array("a\r\n0123456789\r\n0\r\n\r\n".utf8)), 411
            ),
            (HTTPCall("GET", url), 403), (HTTPCall("POST", url, headers: octets, body: content), 403),
            (HTTPCall("PUT", url.replacing("size=10", with: "size=11"), headers: octets, body: content + [1]), 403),
            (HTTPCall("PUT", url.replacing("expires=", with: "expires=9"), headers: octets, body: content), 403),
            (HTTPCall("PUT", String(url.prefix { $0 != "?" }), headers: octets, body: content), 403),
            (
                HTTPCall(
                    "PUT", url.replacing(key, with: "att/2026/01/\(newUUID()).bin"), headers: octets, body: content),
                403
            ),
            (HTTPCall("PUT", url.replacing(key, with: "att/2026/../../x"), headers: octets, body: content), 404),
        ] as [(HTTPCall, Int)] {
            #expect(try await call.answer().status == status, "\(call.method) \(call.headers) \(call.target)")
        }
        var broken = HTTPCall("PUT", url, headers: octets, body: content)
        broken.breakingAfter = 5
        await #expect(throws: HTTPCall.Failed.self) { try await broken.answer() }
        // Nothing of all that is kept.
        let download = try #require(try await alice.asksFor(key).json["downloadUrl"]?.string)
        #expect(try await HTTPCall("GET", download).answer().is(404, "NOT_FOUND"))
        // An answer that got lost may be asked for again.
        for _ in 1...2 { #expect(try await Phone.put(content, to: url).status == 200) }
        #expect(try await HTTPCall("GET", download).answer().body == content)
        #expect(try await Phone.put(content, to: download).status == 403)
        #expect(try await HTTPCall("DELETE", download).answer().status == 404)
    }

    @Test func partsOfAFileCanBeHad() async throws {
        let alice = try await Cluster.phone()
        let content = Keys.random(700_000)
        let key = try await alice.upload(content)
        let url = try #require(try await alice.asksFor(key).json["downloadUrl"]?.string)
        let whole = try await HTTPCall("GET", url).answer()
        let tag = try #require(whole.headers["etag"])
        #expect(whole.status == 200 && whole.body == content && whole.headers["accept-ranges"] == "bytes")
        #expect(whole.headers["content-type"] == "application/octet-stream" && tag.hasPrefix("\""))
        func get(_ range: String, ifRange: String? = nil) async throws -> HTTPCall.Answer {
            var headers = ["Range": range]
            headers["If-Range"] = ifRange
            return try await HTTPCall("GET", url, headers: headers).answer()
        }
        for (range, bytes) in [
            ("bytes=0-0", 0...0), ("bytes=131071-131073", 131_071...131_073), ("bytes=699999-", 699_999...699_999),
            ("bytes=-5", 699_995...699_999), ("bytes=5-9999999", 5...699_999),
        ] as [(String, ClosedRange<Int>)] {
            let part = try await get(range)
            #expect(part.status == 206 && part.body == Array(content[bytes]), "\(range)")
            #expect(part.headers["content-range"] == "bytes \(bytes.lowerBound)-\(bytes.upperBound)/700000")
        }
        let beyond = try await get("bytes=700000-")
        #expect(beyond.status == 416 && beyond.headers["content-range"] == "bytes */700000" && beyond.body.isEmpty)
        #expect(try await get("bytes=0-1,4-5").body == content)
        #expect(try await get("bytes=1-2", ifRange: tag).status == 206)
        #expect(try await get("bytes=1-2", ifRange: "\"another\"").body == content)
        let head = try await HTTPCall("HEAD", url).answer()
        #expect(
            head.status == 200 && head.body.isEmpty && head.headers["content-length"] == "700000"
                && head.headers["etag"] == tag)
    }

    @Test func aBrokenUploadGoesOn() async throws {
        let (alice, bob) = (try await Cluster.phone(), try await Cluster.phone())
        let size = 2 * 5_242_880 + 77
        let content = Keys.random(size)
        func slice(_ part: JSON) -> [UInt8] {
            let start = Int(part["number"]!.integer! - 1) * 5_242_880
            return Array(content[start..<(start + Int(part["sizeBytes"]!.integer!))])
        }
        let presign = try await alice.presign(size, contentType: "video/mp4", more: ["multipart": true])
        let key = try #require(presign.json["objectKey"]?.string)
        let parts = presign.json["multipart"]?["parts"]?.elements ?? []
        #expect(
            parts.compactMap { $0["number"]?.integer } == [1, 2, 3]
                && presign.json["multipart"]?["partBytes"]?.integer == 5_242_880)
        #expect(try await alice.http("POST", "/attachments/\(key)/complete").is(400, "INVALID_PAYLOAD"))
        // In any order, to any instance, and one breaks.
        for (index, instance) in [(2, 1), (0, 2)] {
            let url = parts[index]["uploadUrl"]!.string!.replacing(
                ":\(Cluster.stack.ports.public)/", with: ":\(Cluster.stack.ports[.attachments, instance]!.http!)/")
            #expect(try await Phone.put(slice(parts[index]), to: url).status == 200)
        }
        var broken = HTTPCall(
            "PUT", parts[1]["uploadUrl"]!.string!, headers: ["Content-Type": "application/octet-stream"],
            body: slice(parts[1]))
        broken.breakingAfter = 3_000_000
        await #expect(throws: HTTPCall.Failed.self) { try await broken.answer() }
        #expect(try await Phone.put(slice(parts[1]).dropLast(), to: parts[1]["uploadUrl"]!.string!).status == 400)

        #expect(try await bob.http("POST", "/attachments/\(key)/parts").is(403, "FORBIDDEN"))
        #expect(try await bob.http("POST", "/attachments/\(key)/complete").is(403, "FORBIDDEN"))
        let progress = try await alice.http("POST", "/attachments/\(key)/parts")
        #expect(progress.json["received"] == .array([.integer(1), .integer(3)]))
        let missing = progress.json["parts"]?.elements ?? []
        #expect(missing.count == 1 && missing[0]["number"]?.integer == 2)
        #expect(try await alice.http("POST", "/attachments/\(key)/complete").is(400, "INVALID_PAYLOAD"))
        #expect(try await Phone.put(slice(missing[0]), to: missing[0]["uploadUrl"]!.string!).status == 200)
        for _ in 1...2 {
            let complete = try await alice.http("POST", "/attachments/\(key)/complete")
            #expect(complete.status == 200 && complete.json["sizeBytes"]?.integer == Int64(size))
        }
        #expect(try await alice.http("POST", "/attachments/\(key)/parts").is(400, "INVALID_PAYLOAD"))
        try await alice.send(alice.letter(to: bob, with: key)).expecting("message_accepted")
        #expect(try await bob.download(key) == content)
        #expect(try await alice.http("POST", "/attachments/att/2026/01/\(newUUID()).bin/parts").is(404, "NOT_FOUND"))
    }

    @Test func aSingleUploadMayBeConfirmed() async throws {
        let alice = try await Cluster.phone()
        let presign = try await alice.presign(10)
        let key = presign.json["objectKey"]!.string!
        #expect(try await alice.http("POST", "/attachments/\(key)/complete").is(400, "INVALID_PAYLOAD"))
        #expect(try await Phone.put(Keys.random(10), to: presign.json["uploadUrl"]!.string!).status == 200)
        #expect(try await alice.http("POST", "/attachments/\(key)/complete").status == 200)
        #expect(try await alice.http("POST", "/attachments/\(key)/parts").is(400, "INVALID_PAYLOAD"))
    }

    @Test func aLargeFileTakesNoMemory() async throws {
        let alice = try await Cluster.phone()
        let content = Keys.random(50_000_000)
        let before = try await self.memory()
        let presign = try await alice.presign(content.count, contentType: "video/mp4")
        let clock = ContinuousClock()
        var status = 0
        let up = try await clock.measure {
            status = try await Phone.put(content, to: presign.json["uploadUrl"]!.string!).status
        }
        #expect(status == 200)
        var down: Duration = .zero
        for _ in 1...3 {
            var received: [UInt8] = []
            down = try await clock.measure { received = try await alice.download(presign.json["objectKey"]!.string!) }
            #expect(received == content)
        }
        let growth = try await self.memory() - before
        print("measured: 50 MB up in \(up), down in \(down); memory of attachments grew by \(growth / 1_048_576) MiB")
        #expect(growth < 24 * 1_048_576)
    }

    /// Resident bytes of both instances.
    private func memory() async throws -> Int {
        var bytes = 0
        for number in 1...2 {
            let pid = try #require(await Cluster.stack.pid(of: .attachments(number)))
            let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
            bytes +=
                try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }) * 1_024
        }
        return bytes
    }

    @Test func operatorsSeeHowMuchThereIs() async throws {
        let alice = try await Cluster.phone()
        let before = try await Operators.get("/admin/stats").body["attachments"]
        _ = try await alice.upload(Keys.random(4_321))
        try await waitUntil("the statistics have it", within: .seconds(30)) {
            let now = try await Operators.get("/admin/stats").body["attachments"]
            return now!["count"]!.integer! > before!["count"]!.integer!
                && now!["bytes"]!.integer! >= before!["bytes"]!.integer! + 4_321
        }
    }
}
