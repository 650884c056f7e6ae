import Contract
import Logging
import Synchronization
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Events `log` of a core, for hosts that ask for them.
@Suite(.timeLimit(.minutes(20))) struct LogEventTests {
    let hosts: CoreHosts

    init() throws { self.hosts = try CoreHosts() }

    private func host(_ name: String, _ level: CoreConfiguration.LogLevel?) async throws -> CoreHost {
        try await CoreHost(name, in: self.hosts.folder, self.hosts.server, logLevel: level)
    }

    private static func fact(_ name: String, of log: JSON) -> String? {
        (log["facts"]?.elements ?? []).first { $0["name"]?.string == name }?["value"]?.string
    }

    @Test func whoAsksIsToldHowTheConnectionFares() async throws {
        let ann = try await self.host("ann", .debug)
        try await ann.perform("connect")
        #expect(try await ann.next("log")["message"]?.string == "connecting")
        let online = try await ann.next("log") { $0["level"]?.string == "info" }
        #expect(online["message"]?.string == "a session with the server is there")
        // On a busy machine the pause before the next attempt can be over before anybody is told of it.
        var away: JSON
        repeat {
            try await ann.next("caughtUp")
            self.hosts.server.breakConnections()
            away = try await ann.next("log") { ["notice", "info"].contains($0["level"]?.string) }
        } while away["level"]?.string == "info"
        #expect(Self.fact("retryInMs", of: away).flatMap { Int($0) } ?? -1 >= 0)
        await ann.core.close()
    }

    @Test func whoDoesNotAskIsToldNothing() async throws {
        for (name, level) in [("ann", nil), ("bob", .error)] as [(String, CoreConfiguration.LogLevel?)] {
            let host = try await self.host(name, level)
            try await host.online()
            try await host.next("caughtUp")
            #expect(!host.hasSeen("log"))
            await host.core.close()
        }
    }

    /// SQLite's words may quote a message.
    @Test func onlyKnownFactsAreTold() throws {
        let told = Mutex<[JSON]>([])
        let logger = Logger(label: "test") { _ in
            EventLog(.notice) { text in
                guard let json = try? JSON(parsing: text) else { return }
                told.withLock { $0.append(json) }
            }
        }
        logger.error("the store failed", metadata: ["cause": "the words", LogFact.store: "failed", "token": "abc"])
        logger.critical(
            "long", metadata: [LogFact.code: "\(String(repeating: "é", count: CoreLimits.logTextBytesMax))"])
        logger.info("less")
        let events = told.withLock { $0 }.compactMap { $0["event"] }
        #expect(events.map { $0["level"]?.string } == ["error", "error"])
        #expect(events[0]["facts"]?.elements.count == 1 && Self.fact("store", of: events[0]) == "failed")
        #expect(Self.fact("code", of: events[1])?.utf8.count == CoreLimits.logTextBytesMax)
        for event in events {
            _ = try FrameDecoder.payload(strict: Array(event.text.utf8), schema: EventDefinition.log.fields)
        }
    }

    /// Log lines of a client are constant text with facts of these names. Facts of other names stay in the library.
    @Test func theServersRefusalIsToldWithoutIds() async throws {
        let ann = try await self.host("ann", .warning)
        try await ann.online()
        let client = try ann.core.opened().client
        let id = UUIDText.random()
        await client.log(refused: .rateLimited, .message(id))
        let log = try await ann.next("log")
        #expect(Self.fact("frame", of: log) == "message" && Self.fact("code", of: log) == "RATE_LIMITED")
        #expect(!log.text.contains("\(id)"))
        await ann.core.close()
    }
}
