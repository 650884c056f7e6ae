import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §2, §3 and §13: what a connection takes and what ends it.
    @Suite struct ProtocolEdges {
        // MARK: What closes

        @Test func aBinaryMessageCloses() async throws {
            let client = try await Cluster.client()
            client.send(raw: ClientFraming.frame(.binary, Array(#"{"type":"ping","payload":{}}"#.utf8)))
            #expect(try await client.end().code == 1003)
        }

        @Test(
            arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]] as [[UInt8]])
        func textThatIsNotUTF8Closes(bytes: [UInt8]) async throws {
            let client = try await Cluster.client()
            let text = Array(#"{"type":"ping","payload":{"x":""#.utf8) + bytes + Array(#""}}"#.utf8)
            client.send(raw: ClientFraming.frame(.text, text))
            #expect(try await client.end().code == 1007)
        }

        @Test func aMessageHasUpTo512000Bytes() async throws {
            let client = try await Cluster.client()
            let ping = #"{"type":"ping","payload":{}}"#
            let padding = String(repeating: " ", count: 512_000 - ping.utf8.count)
            client.send(text: ping + padding)
            _ = try await client.next("pong")
            client.send(text: ping + padding + " ")
            #expect(try await client.end().code == 1009)
        }

        @Test func fragmentsThatAreTooLargeTogetherClose() async throws {
            let client = try await Cluster.client()
            let part = [UInt8](repeating: 0x20, count: 256_001)
            client.send(
                raw: ClientFraming.frame(.text, part, isFinal: false) + ClientFraming.frame(.continuation, part))
            #expect(try await client.end().code == 1009)
        }

        @Test func aMessageMayComeInFragments() async throws {
            let client = try await Cluster.client()
            let text = Array(#"{"type":"ping","requestId":"p","payload":{"x":"é"}}"#.utf8)
            var bytes: [UInt8] = []
            for (index, byte) in text.enumerated() {
                bytes += ClientFraming.frame(
                    index == 0 ? .text : .continuation, [byte], isFinal: index == text.count - 1)
                // A control frame may come between.
                if index == 20 { bytes += ClientFraming.frame(.ping, Array("between".utf8)) }
            }
            client.send(raw: bytes)
            #expect(try await client.next("pong").requestID == "p")
            #expect(client.pongs == [Array("between".utf8)])
        }

        @Test func whatIsNoWebSocketCloses() async throws {
            let ping = Array(#"{"type":"ping","payload":{}}"#.utf8)
            let violations: [[UInt8]] = [
                ClientFraming.frame(.text, ping, mask: nil),
                ClientFraming.frame(.text, ping, reservedBits: 0x40),
                ClientFraming.frame(.continuation, ping),
                ClientFraming.frame(.text, ping, isFinal: false) + ClientFraming.frame(.text, ping),
                ClientFraming.frame(.ping, ping, isFinal: false),
                ClientFraming.frame(.ping, [UInt8](repeating: 0, count: 126)),
                [0x83, 0x80, 0, 0, 0, 0],
            ]
            for violation in violations {
                let client = try await Cluster.client()
                client.send(raw: violation)
                #expect(try await client.end().code == 1002, "\(violation.prefix(8))")
            }
        }

        @Test func aGoodbyeIsAnswered() async throws {
            let client = try await Cluster.client()
            client.send(raw: ClientFraming.frame(.close, [0x03, 0xE8]))
            #expect(try await client.end().code == 1000)
        }

        // MARK: What does not close

        static let malformed = [
            "", " ", "x", "null", "[]", "\"ping\"", "{}", #"{"type":"ping"}"#, #"{"payload":{}}"#,
            #"{"type":7,"payload":{}}"#, #"{"type":"ping","payload":[]}"#, #"{"type":"ping","payload":null}"#,
            #"{"type":"ping","payload":{}"#, #"{"type":"ping","payload":{}}}"#, #"{"type":"ping","payload":{},}"#,
            #"{'type':'ping','payload':{}}"#, #"{"type":"pong","payload":{}}"#, #"{"type":"Ping","payload":{}}"#,
            #"{"type":"ping","payload":{"timestamp":1.0}}"#, #"{"type":"ping","payload":{"timestamp":1e3}}"#,
        ]

        @Test func twentyMalformedFramesAMinuteAreAnsweredAndTheNextCloses() async throws {
            let client = try await Cluster.client()
            for text in Self.malformed {
                client.send(text: text)
                #expect(try await client.next("error").errorCode == "INVALID_PAYLOAD", "\(text)")
            }
            #expect(Self.malformed.count == 20)
            try await client.settle()
            client.send(text: "x")
            #expect(try await client.end().code == 1008)
        }

        @Test(arguments: [
            #"{"type":"ping","payload":{"timestamp":0}}"#, #"{"type":"ping","payload":{"timestamp":-5}}"#,
            #"{"type":"ping","payload":{"timestamp":"5"}}"#,
            #"{"type":"ping","payload":{"timestamp":99999999999999999999}}"#,
            #"{"type":"ping","payload":{"timestamp":5,"timestamp":5}}"#, #"{"type":"ping","type":"ping","payload":{}}"#,
            #"{"type":"ping","payload":{"x":"\ud800"}}"#, #"{"type":"ping","payload":{"x":01}}"#,
            #"{"type":"error","payload":{}}"#, #"{"type":"message_received","payload":{}}"#,
            #"{"type":"register_begin","payload":{"protocolVersion":1,"cryptoVersion":1}}"#,
        ])
        func aMalformedFrameIsAnsweredAndForgotten(text: String) async throws {
            let client = try await Cluster.client()
            client.send(text: text)
            #expect(try await client.next("error").errorCode == "INVALID_PAYLOAD")
            try await client.settle()
        }

        @Test func nestingHasABound() async throws {
            let client = try await Cluster.client()
            let deep = String(repeating: "[", count: 50_000) + String(repeating: "]", count: 50_000)
            client.send(text: #"{"type":"ping","payload":{"x":\#(deep)}}"#)
            #expect(try await client.next("error").errorCode == "INVALID_PAYLOAD")
            try await client.settle()
        }

        // MARK: Request ids

        @Test func everyAnswerCarriesTheRequestId() async throws {
            let client = try await Cluster.client()
            let longest = "~ !" + String(repeating: "\"", count: 61)
            for id in ["a", longest] {
                client.send("ping", [:], requestID: id)
                #expect(try await client.next("pong").requestID == id)
                client.send("fetch_pending", Person.versions, requestID: id)
                let error = try await client.next("error")
                #expect(error.requestID == id)
                #expect(error.payload["requestId"]?.string == id)
            }
            client.send("ping", [:])
            let pong = try await client.next("pong")
            #expect(!pong.text.contains("requestId"))
        }

        @Test(arguments: [
            JSON.string(""), .string(String(repeating: "a", count: 65)), .string("é"), .string("\n"), .integer(5),
            .object([:]),
        ])
        func aRequestIdIsShortPrintableText(id: JSON) async throws {
            let client = try await Cluster.client()
            client.send(text: (["type": "ping", "requestId": id, "payload": [:] as Fields] as Fields).json.text)
            #expect(try await client.next("error").errorCode == "INVALID_PAYLOAD")
        }

        // MARK: Ping

        @Test func aPingNeedsNoSession() async throws {
            let before = nowMilliseconds()
            for client in [try await Cluster.client(), try await Cluster.phone().client] {
                let pong = try await client.ask("ping", ["timestamp": 1_730_000_000_000]).expecting("pong").payload
                #expect(pong["timestamp"]?.integer == 1_730_000_000_000)
                #expect(try #require(pong["serverTime"]?.integer) >= before - 1_000)
                #expect(try await client.ask("ping", [:]).payload["timestamp"] == nil)
            }
        }

        @Test func aWebSocketPingIsAnswered() async throws {
            let client = try await Cluster.client()
            client.send(raw: ClientFraming.frame(.ping, [1, 2, 3]))
            try await client.settle()
            #expect(client.pongs == [[1, 2, 3]])
        }

        // MARK: Versions and tokens

        static let privileged = ["session_refresh", "logout", "update_tokens", "fetch_pending"]

        @Test(arguments: Self.privileged) func versionsAreExact(type: String) async throws {
            let phone = try await Cluster.phone()
            for version in [JSON.integer(2), .integer(0), .string("1"), .null, .bool(true)] {
                #expect(try await phone.ask(type, ["protocolVersion": version]).errorCode == "INVALID_PAYLOAD")
                #expect(try await phone.ask(type, ["cryptoVersion": version]).errorCode == "INVALID_PAYLOAD")
            }
            let bare = try await phone.client.ask(type, ["sessionToken": phone.token])
            #expect(bare.errorCode == "INVALID_PAYLOAD")
            try await phone.client.settle()
        }

        @Test(arguments: Self.privileged) func withoutASessionNothingPrivilegedHappens(type: String) async throws {
            let client = try await Cluster.client()
            let tokens: [JSON?] = [
                nil, .null, .string(""), .string("short"), .string(String(repeating: "A", count: 43)),
                .string(String(repeating: "A", count: 2_000)), .string("not a token, but of a token's length"),
            ]
            for token in tokens {
                let fields = token.map { Person.versions.with(["sessionToken": $0]) } ?? Person.versions
                #expect(try await client.ask(type, fields).errorCode == "NOT_REGISTERED", "\(token?.text ?? "none")")
            }
            for token in [JSON.integer(5), .bool(true), .array([]), .object([:])] {
                let fields = Person.versions.with(["sessionToken": token])
                #expect(try await client.ask(type, fields).errorCode == "INVALID_PAYLOAD", "\(token)")
            }
        }

        @Test func anUnusableTokenDoesNotHarmABoundConnection() async throws {
            let phone = try await Cluster.phone()
            #expect(
                try await phone.ask("fetch_pending", ["sessionToken": String(repeating: "B", count: 43)]).errorCode
                    == "NOT_REGISTERED")
            try await phone.ask("fetch_pending").expecting("pending_messages")
        }

        // MARK: HTTP at the same origin

        @Test(arguments: ["/health", "/ready"]) func theEdgeSaysHowItIs(path: String) async throws {
            #expect(await LoopbackRequest.get(path, port: Cluster.stack.ports.public)?.status == 200)
        }

        @Test func metricsAndAdminAreNotPublic() async throws {
            for path in ["/metrics", "/admin/stats", "/console"] {
                #expect(await LoopbackRequest.get(path, port: Cluster.stack.ports.public)?.status == 404)
            }
        }
    }
}
