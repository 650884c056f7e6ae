import Contract
import Dispatch
import Synchronization
import TerminalText
import Testing

@testable import WhisperClient
@testable import WhisperCore
@testable import WhisperTerminal

@Suite(.timeLimit(.minutes(1))) struct ReadAheadTests {
    /// Numbers that a test reads, and how many were.
    private final class Source: Sendable {
        private let read = Mutex(0)
        let count: Int

        init(count: Int) { self.count = count }

        var readCount: Int { self.read.withLock { $0 } }

        func next() -> Int? {
            self.read.withLock { read in
                guard read < self.count else { return nil }
                read += 1
                return read
            }
        }
    }

    /// A pipe that is faster than the server.
    @Test func nothingIsLostAndReadingWaits() async {
        let source = Source(count: 1_000)
        let waitingMax = 4
        var taken = 0
        for await number in ReadAhead(label: "test", waitingMax: waitingMax, read: source.next) {
            taken += 1
            #expect(number == taken)
            #expect(source.readCount <= taken + waitingMax)
        }
        #expect(taken == source.count)
    }
}

extension CoreClientTests {
    /// More lines than wait at a time, and then the end.
    @Test func everyPipedLineIsSentAndTheChatEnds() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
        let store = try ann.core.opened().store
        let client = try CoreClient.of(ann.core)
        let contact = try #require(try await client.contacts().first)
        let count = 60
        let lines = Mutex(0)
        let chat = LineChat(
            core: client, peer: contact, linger: .zero,
            lines: ReadAhead(label: "test", waitingMax: 8) {
                lines.withLock { line in
                    line += 1
                    return line <= count ? "\(line)" : nil
                }
            },
            say: { _ in })
        #expect(try await chat.run() == nil)
        client.close()
        let texts = try store.messages(with: contact.id, limit: count + 1).map(\.content)
        #expect(texts == (1...count).map { .text("\($0)") })
        await ann.core.close()
    }

    /// A daemon that ends in the middle ends the chat, with a word.
    @Test func aChatEndsWithItsDaemon() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob").id)
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","name":"Bob"}"#)
        let client = try CoreClient.beside(ann.core, at: self.hosts.folder.path + "/socket")
        let contact = try #require(try await client.contacts().first)
        try await client.learnStatus()
        let (started, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let chat = LineChat(
            core: client, peer: contact, linger: .zero,
            lines: ReadAhead(label: "test", waitingMax: 1) {
                end.wait()
                return nil
            }, say: { line in if line == "● online" { started.signal() } })
        let core = ann.core
        async let closed: Void = {
            await Blocking.run { started.wait() }
            await core.close()
        }()
        await #expect(throws: Problem.self) { _ = try await chat.run() }
        await closed
        end.signal()
    }
}
