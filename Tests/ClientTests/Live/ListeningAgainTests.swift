import Contract
import Foundation
import Logging
import Testing

@testable import WhisperClient

/// A listener leaves and listens again while the answer to its first question is still on its way.
@Suite(.timeLimit(.minutes(20))) struct ListeningAgainTests {
    private let engine: EngineTests

    init() throws { self.engine = try EngineTests() }

    private static let conversation = ConversationID("3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61")!
    private static let joined = """
        {"type":"live_joined","payload":{"conversationId":"\(Self.conversation)","state":"idle","epoch":0,\
        "generation":1,"isTranscribed":false,"seq":0}}
        """

    @Test func theAnswerToAnEarlierVisitIsNotTaken() async throws {
        let alice = try self.engine.client("alice", aliceWords)
        let link = ListenLink(
            origin: "http://127.0.0.1:1", conversation: Self.conversation,
            secret: SecretBytes([UInt8](repeating: 7, count: 16)))
        let look = ConversationLook(
            publicKeys: IdentityKeys(bobWords).publicKeys,
            info: ConversationInfo(conversation: "talk", whisperer: "Bob", admission: .link), state: .idle,
            isTranscribed: false)
        try await self.engine.running([alice]) {
            await self.engine.online(alice)
            // It was let in before, so it joins without knocking.
            try LiveStore(alice.store, keys: await alice.keys).set(
                HeardConversation(
                    link: link, title: "talk", whisperer: "Bob", generation: 1, listenedAt: Timestamp(milliseconds: 1)),
                at: Timestamp(milliseconds: 1))
            let first = try await self.listen(alice, link, look, joins: 1)
            async let left: Void = alice.with { try await $0.heard.stop(to: Self.conversation, $0) }
            try await self.wait { self.engine.server.frames("live_leave").count == 1 }
            let second = try await self.listen(alice, link, look, joins: 2)
            #expect(first < second)
            let frame = try ServerMessage(Array(Self.joined.utf8)).frame
            _ = await alice.with { $0.heard.take(frame, answering: first, $0) }
            #expect(await !alice.hasJoined(Self.conversation))
            _ = await alice.with { $0.heard.take(frame, answering: second, $0) }
            #expect(await alice.hasJoined(Self.conversation))
            await alice.with { $0.questions.fail() }
            try? await left
        }
    }

    /// - Returns: the number of the question that joins.
    private func listen(
        _ client: WhisperClient, _ link: ListenLink, _ look: ConversationLook, joins: Int
    ) async throws -> UInt64 {
        try await client.with {
            try $0.heard.listen(to: link, look, name: "Ann", passcode: nil, note: nil, $0)
        }
        try await self.wait { self.engine.server.frames("live_join").count == joins }
        return await client.with { $0.questions.count }
    }

    /// Until it is so, or the test's time is over.
    private func wait(_ isSo: () -> Bool) async throws {
        while !isSo() {
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

extension WhisperClient {
    fileprivate func hasJoined(_ id: ConversationID) -> Bool { self.heard.state(of: id) == .joined }
}
