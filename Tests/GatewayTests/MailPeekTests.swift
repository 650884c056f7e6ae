import Bus
import ClusterContract
import Contract
import Foundation
import Testing

@testable import GatewayCore

/// `GET /mail` (contract §5): looks that change nothing. The test plays router and auth.
@Suite(.timeLimit(.minutes(20))) struct MailPeekTests {
    private static let reader = WhisperID("WSP-JBPU-D452-TLT4")!
    private static let partition = Partition(of: Self.reader)
    private static let session = Session.of(identity: "\(Self.reader)", token: token)

    private static func mail(_ number: Int64) -> Mail {
        Mail(number: number, payload: Array(#"{"messageId":"\#(number)"}"#.utf8))
    }

    @Test func twoLooksShowTheSameAndBindNothing() async throws {
        try await GatewayBench.run { bench in
            try await bench.cache(Self.session)
            for _ in 0..<2 {
                let peek = try await bench.peeks("?limit=2&bytes=1000")
                // Nothing stands before it: no announcement, and no departure of the look before.
                let request = try await bench.fetched(Self.partition)
                #expect(request.caller == Self.session.caller)
                #expect((request.limit, request.peekBytes, request.after) == (2, 1_000, 0))
                let page = Answer.page([Self.mail(1), Self.mail(2)], next: Cursor(after: 2))
                try await bench.tell(.answer(question: request.answer.question, page))
                let answer = try await peek.value
                #expect(answer.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(answer.head.contains("\r\nCache-Control: no-store\r\n"))
                #expect(answer.body["messages"] as? [[String: String]] == [["messageId": "1"], ["messageId": "2"]])
                #expect(answer.body["more"] as? Bool == true)
                #expect(abs((answer.body["serverTime"] as? Int64 ?? 0) - Timestamp.now.milliseconds) < 60_000)
            }
            #expect(await !bench.gateway.isBound(Self.reader))
            #expect(try await bench.bus.get(Keyspace.presence(Self.reader)) == nil)
        }
    }

    @Test func aConnectedPhoneStays() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient(Self.session)
            let peek = try await bench.peeks()
            let request = try #require(try await bench.fetchRequest(of: Self.partition))
            #expect(request.isPeek && request.connection != connection)
            #expect((request.limit, request.peekBytes) == (50, 262_144))
            try await bench.tell(.answer(question: request.answer.question, .page([Self.mail(1)], next: nil)))
            #expect(try await peek.value.body["more"] as? Bool == false)
            // Mail that comes live is new to the connection: the look has moved nothing.
            try await bench.tell(
                .bound(connection, isCaughtUp: true), .mail(connection, [Self.mail(1)], again: false))
            #expect(try await client.json().payload["messageId"] as? String == "1")
            #expect(await bench.gateway.isBound(Self.reader))
        }
    }

    // MARK: Refusals

    @Test func onlyASessionMayLook() async throws {
        try await GatewayBench.run { bench in
            for header in ["", "Authorization: Bearer short\r\n", "Authorization: Basic \(token)\r\n"] {
                #expect(try await bench.peeks(authorization: header).value.is(401, .notRegistered))
            }
            try await bench.cache(.of(identity: "\(Self.reader)", token: token, isBanned: true))
            #expect(try await bench.peeks().value.is(403, .userBanned))
            try await bench.cache(.of(identity: "\(Self.reader)", token: token, expiresAt: .now - .seconds(1)))
            #expect(try await bench.peeks().value.is(401, .notRegistered))
        }
    }

    @Test(arguments: [
        (Answer.session(nil), 401, ErrorCode.notRegistered),
        (.session(.of(identity: "WSP-AAAA-AAAA-AAAA", token: "another")), 500, .internalError),
        (.refused(Refusal(.internalError, "why")), 500, .internalError),
    ])
    func aTokenThatAuthDoesNotConfirmShowsNothing(found: Answer, status: Int, code: ErrorCode) async throws {
        try await GatewayBench.run { bench in
            let peek = try await bench.peeks()
            try await bench.tell(.answer(question: try await bench.request().answer.question, found))
            #expect(try await peek.value.is(status, code))
        }
    }

    @Test(arguments: [
        (Answer.stale, 401, ErrorCode.notRegistered), (.refused(Refusal(.internalError, "why")), 500, .internalError),
        (.accepted, 500, .internalError),
    ])
    func aRefusalOfTheRouterIsAnswered(by answer: Answer, status: Int, code: ErrorCode) async throws {
        try await GatewayBench.run { bench in
            try await bench.cache(Self.session)
            let peek = try await bench.peeks()
            let request = try await bench.fetched(Self.partition)
            try await bench.tell(.answer(question: request.answer.question, answer))
            #expect(try await peek.value.is(status, code))
        }
    }

    @Test(arguments: [
        "?limit=0", "?limit=51", "?limit=", "?limit", "?limit=x", "?limit=1&limit=1", "?bytes=0", "?bytes=262145",
        "?limit=1.5",
    ])
    func aParameterOutOfItsRangeIsInvalid(query: String) async throws {
        try await GatewayBench.run { bench in
            let answer = try await bench.peeks(query).value
            #expect(answer.is(400, .invalidPayload))
        }
    }

    /// A router of the release before drops the Job.
    @Test func aLookThatNobodyAnswersFails() async throws {
        try await GatewayBench.run { bench in
            try await bench.cache(Self.session)
            let peek = try await bench.peeks()
            let request = try await bench.fetched(Self.partition)
            await bench.gateway.handshakeTakes(GatewayLimits.handshakeMax + .seconds(1), on: request.connection)
            #expect(try await peek.value.is(500, .internalError))
        }
    }

    // MARK: Rates

    /// 3 looks in a minute for an identity, 6 for an address.
    @Test func looksAreCountedForTheIdentityAndForTheAddress() async throws {
        try await GatewayBench.run(scale: 0.1) { bench in
            for identity in ["WSP-JBPU-D452-TLT4", "WSP-AAAA-AAAA-AAAA"] {
                try await bench.cache(.of(identity: identity, token: identity + token))
            }
            func begin(_ identity: String) async throws -> Task<Looked, any Error> {
                try await bench.peeks(authorization: "Authorization: Bearer \(identity + token)\r\n")
            }
            func look(_ identity: String) async throws -> Looked {
                let peek = try await begin(identity)
                let request = try await bench.fetched(Partition(of: WhisperID(identity)!))
                try await bench.tell(.answer(question: request.answer.question, .page([], next: nil)))
                return try await peek.value
            }
            for _ in 0..<3 { #expect(try await look("WSP-JBPU-D452-TLT4").head.hasPrefix("HTTP/1.1 200 ")) }
            let refused = try await begin("WSP-JBPU-D452-TLT4").value
            #expect(refused.is(429, .rateLimited))
            #expect(refused.head.contains("\r\nRetry-After: "))
            for _ in 0..<2 { #expect(try await look("WSP-AAAA-AAAA-AAAA").head.hasPrefix("HTTP/1.1 200 ")) }
            #expect(try await begin("WSP-AAAA-AAAA-AAAA").value.is(429, .rateLimited))
        }
    }
}

/// An answer to `GET /mail`.
private struct Looked: @unchecked Sendable {
    let head: String
    let body: [String: Any]

    func `is`(_ status: Int, _ code: ErrorCode) -> Bool {
        self.head.hasPrefix("HTTP/1.1 \(status) ") && self.body["error"] as? String == code.rawValue
    }
}

extension GatewayBench {
    /// Begins a look.
    fileprivate func peeks(
        _ query: String = "", authorization: String = "Authorization: Bearer \(token)\r\n"
    ) async throws -> Task<Looked, any Error> {
        let client = try await TestClient.connect(port: self.port)
        return Task {
            let answer = try await client.request("GET /mail\(query) HTTP/1.1\r\nHost: x\r\n\(authorization)\r\n")
            let end = try #require(answer.range(of: "\r\n\r\n"))
            let body = try JSONSerialization.jsonObject(with: Data(answer[end.upperBound...].utf8))
            return Looked(head: String(answer[..<end.upperBound]), body: body as? [String: Any] ?? [:])
        }
    }

    /// The next Job of the partition, a request for mail and no other.
    fileprivate func fetched(_ partition: Partition) async throws -> FetchRequest {
        guard case .fetch(let request) = try await self.job(of: partition) else { throw TestClient.Unexpected.end }
        return request
    }
}
