import NIOCore
import Testing
import TestKit

@testable import GatewayCore

private let key = "dGhlIHNhbXBsZSBub25jZQ=="
private let good = [
    "GET /ws HTTP/1.1", "Host: example", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: \(key)",
    "Sec-WebSocket-Version: 13",
]

private func head(_ lines: [String]) -> String { lines.joined(separator: "\r\n") + "\r\n\r\n" }

private func request(_ text: String) throws(UpgradeRequest.Malformed) -> UpgradeRequest? {
    var buffer = ByteBuffer(string: text)
    return try UpgradeRequest.parse(&buffer)
}

private func purpose(_ lines: [String]) throws -> UpgradeRequest.Purpose {
    try #require(try request(head(lines))).purpose
}

@Suite struct UpgradeRequestTests {
    @Test func aWebSocketUpgradeIsRecognised() throws {
        #expect(try purpose(good) == .webSocket(key: key))
        #expect(try purpose(good.map { $0 == good[0] ? "GET /ws?x=1 HTTP/1.1" : $0 }) == .webSocket(key: key))
    }

    /// RFC 6455 §4.2.1: HTTP/1.1 or higher.
    @Test func anOldHTTPKnowsNoUpgrade() throws {
        #expect(try purpose(good.map { $0 == good[0] ? "GET /ws HTTP/1.0" : $0 }) == .badUpgrade)
    }

    @Test func headersMayBeSpelledInAnyCaseAndSpacing() throws {
        let lines = [
            "GET /ws HTTP/1.1", "HOST:example", "UPGRADE:WebSocket", "connection:  keep-alive, UPGRADE \t",
            "sec-websocket-KEY:\(key)",
            "Sec-Websocket-Version:\t13",
        ]
        #expect(try purpose(lines) == .webSocket(key: key))
    }

