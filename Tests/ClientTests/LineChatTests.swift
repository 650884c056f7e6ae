import Contract
import Synchronization
import Testing

@testable import WhisperClient
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

extension EngineTests {
    /// More lines than wait at a time, and then the end.
    @Test func everyPipedLineIsSentAndTheChatEnds() async throws {
        _ = self.server.enroll(IdentityKeys(bobWords).publicKeys)
        let alice = try self.client("alice", aliceWords)
        let count = 60
        let lines = Mutex(0)
        try await self.running([alice]) {
            await self.online(alice)
            let bob = try await alice.addContact(bobID, name: "Bob")
            let chat = LineChat(
                client: alice, peer: bob, linger: .zero,
                lines: ReadAhead(label: "test", waitingMax: 8) {
                    lines.withLock { line in
                        line += 1
                        return line <= count ? "\(line)" : nil
                    }
                },
                say: { _ in })
            #expect(try await chat.run() == nil)
        }
        let texts = try alice.store.messages(with: bobID, limit: count + 1).map(\.content)
        #expect(texts == (1...count).map { .text("\($0)") })
    }
}
