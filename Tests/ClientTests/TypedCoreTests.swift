import TestKit
import Testing

@testable import WhisperCore

/// The typed functions of the facade, against a server in memory.
@Suite(.timeLimit(.minutes(20))) struct TypedCoreTests {
    private let kit: CoreTests

    init() throws { self.kit = try CoreTests() }

    private func online(_ name: String) async throws -> (core: Core, id: String) {
        let core = try self.kit.open(name)
        _ = try await core.createIdentity()
        try await core.connect()
        return (core, try #require(core.identity?.whisperID))
    }

    private func refusal(_ work: () async throws -> Void) async throws -> CoreError.Code? {
        do { try await work() } catch let error as CoreError { return error.code }
        return nil
    }

    @Test func twoAppsTalk() async throws {
        let (ann, annID) = try await self.online("ann")
        let (bob, bobID) = try await self.online("bob")
        var incoming = try bob.messages().makeAsyncIterator()
        let contact = try await ann.addContact(bobID.lowercased(), name: "Bob")
        #expect(contact == Core.Contact(whisperID: bobID, name: "Bob"))
        let id = try await ann.send("Hello", to: contact)
        try await ann.settled()
        let message = try #require(await incoming.next())
        #expect((message.id, message.sender, message.text, message.groupID) == (id, annID, "Hello", nil))
        #expect(message.time > 0)
        await ann.close()
        await bob.close()
        // The end of the core is the end of the stream, and of each wait.
        #expect(await incoming.next() == nil)
        #expect(try await self.refusal { try await bob.settled() } == .closed)
    }

    /// Only a message after which another one was asked for is acknowledged.
    @Test func whatWasNotTakenComesAgain() async throws {
        let (ann, _) = try await self.online("ann")
        let (bob, bobID) = try await self.online("bob")
        var incoming = try bob.messages(for: "app").makeAsyncIterator()
        let contact = try await ann.addContact(bobID)
        for text in ["one", "two", "three"] { try await ann.send(text, to: contact) }
        #expect(await incoming.next()?.text == "one")
        #expect(await incoming.next()?.text == "two")
        await bob.close()
        let again = try self.kit.open("bob")
        incoming = try again.messages(for: "app").makeAsyncIterator()
        #expect(await incoming.next()?.text == "two")
        try await again.connect()
        #expect(await incoming.next()?.text == "three")
    }

    @Test func errorsSayWhatIsWrong() async throws {
        let core = try self.kit.open("ann")
        #expect(core.identity == nil)
        #expect(try await self.refusal { try await core.connect() } == .noIdentity)
        _ = try await core.createIdentity()
        #expect(core.identity == Core.Identity(whisperID: nil))
        #expect(try await self.refusal { _ = try await core.createIdentity() } == .identityExists)
        try await core.connect()
        #expect(try await self.refusal { _ = try await core.addContact("Bob") } == .invalidField)
        let stranger = Core.Contact(whisperID: "WSP-AAAA-AAAA-AAAA", name: nil)
        #expect(try await self.refusal { try await core.send("Hello", to: stranger) } == .unknownContact)
        #expect(try await self.refusal { try await core.send("x", to: stranger, clientID: "1") } == .invalidField)
        let (_, bobID) = try await self.online("bob")
        let bob = try await core.addContact(bobID)
        let id = "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"
        for _ in 0..<2 { #expect(try await core.send("once", to: bob, clientID: id) == id) }
        #expect(try await self.refusal { try await core.send("twice", to: bob, clientID: id) } == .conflict)
    }

    /// A wait has an end, and the core goes on.
    @Test func aServerThatIsAwayIsSaid() async throws {
        let core = try Core.open(
            CoreConfiguration(folder: self.kit.folder.path + "/away", server: "ws://127.0.0.1:1"))
        _ = try await core.createIdentity()
        #expect(try await self.refusal { try await core.connect(within: .milliseconds(1)) } == .unreachable)
        let waiting = Task { try await core.connect() }
        await core.close()
        await #expect(throws: CoreError.self) { try await waiting.value }
    }
}
