import Contract
import Synchronization
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Hosts of one test, and their server in memory.
struct CoreHosts {
    let folder: TemporaryFolder
    let server = FakeServer()

    init() throws { self.folder = try TemporaryFolder() }

    func online(_ name: String) async throws -> CoreHost {
        let host = try await self.offline(name)
        try await host.online()
        return host
    }

    func offline(_ name: String) async throws -> CoreHost {
        try await CoreHost(name, in: self.folder, self.server)
    }
}

/// A host of one core against a server in memory. Each answer and event is what its declaration says.
final class CoreHost: Sendable {
    let core: Core
    /// Events that came before somebody asked for them.
    private let waiting = Mutex<[JSON]>([])

    /// - Parameter radio: for phones nearby.
    init(
        _ name: String, in folder: TemporaryFolder, _ server: FakeServer,
        logLevel: CoreConfiguration.LogLevel? = nil, radio: @escaping Core.RadioMaker = { _ in nil }
    ) async throws {
        self.core = try Core.open(
            CoreConfiguration(folder: folder.path + "/" + name, server: "ws://127.0.0.1:1", logLevel: logLevel),
            link: { _ in server }, radio: radio)
        try await self.perform("identity_create")
    }

    var id: String {
        get async throws { try #require(try await self.perform("identity_show")["whisperId"]?.string) }
    }

    func online() async throws {
        try await self.perform("connect")
        try await self.next("connection") { $0["state"]?.string == "online" }
    }

    /// Does a command that must succeed.
    @discardableResult
    func perform(_ command: String) async throws -> JSON {
        let answer = try JSON(parsing: Array(await self.core.perform(command).utf8))
        let verb = try #require(VerbCatalogue.byName[String(command.prefix { $0 != " " })])
        let result = try #require(answer["result"], "\(command): \(answer.text)")
        try Self.check(result, verb.asksServer ? Verb.asked : verb.result)
        return result
    }

    func refusal(_ command: String) async throws -> String {
        let error = try #require(try JSON(parsing: Array(await self.core.perform(command).utf8))["error"])
        return Self.describe(error)
    }

    /// Asks the server by a verb that must succeed.
    @discardableResult
    func ask(_ command: String) async throws -> JSON {
        let answer = try await self.outcome(command)
        let result = try #require(answer["result"], "\(command): \(answer.text)")
        let name = answer["verb"]?.string ?? ""
        try Self.check(result, try #require(VerbCatalogue.byName[name]).result)
        return result
    }

    /// - Returns: why the server, or the core on the way to it, does not do it. The verb says that it may be so.
    func refusalOfServer(_ command: String) async throws -> String {
        let answer = try await self.outcome(command)
        let error = try #require(answer["error"], "\(command): \(answer.text)")
        let verb = try #require(VerbCatalogue.byName[answer["verb"]?.string ?? ""])
        let code = try #require(CoreError.Code(rawValue: error["code"]?.string ?? ""))
        #expect(code == .invalidField || verb.errors.contains(code), "\(verb.name) declares no \(code)")
        return Self.describe(error)
    }

    private func outcome(_ command: String) async throws -> JSON {
        let request = try await self.perform(command)["request"]
        return try await self.next("answer") { $0["request"] == request }
    }

    private static func describe(_ error: JSON) -> String {
        "\(error["code"]?.string ?? "")\(error["field"].map { " \($0.string ?? "")" } ?? "")"
    }

    /// The next event of a type. Others on the way wait for whoever asks for them.
    @discardableResult
    func next(_ type: String, _ isIt: (JSON) -> Bool = { _ in true }) async throws -> JSON {
        let kept = self.waiting.withLock { waiting in
            waiting.firstIndex { $0["type"]?.string == type && isIt($0) }.map { waiting.remove(at: $0) }
        }
        if let kept { return kept }
        while true {
            let text = try #require(await self.core.nextEvent(within: .seconds(120)), "the core was closed")
            try #require(!text.isEmpty, "no event \(type)")
            let event = try #require(try JSON(parsing: Array(text.utf8))["event"])
            let definition = try #require(EventDefinition.all.first { $0.type == event["type"]?.string })
            try Self.check(event, definition.fields)
            if definition.type == type, isIt(event) { return event }
            self.waiting.withLock { $0.append(event) }
        }
    }

    /// Whether such an event has come before another that was waited for.
    func hasSeen(_ type: String) -> Bool { self.waiting.withLock { $0.contains { $0["type"]?.string == type } } }

    private static func check(_ value: JSON, _ schema: ObjectSchema) throws {
        // A result is declared by its verb.
        let isOpen = schema.fields.contains { $0.name == "result" }
        let text = Array(value.text.utf8)
        _ =
            try isOpen
            ? FrameDecoder.payload(bare: text, schema: schema) : FrameDecoder.payload(strict: text, schema: schema)
    }
}
