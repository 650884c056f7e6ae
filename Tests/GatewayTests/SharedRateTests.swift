import Bus
import ClusterContract
import Contract
import Testing

@testable import GatewayCore

private let sender = WhisperID("WSP-JBPU-D452-TLT4")!

/// Limits that hold whatever the number of connections (contract §13a). Through real sockets.
@Suite(.timeLimit(.minutes(20))) struct SharedRateTests {
    /// Reads the mailbox Jobs of a partition until so many messages have come.
    /// - Returns: how many were within their rate.
    private func accepted(of count: Int, in partition: Partition, _ bench: GatewayBench) async throws -> Int {
        var (seen, within) = (0, 0)
        while seen < count {
            guard case .accept(let envelope) = try await bench.job(of: partition) else { continue }
            seen += 1
            if envelope.overRateFor == nil { within += 1 }
        }
        return within
    }

    /// Each connection says everything before its token is known. 12 messages a minute.
    @Test func reconnectingDoesNotBringNewUses() async throws {
        try await GatewayBench.run(scale: 0.1, trustedProxies: ["127.0.0.0/8"]) { bench in
            try await bench.cache(.of(identity: "\(sender)", token: token))
            let start = ContinuousClock.now
            let (connections, messages) = (6, 17)
            for number in 0..<connections {
                let client = try await bench.client(headers: "X-Forwarded-For: 10.0.0.\(number)\r\n")
                let dead = String(repeating: "\(number)", count: 43)
                let frames =
                    [Frames.fetch(requestID: "dead", session: dead)]
                    + (0..<messages).map { Frames.message(requestID: "\($0)") }
                try await client.send(bytes: frames.flatMap { ClientFrame.text($0).bytes })
                let lookUp = try await bench.request()
                try await bench.tell(.answer(question: lookUp.answer.question, .session(nil)))
                #expect(try await client.json().requestID == "dead")
            }
            let to = try SendMessage(FrameDecoder.sample(SendMessage.definition)).envelope.to
            let within = try await self.accepted(of: connections * messages, in: Partition(of: to), bench)
            let seconds = Double((ContinuousClock.now - start).components.seconds) + 1
            #expect(within >= 12)
            #expect(Double(within) <= 12 + 0.2 * seconds)
        }
    }

    /// One exchange of push tokens a minute, and 10 for a bot (contract §20.7), at a tenth of the rates.
    private static let classes = RateClasses("bot: update_tokens=100")!

    /// Sends so many.
    /// - Returns: how many were refused.
    private func refused(of count: Int, _ client: TestClient) async throws -> Int {
        let sample = UpdateTokens.definition.samples[0]
        for number in 0..<count {
            try await client.send(
                Frames.frame("update_tokens", sample, requestID: "\(number)", session: token))
        }
        try await client.send(#"{"type":"ping","requestId":"p","payload":{}}"#)
        var refused = 0
        while true {
            let answer = try await client.json()
            if answer.requestID == "p" { return refused }
            #expect(answer.code == "RATE_LIMITED")
            refused += 1
        }
    }

    @Test func aClassComesWithTheSessionAndGoesWithANotice() async throws {
        try await GatewayBench.run(scale: 0.1, classes: Self.classes) { bench in
            var session = Session.of(identity: "\(sender)", token: token)
            session.rateClass = RateClassName("bot")
            let (client, _) = try await bench.boundClient(session)
            #expect(try await self.refused(of: 9, client) == 0)
            // For 54 s nothing is left of everybody's rate.
            try await bench.tellAll(.rateClasses([]))
            #expect(try await self.refused(of: 3, client) == 3)
        }
    }

    @Test func aClassIsGivenByANoticeIfTheSettingsNameIt() async throws {
        try await GatewayBench.run(scale: 0.1, classes: Self.classes) { bench in
            let (client, _) = try await bench.boundClient()
            try await bench.tellAll(.rateClasses([RateClassGrant(sender, RateClassName("bot")!)]))
            #expect(try await self.refused(of: 9, client) == 0)
            try await bench.tellAll(.rateClasses([RateClassGrant(sender, RateClassName("feed")!)]))
            #expect(try await self.refused(of: 3, client) == 3)
        }
    }

    /// Half an exchange of push tokens a minute.
    @Test func nothingOvertakesAFrameThatWaitsForItsRate() async throws {
        try await GatewayBench.run(scale: 0.05) { bench in
            let (client, _) = try await bench.boundClient()
            bench.bus.holdLeases()
            for requestID in ["u1", "u2"] {
                try await client.send(
                    Frames.frame(
                        "update_tokens", UpdateTokens.definition.samples[0], requestID: requestID, session: token))
            }
            try await client.send(#"{"type":"ping","requestId":"p","payload":{}}"#)
            try await bench.bus.untilLeaseIsHeld()
            bench.bus.releaseLeases()
            guard case .frame("update_tokens", _) = try await bench.request().body else { return #expect(Bool(false)) }
            let refused = try await client.json()
            #expect(refused.requestID == "u2" && refused.code == "RATE_LIMITED")
            #expect(try await client.json().requestID == "p")
        }
    }

    /// A receipt that is lost brings its message again.
    @Test func whatAClientSaidBeforeItLeftIsHandled() async throws {
        try await GatewayBench.run { bench in
            let (client, connection) = try await bench.boundClient()
            bench.bus.holdLeases()
            try await client.send(Frames.fetch())
            try await bench.bus.untilLeaseIsHeld()
            await client.close()
            #expect(try await bench.departure(in: Partition(of: sender))?.connection == connection)
            bench.bus.releaseLeases()
            guard let fetch = try await bench.fetchRequest(of: Partition(of: sender)) else {
                return #expect(Bool(false))
            }
            #expect(fetch.caller.identity == sender)
        }
    }

    /// 12 a minute.
    @Test func typingBeyondItsRateIsDroppedSilently() async throws {
        try await GatewayBench.run(scale: 0.1) { bench in
            let (client, _) = try await bench.boundClient()
            let to = WhisperID("WSP-AAAA-AAAA-AAAA")!
            for _ in 0..<16 {
                try await client.send(
                    Frames.frame("typing", Typing.definition.samples[0], requestID: "t", session: token))
            }
            try await client.send(#"{"type":"ping","requestId":"p","payload":{}}"#)
            #expect(try await client.json().requestID == "p")
            let jobs = try await bench.bus.depth(of: [Keyspace.mailbox(Partition(of: to)).name])
            #expect((12...14).contains(jobs[0]))
        }
    }

    /// One a minute.
    @Test func sessionsAreRefreshedOnlySoOften() async throws {
        try await GatewayBench.run(scale: 0.1) { bench in
            let (client, _) = try await bench.boundClient()
            for requestID in ["r1", "r2"] {
                try await client.send(
                    Frames.frame(
                        "session_refresh", SessionRefresh.definition.samples[0], requestID: requestID, session: token))
            }
            let refused = try await client.json()
            #expect(refused.requestID == "r2" && refused.code == "RATE_LIMITED")
            guard case .frame("session_refresh", _) = try await bench.request().body else {
                return #expect(Bool(false))
            }
        }
    }
}

/// Tokens that are nobody's, and failed proofs (contract §13a). Through real sockets.
@Suite(.timeLimit(.minutes(20))) struct UnknownTokenTests {
    /// Counts the codes of so many answers.
    private func codes(of count: Int, on client: TestClient) async throws -> [String: Int] {
        var codes: [String: Int] = [:]
        for _ in 0..<count {
            let answer = try await client.json()
            codes[answer.code ?? "", default: 0] += 1
            if answer.code == "RATE_LIMITED" { #expect((answer.payload["retryAfterMs"] as? Int ?? 0) > 0) }
        }
        return codes
    }

    private func allowed(since start: ContinuousClock.Instant) -> Int {
        Rates.unknownTokens.burst + Int((ContinuousClock.now - start).components.seconds) + 1
    }

    private static func unknown(_ number: Int) -> String { String(repeating: "x", count: 40) + "\(100 + number)" }

    @Test func anAddressHasOnlySoManyUnknownTokensLookedUp() async throws {
        try await GatewayBench.run { bench in
            let (client, _) = try await bench.boundClient()
            let (count, start) = (120, ContinuousClock.now)
            let frames = (0..<count).map { Frames.fetch(requestID: "\($0)", session: Self.unknown($0)) }
            try await client.send(bytes: frames.flatMap { ClientFrame.text($0).bytes })
            let codes = try await bench.answering(.session(nil)) { try await self.codes(of: count, on: client) }
            #expect(
                codes["NOT_REGISTERED"]! >= Rates.unknownTokens.burst
                    && codes["NOT_REGISTERED"]! <= self.allowed(since: start))
            #expect(codes["NOT_REGISTERED"]! + (codes["RATE_LIMITED"] ?? 0) == count)
            // A token that this connection is known by is not concerned, nor is the client when it comes back.
            try await client.send(Frames.fetch())
            while true {
                // A connection that no router confirms is announced again.
                if case .fetch = try await bench.job(of: Partition(of: sender)) { break }
            }
            await client.close()
            while try await bench.departure(in: Partition(of: sender)) == nil {}
            let (again, _) = try await bench.boundClient()
            try await again.send(Frames.fetch(requestID: "last", session: Self.unknown(count)))
            let last = try await bench.answering(.session(nil)) { try await again.json() }
            #expect(last.requestID == "last")
            // Refused, unless the test has taken so long that there is room again.
            #expect(
                last.code == "RATE_LIMITED"
                    || last.code == "NOT_REGISTERED" && codes["NOT_REGISTERED"]! < self.allowed(since: start))
        }
    }

    /// All at once, before the first is answered.
    @Test func noMoreProofsAreUnderWayThanMayFail() async throws {
        try await GatewayBench.run { bench in
            let client = try await bench.client()
            let (count, start) = (150, ContinuousClock.now)
            let frames = (0..<count).map { Frames.proof(requestID: "\($0)") }
            try await client.send(bytes: frames.flatMap { ClientFrame.text($0).bytes })
            var requests: [ServiceRequest] = []
            for _ in 0..<Rates.unknownTokens.burst { requests.append(try await bench.request()) }
            // Behind everything that the client has sent.
            try await client.send(#"{"type":"ping","requestId":"p","payload":{}}"#)
            #expect(try await client.json().requestID == "p")
            let depth = try await bench.bus.depth(of: [Keyspace.auth.name])
            #expect(depth[0] <= self.allowed(since: start))
            let no = Answer.refused(Refusal(.authFailed, "no"))
            for request in requests { try await bench.tell(.answer(question: request.answer.question, no)) }
            let codes = try await bench.answering(no) { try await self.codes(of: count, on: client) }
            #expect(codes["AUTH_FAILED"]! <= self.allowed(since: start))
            #expect(codes["AUTH_FAILED"]! + codes["RATE_LIMITED"]! == count)
        }
    }

    @Test func aGatewayThatHasEndedIsReleasedWithTheProofsThatWaited() async throws {
        weak var ended: Gateway?
        try await GatewayBench.run { bench in
            ended = bench.gateway
            let client = try await bench.client()
            let frames = (0..<2 * Rates.unknownTokens.burst).map { Frames.proof(requestID: "\($0)") }
            try await client.send(bytes: frames.flatMap { ClientFrame.text($0).bytes })
            for _ in 0..<Rates.unknownTokens.burst { _ = try await bench.request() }
            // Behind all proofs.
            try await client.send(#"{"type":"ping","requestId":"p","payload":{}}"#)
            #expect(try await client.json().requestID == "p")
        }
        #expect(ended == nil)
    }

    /// Failures for another reason, and tokens that belong to an identity, are not counted.
    @Test func onlyWhatIsNobodysCounts() async throws {
        try await GatewayBench.run(scale: 0.1, trustedProxies: ["127.0.0.1"]) { bench in
            // 6 a minute.
            for number in 0..<24 {
                let client = try await bench.client(
                    headers: "X-Forwarded-For: 2001:db8::\(number), 2001:db8:0:\(number / 6)::1\r\n")
                let valid = Self.unknown(number)
                try await client.send(Frames.fetch(requestID: "\(number)", session: valid))
                let lookUp = try await bench.request()
                let session = Session.of(identity: "\(sender)", token: valid)
                try await bench.tell(.answer(question: lookUp.answer.question, .session(session)))
                await client.close()
            }
            let client = try await bench.client(headers: "X-Forwarded-For: 10.0.0.1\r\n")
            for number in 0..<16 {
                try await client.send(Frames.proof(requestID: "\(number)"))
                let proof = try await bench.request()
                try await bench.tell(
                    .answer(question: proof.answer.question, .refused(Refusal(.internalError, "away"))))
                #expect(try await client.json().code == "INTERNAL_ERROR")
            }
        }
    }
}

extension GatewayBench {
    /// Runs `body` while auth gives this answer to every request. `body` must not use the bench.
    fileprivate func answering<T: Sendable>(_ answer: Answer, while body: () async throws -> T) async throws -> T {
        nonisolated(unsafe) let bench = self
        let answering = Task {
            while true {
                let request = try await bench.request()
                try await bench.tell(.answer(question: request.answer.question, answer))
            }
        }
        defer { answering.cancel() }
        let result = try await body()
        answering.cancel()
        _ = await answering.result
        return result
    }
}

extension FrameDecoder {
    fileprivate static func sample(_ definition: FrameDefinition) throws -> Payload {
        let message = Array(Frames.frame(definition.type, definition.samples[0], requestID: "s", session: token).utf8)
        return try self.payload(try self.envelope(of: message), of: message, schema: definition.schema)
    }
}
