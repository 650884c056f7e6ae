import Contract
import Dispatch
import Foundation
import Glibc
import TerminalText
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

/// HTTP in front of a core.
@Suite(.timeLimit(.minutes(20))) struct DaemonHTTPTests {
    static let token = String(repeating: "t", count: 32)

    let hosts: CoreHosts

    init() throws { self.hosts = try CoreHosts() }

    private func started(_ core: Core) async throws -> (http: DaemonHTTP, port: Int) {
        core.leaveEventsToSeats()
        let http = DaemonHTTP(core, token: BearerToken(Array(Self.token.utf8)))
        try await http.listen(at: try #require(LoopbackAddress("127.0.0.1:0")))
        return (http, try #require(http.port))
    }

    /// The whole of what is answered.
    private func exchange(
        _ port: Int, _ start: String, _ headers: [String] = ["Authorization: Bearer \(token)"], _ body: String = ""
    ) async throws -> (status: Int, body: String) {
        let text = try await Blocking.run {
            Result { try LoopbackSocket.connected(port).exchange(start, headers, body) }
        }.get()
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1)
        let status = try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) }, "\(text)")
        return (status, parts.count == 2 ? String(parts[1]) : "")
    }

    // MARK: Requests

    @Test func requestsAreAnsweredToWhoeverKnowsTheToken() async throws {
        let core = try await self.hosts.offline("ann").core
        let (http, port) = try await self.started(core)
        let one = #"{"jsonrpc":"2.0","id":1,"method":"identity_show"}"#
        let answer = try await self.exchange(port, "POST /rpc", body: one)
        #expect(answer.status == 200)
        #expect(try JSON(parsing: Array(answer.body.utf8))["result"]?["hasIdentity"] == .bool(true))
        let both = try await self.exchange(port, "POST /rpc", body: "[\(one),\(one)]")
        #expect(try JSON(parsing: Array(both.body.utf8)).elements.count == 2)
        let silent = try await self.exchange(port, "POST /rpc", body: #"{"jsonrpc":"2.0","method":"identity_show"}"#)
        #expect(silent.status == 204 && silent.body.isEmpty)
        for headers in [
            [], ["Authorization: Bearer \(Self.token)x"], ["Authorization: Basic \(Self.token)"],
            ["Authorization: Bearer wrong", "Authorization: Bearer \(Self.token)"],
        ] {
            let refused = try await self.exchange(port, "POST /rpc", headers, one)
            #expect(refused.status == 401 && refused.body.isEmpty, "\(headers)")
        }
        // Without a session it is not well.
        let check = try await self.exchange(port, "GET /check")
        #expect(check.status == 503)
        #expect(try JSON(parsing: Array(check.body.utf8))["core"]?.string == "open")
        await http.close()
        await core.close()
    }

    @Test func whatIsNoRequestIsRefused() async throws {
        let core = try await self.hosts.offline("ann").core
        let (http, port) = try await self.started(core)
        let long = String(repeating: " ", count: JSONRPC.lineBytesMax + 1)
        for (start, body, status) in [
            ("GET /", "", 404), ("GET /rpc", "", 405), ("POST /events?consumer=a", "", 405),
            ("GET /events", "", 400), ("GET /events?consumer=", "", 400), ("GET /events?consumer=%ff", "", 400),
            ("GET /events?other=a", "", 400), ("POST /rpc", long, 413), ("POST /rpc?consumer=nobody", "{}", 409),
            ("GET /events?consumer=" + String(repeating: "a", count: 65), "", 409),
        ] {
            let answer = try await self.exchange(port, start, body: body)
            #expect(answer.status == status, "\(start)")
        }
        let number = ["Authorization: Bearer \(Self.token)", "Last-Event-ID: x"]
        #expect(try await self.exchange(port, "GET /events?consumer=a", number).status == 400)
        // None of these has kept a seat.
        var seats: [CoreSeat] = []
        while let seat = core.seat() { seats.append(seat) }
        #expect(seats.count == CoreLimits.seatsMax)
        await http.close()
        await core.close()
    }

    // MARK: Events

    private func opened(_ port: Int, _ consumer: String, after: Int64? = nil) async throws -> LoopbackSocket {
        let headers = ["Authorization: Bearer \(Self.token)"] + (after.map { ["Last-Event-ID: \($0)"] } ?? [])
        let connection = try LoopbackSocket.connected(port)
        let head = await Blocking.run { () -> String in
            connection.send("GET /events?consumer=\(consumer)", headers, "")
            // The first events may come with it.
            return connection.read(until: "\r\n\r\n", atOnce: 1)
        }
        #expect(head.hasPrefix("HTTP/1.1 200") && head.lowercased().contains("text/event-stream"), "\(head)")
        return connection
    }

    @Test func aStreamGoesOnBehindTheLastEventThatItsReaderHasSeen() async throws {
        let ann = try await self.hosts.online("ann")
        let bob = try await self.hosts.online("bob").id
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)"}"#)
        let core = ann.core
        let (http, port) = try await self.started(core)
        let first = try await self.opened(port, "my%20bot")
        for name in ["one", "two"] {
            try await ann.perform(#"contact_update {"whisperId":"\#(bob)","name":"\#(name)"}"#)
        }
        let text = await Blocking.run { first.read(until: "contactChanged", times: 2) }
        let numbers = text.matches(of: #/id: ([0-9]+)\n/#).compactMap { Int64($0.1) }
        try #require(numbers.count >= 2, "\(text)")
        // The server's answer to a call at `/rpc` in the consumer's name comes to its stream.
        #expect(core.seat(of: "my bot") != nil)
        let update = #"{"jsonrpc":"2.0","id":1,"method":"contact_add","params":{"whisperId":"\#(bob)"}}"#
        #expect(try await self.exchange(port, "POST /rpc?consumer=my%20bot", body: update).status == 200)
        #expect(await Blocking.run { first.read(until: #""type":"answer""#) }.contains(#""verb":"contact_add""#))
        Glibc.close(first.descriptor)
        let second = try await self.opened(port, "my%20bot", after: numbers[0])
        let again = await Blocking.run { second.read(until: "id: \(numbers[1])\n") }
        #expect(!again.contains("id: \(numbers[0])\n") && again.contains("id: \(numbers[1])\n"))
        Glibc.close(second.descriptor)
        await http.close()
        await core.close()
    }

    @Test func onlyThisMachineIsListenedTo() {
        #expect(LoopbackAddress("127.0.0.1:80")?.port == 80 && LoopbackAddress("[::1]:8080")?.host == "::1")
        for text in [
            "0.0.0.0:80", "localhost:80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+8", "[::]:8",
        ] {
            #expect(LoopbackAddress(text) == nil, "\(text)")
        }
    }

    @Test func aTokenIsALineOfItsOwnersFile() throws {
        let path = self.hosts.folder.path + "/token"
        let token = Array(Self.token.utf8)
        for (content, isToken) in [
            (token, true), (token + [0x0A], true), (token + [0x0A, 0x0A], false), (Array(token.dropLast()), false),
            (token + [0x20], false), (Array(repeating: 0x61, count: 257), false), ([], false),
        ] {
            _ = FileManager.default.createFile(atPath: path, contents: Data(content))
            chmod(path, 0o600)
            #expect((try? SecretFile.token(path, for: "token")) == (isToken ? token : nil), "\(content)")
        }
        _ = FileManager.default.createFile(atPath: path, contents: Data(token))
        chmod(path, 0o640)
        #expect(throws: Problem.self) { try SecretFile.token(path, for: "token") }
    }
}

extension DaemonHTTPTests {
    private func exchange(_ port: Int, _ start: String, body: String) async throws -> (status: Int, body: String) {
        try await self.exchange(port, start, ["Authorization: Bearer \(Self.token)"], body)
    }
}