    @Test func aHeaderGivenTwiceKeepsBothValues() throws {
        let lines = good.filter { !$0.hasPrefix("Connection") } + ["Connection: keep-alive", "Connection: Upgrade"]
        #expect(try purpose(lines) == .webSocket(key: key))
        #expect(
            try request(head(good + ["X-Forwarded-For: 1.1.1.1", "x-forwarded-for: 2.2.2.2"]))?.headers[
                "x-forwarded-for"] == "1.1.1.1, 2.2.2.2")
        #expect(try purpose(good + ["Sec-WebSocket-Key: \(key)"]) == .badUpgrade)
        #expect(try purpose(good + ["Sec-WebSocket-Version: 13"]) == .otherVersion)
    }

    @Test(arguments: [
        ("Upgrade:", nil), ("Upgrade:", "Upgrade: h2c"), ("Connection:", nil),
        ("Connection:", "Connection: keep-alive"),
        ("Sec-WebSocket-Version:", nil), ("Sec-WebSocket-Key:", nil),
        ("Sec-WebSocket-Key:", "Sec-WebSocket-Key: short"),
        ("Sec-WebSocket-Key:", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAAAA"),
        ("Sec-WebSocket-Key:", "Sec-WebSocket-Key: !!!!!!!!!!!!!!!!!!!!!!=="),
        ("Sec-WebSocket-Key:", "Sec-WebSocket-Key:"),
    ])
    func anIncompleteUpgradeIsABadOne(header: String, replacement: String?) throws {
        let lines = good.filter { !$0.hasPrefix(header) } + [replacement].compactMap { $0 }
        #expect(try purpose(lines) == .badUpgrade)
    }

    /// RFC 6455 §4.4.
    @Test(arguments: ["12", "013", "8, 13", "14", ""]) func anotherVersionIsToldWhichOneIsSpoken(version: String) throws
    {
        let lines = good.map { $0.hasPrefix("Sec-WebSocket-Version") ? "Sec-WebSocket-Version: \(version)" : $0 }
        #expect(try purpose(lines) == .otherVersion)
    }

    /// It would be read as the client's first frames.
    @Test(arguments: ["Content-Length: 6", "Transfer-Encoding: chunked", "Content-Length: 0, 0"])
    func anUpgradeHasNoBody(header: String) throws {
        #expect(try purpose(good + [header]) == .badUpgrade)
        #expect(try purpose(good + ["Content-Length: 0"]) == .webSocket(key: key))
    }

    /// RFC 9112 §3.2.2, §2.3.
    @Test(arguments: [
        "GET http://example/ws HTTP/1.1", "GET HTTPS://example:443/ws?a=/b HTTP/1.1", "GET /ws HTTP/1.2",
    ])
    func atTheAbsolutePlaceAndInALaterHTTPItIsTheSame(start: String) throws {
        #expect(try purpose([start] + good.dropFirst()) == .webSocket(key: key))
    }

    /// RFC 9112 §3.2.
    @Test func aRequestNamesOneHost() throws {
        for host in [[], ["Host: a", "Host: a"], ["Host: a b"], ["Host: a/b"], ["Host: a@b"], ["Host: a, b"]] {
            #expect(throws: UpgradeRequest.Malformed.malformed) { try request(head(["GET /health HTTP/1.1"] + host)) }
        }
        for host in ["Host: a.example:8080", "Host:", "Host: [::1]:80"] {
            #expect(try purpose(["GET /health HTTP/1.1", host]) == .health)
        }
        #expect(try purpose(["GET /health HTTP/1.0"]) == .health)
    }

    /// RFC 9112 §2.2, RFC 9110 §5.5: another server on the way might read another request.
    @Test(arguments: ["a\rb", "a\nb", "a\0b", "a\u{1}b", "a\u{7F}b"]) func aLineHoldsNoControlCharacter(
        text: String
    ) throws {
        for lines in [
            ["GET /health HTTP/1.1", "Host: x", "X: \(text)"], ["GET /health HTTP/1.1", "Host: x", "\(text): x"],
            ["GET /\(text) HTTP/1.1", "Host: x"],
        ] {
            #expect(throws: UpgradeRequest.Malformed.malformed) { try request(head(lines)) }
        }
        #expect(try purpose(["GET /health HTTP/1.1", "Host: x", "X: a\tü"]) == .health)
    }

    @Test(arguments: [
        ("GET /health HTTP/1.1", UpgradeRequest.Purpose.health), ("GET /ready HTTP/1.0", .ready),
        ("GET / HTTP/1.1", .unknown),
        ("POST /health HTTP/1.1", .unknown), ("GET /health/ HTTP/1.1", .unknown), ("get /health HTTP/1.1", .unknown),
        ("GET /ws HTTP/1.1", .badUpgrade), ("POST /ws HTTP/1.1", .unknown),
    ])
    func pathsHaveTheirPurpose(start: String, purpose expected: UpgradeRequest.Purpose) throws {
        #expect(try purpose([start, "Host: x"]) == expected)
    }

    @Test(arguments: [
        ("GET /mail HTTP/1.1", UpgradeRequest.Purpose.mail(limit: 50, bytes: 262_144)),
        ("GET /mail? HTTP/1.1", .mail(limit: 50, bytes: 262_144)),
        ("GET /mail?x=1&limit=7&limits=0&bytes=9 HTTP/1.1", .mail(limit: 7, bytes: 9)),
        ("GET http://example/mail?limit=1 HTTP/1.1", .mail(limit: 1, bytes: 262_144)),
        ("GET /mail?limit=0 HTTP/1.1", .badParameter), ("GET /mail?bytes=1?limit=2 HTTP/1.1", .badParameter),
        ("POST /mail HTTP/1.1", .unknown), ("GET /mail/ HTTP/1.1", .unknown),
    ])
    func aLookAtMailNamesItsBounds(start: String, purpose expected: UpgradeRequest.Purpose) throws {
        #expect(try purpose([start, "Host: x"]) == expected)
    }

    @Test(arguments: [
        ("Authorization: Bearer abc", "abc"), ("authorization: BEARER   abc ", "abc"), ("Authorization: Bearer", nil),
        ("Authorization: Basic abc", nil), ("X: Bearer abc", nil),
    ])
    func aTokenStandsInItsHeader(header: String, token: String?) throws {
        let found = try #require(try request(head(["GET /mail HTTP/1.1", "Host: x", header])))
        #expect(found.bearerToken == token.map { Array($0.utf8) })
    }

    @Test func howTheBytesAreSplitDoesNotMatter() throws {
        let bytes = Array(head(good).utf8)
        let whole = try request(head(good))
        for split in 0..<bytes.count {
            var buffer = ByteBuffer(bytes: bytes[..<split])
            #expect(try UpgradeRequest.parse(&buffer) == nil)
            #expect(buffer.readableBytes == split)
            buffer.writeBytes(bytes[split...])
            #expect(try UpgradeRequest.parse(&buffer) == whole)
            #expect(buffer.readableBytes == 0)
        }
    }

    @Test func whatComesBehindTheHeadIsLeft() throws {
        var buffer = ByteBuffer(string: head(good) + "frame")
        #expect(try UpgradeRequest.parse(&buffer) != nil)
        #expect(String(buffer: buffer) == "frame")
    }

    @Test(arguments: [
        "\r\n\r\n", "GET\r\n\r\n", "GET /ws\r\n\r\n", "GET  /ws HTTP/1.1\r\n\r\n", "GET /ws HTTP/2\r\n\r\n",
        "GET ws HTTP/1.1\r\n\r\n",
        "GET /ws HTTP/1.1 \r\n\r\n", "GET /ws HTTP/1.1\r\nno colon\r\n\r\n", "GET /ws HTTP/1.1\r\n: empty\r\n\r\n",
        "GET /ws HTTP/1.1\r\nA : b\r\n\r\n", "GET /ws HTTP/1.1\r\nA: b\r\n folded: c\r\n\r\n",
        "GET /ws HTTP/1.1\nA: b\r\n\r\n",
    ])
    func whatIsNotHTTPIsMalformed(text: String) {
        #expect(throws: UpgradeRequest.Malformed.malformed) { try request(text) }
    }

    @Test func theHeadIsBounded() throws {
        let overhead = head(["GET /health HTTP/1.0", "X: "]).utf8.count
        func health(_ bytes: Int) -> String {
            head(["GET /health HTTP/1.0", "X: " + String(repeating: "x", count: bytes - overhead)])
        }
        #expect(try request(health(UpgradeRequest.bytesMax)) != nil)
        #expect(throws: UpgradeRequest.Malformed.tooLong) { try request(health(UpgradeRequest.bytesMax + 1)) }
        // Endless, without an end of head.
        #expect(throws: UpgradeRequest.Malformed.tooLong) {
            try request(String(repeating: "x", count: UpgradeRequest.bytesMax + 1))
        }
        #expect(try request(String(repeating: "x", count: UpgradeRequest.bytesMax)) == nil)
    }

    @Test(arguments: Prove.seeds(0..<200))
    func rubbishNeverCrashes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = Array(head(good).utf8)
        for _ in 0..<5 { bytes[random.upTo(bytes.count)] = UInt8.random(in: .min ... .max, using: &random) }
        var buffer = ByteBuffer(bytes: bytes)
        _ = try? UpgradeRequest.parse(&buffer)?.purpose
    }
}
