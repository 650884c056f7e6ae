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
            "GET /ws HTTP/1.1", "UPGRADE:WebSocket", "connection:  keep-alive, UPGRADE \t", "sec-websocket-KEY:\(key)",
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
        #expect(try purpose(good + ["Sec-WebSocket-Version: 13"]) == .badUpgrade)
    }

    @Test(arguments: [
        ("Upgrade:", nil), ("Upgrade:", "Upgrade: h2c"), ("Connection:", nil),
        ("Connection:", "Connection: keep-alive"),
        ("Sec-WebSocket-Version:", nil), ("Sec-WebSocket-Version:", "Sec-WebSocket-Version: 12"),
        ("Sec-WebSocket-Version:", "Sec-WebSocket-Version: 013"), ("Sec-WebSocket-Key:", nil),
        ("Sec-WebSocket-Key:", "Sec-WebSocket-Key: short"),
        ("Sec-WebSocket-Key:", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAAAA"),
        ("Sec-WebSocket-Key:", "Sec-WebSocket-Key: !!!!!!!!!!!!!!!!!!!!!!=="),
        ("Sec-WebSocket-Key:", "Sec-WebSocket-Key:"),
    ])
    func anIncompleteUpgradeIsABadOne(header: String, replacement: String?) throws {
        let lines = good.filter { !$0.hasPrefix(header) } + [replacement].compactMap { $0 }
        #expect(try purpose(lines) == .badUpgrade)
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
        let overhead = head(["GET /health HTTP/1.1", "X: "]).utf8.count
        func health(_ bytes: Int) -> String {
            head(["GET /health HTTP/1.1", "X: " + String(repeating: "x", count: bytes - overhead)])
        }
        #expect(try request(health(UpgradeRequest.bytesMax)) != nil)
        #expect(throws: UpgradeRequest.Malformed.tooLong) { try request(health(UpgradeRequest.bytesMax + 1)) }
        // Endless, without an end of head.
        #expect(throws: UpgradeRequest.Malformed.tooLong) {
            try request(String(repeating: "x", count: UpgradeRequest.bytesMax + 1))
        }
        #expect(try request(String(repeating: "x", count: UpgradeRequest.bytesMax)) == nil)
    }

    @Test(arguments: UInt64(0)..<200)
    func rubbishNeverCrashes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = Array(head(good).utf8)
        for _ in 0..<5 { bytes[random.upTo(bytes.count)] = UInt8.random(in: .min ... .max, using: &random) }
        var buffer = ByteBuffer(bytes: bytes)
        _ = try? UpgradeRequest.parse(&buffer)?.purpose
    }
}
