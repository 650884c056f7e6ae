import Contract
import ServerCrypto
import Testing

@testable import PushCore

/// Meanings of answers, and invalid tokens and addresses.
@Suite struct ProviderRuleTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)

    private func response(
        _ status: Int, _ body: String = "", _ headers: [(name: String, value: String)] = []
    ) -> HTTP2Response {
        HTTP2Response(status: status, headers: headers, body: Array(body.utf8))
    }

    private func apns(
        _ status: Int, _ reason: String = "x", _ headers: [(name: String, value: String)] = []
    ) -> PushAnswer {
        APNsRules.answer(self.response(status, #"{"reason":"\#(reason)"}"#, headers), sentAt: self.now)
    }

    @Test func applesAnswers() {
        #expect(self.apns(200) == .sent)
        #expect(self.apns(400, "BadDeviceToken") == .tokenGone(asOf: self.now))
        for reason in ["BadTopic", "DeviceTokenNotForTopic", "PayloadEmpty"] {
            #expect(self.apns(400, reason) == .refused)
        }
        #expect(self.apns(403, "ExpiredProviderToken") == .staleCredentials)
        #expect(self.apns(403, "InvalidProviderToken") == .later(.credentials, after: nil))
        #expect(self.apns(410, "Unregistered") == .tokenGone(asOf: self.now))
        let gone = self.response(410, #"{"reason":"Unregistered","timestamp":1699999990000}"#)
        #expect(
            APNsRules.answer(gone, sentAt: self.now) == .tokenGone(asOf: Timestamp(milliseconds: 1_699_999_990_000)))
        #expect(self.apns(413) == .refused)
        #expect(self.apns(429, "x", [("retry-after", "7")]) == .later(.throttled, after: .seconds(7)))
        // A time that is over.
        #expect(
            self.apns(503, "x", [("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT")]) == .later(.unavailable, after: nil))
        #expect(APNsRules.answer(self.response(400, "not json"), sentAt: self.now) == .refused)
    }

    @Test(
        arguments: [
            ("7", "", Duration.seconds(7)), ("0", "", .zero), ("1000000", "", .seconds(86_400)),
            ("Sat, 21 Nov 2026 10:01:30 GMT", "Sat, 21 Nov 2026 10:00:00 GMT", .seconds(90)),
            ("Sun, 01 Mar 2026 00:00:00 GMT", "Sat, 28 Feb 2026 23:59:59 GMT", .seconds(1)),
            ("Sat, 21 Nov 2099 10:00:00 GMT", "", .seconds(86_400)),
            ("Sat, 21 Nov 2026 10:00:00 GMT", "Sat, 21 Nov 2026 10:00:01 GMT", nil),
            ("-7", "", nil), ("soon", "", nil), ("", "", nil),
            ("Sat, 21 Nov 2026 10:00:00 CET", "Sat, 21 Nov 2026 09:00:00 GMT", nil),
            ("Sat, 21 Nov 2026", "", nil), ("99999999999999999999", "", nil),
        ] as [(String, String, Duration?)])
    func aServerSaysWhenToComeAgain(value: String, date: String, wait: Duration?) {
        #expect(self.response(429, "", [("retry-after", value), ("date", date)]).retryAfter == wait)
    }

    @Test func googlesAnswers() {
        func answer(_ status: Int, _ state: String, _ code: String, field: String = "") -> PushAnswer {
            let details =
                #"[{"@type":"a","errorCode":"\#(code)"},{"@type":"b","fieldViolations":[{"field":"\#(field)"}]}]"#
            let body = #"{"error":{"code":\#(status),"status":"\#(state)","details":\#(details)}}"#
            return FCMRules.answer(self.response(status, body), sentAt: self.now)
        }
        #expect(FCMRules.answer(self.response(200, "{}"), sentAt: self.now) == .sent)
        #expect(answer(404, "NOT_FOUND", "UNREGISTERED") == .tokenGone(asOf: self.now))
        #expect(
            answer(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field: "message.token") == .tokenGone(asOf: self.now))
        #expect(answer(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", field: "message.data") == .refused)
        #expect(answer(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH") == .refused)
        #expect(answer(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR") == .staleCredentials)
        #expect(answer(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED") == .later(.throttled, after: .seconds(60)))
        #expect(answer(503, "UNAVAILABLE", "UNAVAILABLE") == .later(.unavailable, after: nil))
    }

    @Test func webPushAnswers() {
        func answer(_ status: Int) -> PushAnswer { WebPushRules.answer(self.response(status), sentAt: self.now) }
        #expect([200, 201, 202, 204].allSatisfy { answer($0) == .sent })
        #expect([404, 410].allSatisfy { answer($0) == .tokenGone(asOf: self.now) })
        #expect(answer(413) == .refused && answer(429) == .later(.throttled, after: nil))
        #expect(answer(403) == .later(.credentials, after: nil))
    }

    @Test func aTokenIsNeverAPathOfItsOwn() {
        let push = Push(kind: .mail(isReminder: false), wakeID: .random(), expires: self.now)
        for token in ["", "a", "../x", "ab/cd", "zz", "ab?x", String(repeating: "a", count: 401)] {
            #expect(
                APNsRules(topic: "t").request(push, to: token, isVoIP: false, providerToken: "x", at: self.now) == nil,
                "\(token)")
        }
    }

    @Test func nothingInAPayloadButTheWakeIDAndItsKind() throws {
        let wake = UUIDText("7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21")!
        let push = Push(kind: .mail(isReminder: false), wakeID: wake, expires: self.now + .seconds(60))
        let request = try #require(
            APNsRules(topic: "t").request(push, to: "ab", isVoIP: false, providerToken: "x", at: self.now))
        #expect(
            String(decoding: request.body, as: UTF8.self)
                == #"{"aps":{"alert":{"loc-key":"WHISPER_NEW_MESSAGE"},"mutable-content":1,"sound":"default"},"w":{"wakeId":"\#(wake)","kind":"mail"}}"#
        )
        #expect(request.headers.contains { $0 == ("apns-expiration", "1700000060") })
    }

    /// In all three kinds of payload; and on a shared token no push takes the place of another identity's.
    @Test func aTagStandsBesideTheWakeID() throws {
        let wake = UUIDText("0F8FAD5B-d9cb-469f-a165-70867728950e")!
        var push = Push(kind: .mail(isReminder: false), wakeID: wake, expires: self.now + .seconds(60))
        push.tag = WakeSecret([UInt8](0..<16))?.tag(of: wake) { hmacSHA256(key: $0, $1).bytes }
        let facts = #"{"wakeId":"0f8fad5b-d9cb-469f-a165-70867728950e","kind":"mail","tag":"ov1gMzhV5YQ"}"#
        func apns() throws -> HTTP2Request {
            try #require(
                APNsRules(topic: "t").request(push, to: "ab", isVoIP: false, providerToken: "x", at: self.now))
        }
        func fcm() -> String {
            String(
                decoding: FCMRules(project: "p").request(push, to: "ab", accessToken: "x", at: self.now).body,
                as: UTF8.self)
        }
        #expect(String(decoding: try apns().body, as: UTF8.self).hasSuffix(#","w":\#(facts)}"#))
        #expect(try apns().headers.contains { $0 == ("apns-collapse-id", "mail") })
        #expect(fcm().contains(#""data":\#(facts)"#) && fcm().contains(#""collapse_key":"mail""#))
        // The JSON that Web Push seals.
        #expect(String(decoding: push.facts, as: UTF8.self) == facts)
        push.isShared = true
        #expect(try apns().headers.contains { $0 == ("apns-collapse-id", "0f8fad5b-d9cb-469f-a165-70867728950e") })
        #expect(!fcm().contains("collapse_key"))
    }

    @Test func providerTokensAreRenewedInTimeAndNotTooOften() {
        var life = ProviderTokenLife()
        #expect(life.isDue(at: self.now))
        life.made("a", at: self.now)
        #expect(!life.isDue(at: self.now + .seconds(39 * 60)) && life.isDue(at: self.now + .seconds(40 * 60)))
        #expect(life.isDue(at: self.now - .seconds(61)), "made in the future")
        #expect(!life.mayReplace("a", at: self.now + .seconds(19 * 60)))
        #expect(life.mayReplace("a", at: self.now + .seconds(20 * 60)))
        #expect(!life.mayReplace("b", at: self.now + .seconds(20 * 60)), "somebody has replaced it already")
    }

    @Test func accessTokensAreUsedForLessThanTheyLive() throws {
        let body = #"{"access_token":"t","expires_in":3600,"token_type":"Bearer"}"#
        let token = try #require(AccessToken(self.response(200, body), at: self.now))
        #expect(token.text == "t" && token.usedUntil == self.now + .seconds(3_300))
        for body in ["", "{}", #"{"access_token":"","expires_in":1}"#, #"{"access_token":"a\nb","expires_in":1}"#] {
            #expect(AccessToken(self.response(200, body), at: self.now) == nil)
        }
        #expect(AccessToken(self.response(400, body), at: self.now) == nil)
    }

    @Test(arguments: [
        ("https://example.org", "example.org", 443, "/"),
        ("https://Example.org:8443/a?b", "example.org", 8_443, "/a?b"),
        ("https://example.org?x", "example.org", 443, "/?x"),
    ])
    func addresses(text: String, host: String, port: Int, path: String) throws {
        let address = try #require(HTTPSAddress(text))
        #expect(address.host == host && address.port == port && address.path == path)
    }

    @Test(arguments: [
        "", "http://a", "https://", "https://a b", "https://u@a", "https://a#b", "https://a:0", "https://a:99999",
        "https://[::1]",
        "https://a\r\nx: y", "https://a\\b", "https://a:1:2", "https://ä",
    ])
    func whatIsNoAddress(text: String) { #expect(HTTPSAddress(text) == nil) }

    @Test func whatIsNoSubscription() {
        let keys =
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4.BTBZMqHH6r4Tts7J_aSIgg"
        #expect(WebPushSubscription("webpush:https://a/b#\(keys)") != nil)
        for token in [
            "webpush:", "webpush:https://a/b", "webpush:http://a/b#\(keys)", "https://a/b#\(keys)",
            "webpush:https://a/b#\(keys)A",
            "webpush:https://a/b#.\(keys)", "webpush:https://a/b#B\(keys)", "webpush:https://a/b#\(keys.dropLast(2))",
        ] { #expect(WebPushSubscription(token) == nil, "\(token)") }
        // 65 bytes that are no point.
        let zeros = Base64URL.encode([4] + [UInt8](repeating: 1, count: 64))
        #expect(WebPushSubscription("webpush:https://a/b#\(zeros).BTBZMqHH6r4Tts7J_aSIgg") == nil)
    }

    @Test(
        arguments: [
            ([8, 8, 8, 8], true), ([127, 0, 0, 1], false), ([10, 1, 2, 3], false), ([172, 16, 0, 1], false),
            ([172, 32, 0, 1], true),
            ([192, 168, 1, 1], false), ([169, 254, 169, 254], false), ([100, 64, 0, 1], false),
            ([224, 0, 0, 1], false),
            ([0, 0, 0, 0], false), ([255, 255, 255, 255], false),
        ] as [([UInt8], Bool)])
    func publicAddresses(address: [UInt8], isPublic: Bool) {
        #expect(PublicAddress.isPublic(v4: address) == isPublic)
        let mapped = [UInt8](repeating: 0, count: 10) + [255, 255] + address
        #expect(PublicAddress.isPublic(v6: mapped) == isPublic)
    }

    @Test func publicAddressesOfVersion6() {
        func v6(_ start: UInt8...) -> [UInt8] { start + [UInt8](repeating: 0, count: 15 - start.count) + [1] }
        #expect(PublicAddress.isPublic(v6: v6(0x26, 0x00)))
        for inside in [v6(0), v6(0xFE, 0x80), v6(0xFC), v6(0xFF, 2), v6(0x20, 0x01, 0x0D, 0xB8), v6(0x20, 0x02)] {
            #expect(!PublicAddress.isPublic(v6: inside))
        }
    }

    @Test func leavesOfJSON() throws {
        let json = try #require(JSONLeaves(Array(#"{"a":{"b":[{"c":"x"},{"c":2}]},"d":null,"e":"é\n"}"#.utf8)))
        #expect(json.all("a.b.c") == ["x", "2"] && json["d"] == nil && json["e"] == "é\n")
        for text in ["", "[]", "{", "{}x", #"{"a":}"#, String(repeating: #"{"a":"#, count: 100)] {
            #expect(JSONLeaves(Array(text.utf8)) == nil, "\(text.prefix(20))")
        }
    }
}
