import Contract
import Testing

@testable import GatewayCore

/// Every INTERNAL_ERROR is logged once, with its cause and its trace.
@Suite(.timeLimit(.minutes(20))) struct FailureLogTests {
    @Test func aRequestThatTheBusDoesNotTakeIsLoggedOnce() async throws {
        let recorder = LogRecorder()
        try await GatewayBench.run(logger: recorder.logger) { bench in
            let (client, connection) = try await bench.boundClient()
            try await bench.bus.goAway()
            try await client.send(Frames.message())
            #expect(try await client.json().code == "INTERNAL_ERROR")
            let lines = recorder.lines.filter { $0.event == "request not answered" }
            #expect(lines.count == 1)
            let facts = try #require(lines.first?.facts)
            #expect(facts["code"] == "INTERNAL_ERROR")
            #expect(facts["reason"] == FailureReason.busFailed.rawValue)
            #expect(facts["connId"] == "\(connection.value)")
            #expect(facts["trace"]?.isEmpty == false)
            #expect(facts["messageId"]?.isEmpty == false)
        }
    }

    @Test func aRequestWithoutAnswerIsLoggedOnce() async throws {
        let recorder = LogRecorder()
        try await GatewayBench.run(logger: recorder.logger) { bench in
            let (client, connection) = try await bench.boundClient()
            await bench.gateway.askedTooLongAgo("q1", on: connection)
            #expect(try await client.json().code == "INTERNAL_ERROR")
            let reasons = recorder.lines.filter { $0.event == "request not answered" }.map { $0.facts["reason"] }
            #expect(reasons == [FailureReason.noAnswer.rawValue])
        }
    }

    @Test func anOutageHasABoundOfLinesEachSecond() {
        var log = FailureLog()
        let admitted = (0..<GatewayLimits.failureLinesPerSecond + 2).map { _ in log.admits() }
        #expect(admitted.count { $0 } == GatewayLimits.failureLinesPerSecond)
        #expect(admitted.suffix(2) == [false, false])
        let (first, isAdmitted) = (log.secondPassed(), log.admits())
        let second = log.secondPassed()
        #expect(first == 2 && isAdmitted && second == 0)
    }
}
