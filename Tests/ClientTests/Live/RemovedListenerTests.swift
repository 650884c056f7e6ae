import Contract
import Foundation
import TestKit
import Testing

@testable import WhisperClient

/// Contract §13b: after a removal no packet is sealed under a generation that the removed one has had, whatever the server
/// has answered by then. The server here records all packets, and gives the removed one what it wants.
@Suite(.timeLimit(.minutes(20))) struct RemovedListenerTests {
    private let people: EngineTests
    private var live: FakeLive { self.people.server.live }
    private let guests = (0..<2).map { number in
        GuestKeys(secret: SecretBytes([UInt8](repeating: UInt8(number + 1), count: 64)))
    }

    init() throws { self.people = try EngineTests() }

    private func id(_ guest: GuestKeys) -> PrincipalID { .guest(guest.id) }

    /// The server tells the whisperer that a guest knocks, and the guest is let in by its link.
    private func letIn(_ guest: GuestKeys, to conversation: OwnConversation, of whisperer: WhisperClient) async throws {
        let time = await whisperer.serverNow
        let note = KnockNote(
            name: "Bert", passcode: nil, note: nil, by: self.id(guest), on: conversation.id, at: time,
            link: conversation.link)
        let signed = try note.sealed(
            for: conversation.id, keys: conversation.keys.publicKeys, from: self.id(guest), at: time,
            signer: guest.pair)
        let keys = guest.pair.publicKeys
        let knocked = LiveKnocked(
            conversation: conversation.id, listener: self.id(guest), isKnown: false, signPublicKey: keys.sign,
            encPublicKey: keys.box, knock: LiveSealedKnock(signed))
        self.people.server.tell(
            "live_knocked", String(decoding: knocked.json, as: UTF8.self), to: "\(aliceWords.id)")
        try await self.until("the guest has a key") { !self.keys(of: guest, conversation).isEmpty }
    }

    /// All content keys that the server can hand to a guest.
    private func keys(of guest: GuestKeys, _ conversation: OwnConversation) -> [ContentKey] {
        self.live.state.withLock(\.grants).flatMap { frame in
            frame.grants.filter { $0.to == self.id(guest) }.compactMap { grant in
                frame.signed(grant).opened(
                    as: .grant(to: self.id(guest)), of: conversation.id, signedBy: conversation.keys.publicKeys,
                    reader: guest.pair
                ).flatMap { GrantNote.contentKey($0, generation: frame.generation) }
            }
        }
    }

    /// Packets that a guest can read, of those behind the first `count`.
    private func readable(by guest: GuestKeys, _ conversation: OwnConversation, behind count: Int) -> Int {
        let keys = self.keys(of: guest, conversation)
        return self.live.packets.dropFirst(count).count { packet in
            keys.contains {
                $0.generation == packet.header.generation && $0.open(packet.sealed, as: packet.header) != nil
            }
        }
    }

    private func listening(_ guest: GuestKeys) -> LiveListener {
        LiveListener(
            listener: self.id(guest), status: .joined, since: Timestamp(milliseconds: 1_730_000_000_000), generation: 1,
            signPublicKey: guest.pair.publicKeys.sign, encPublicKey: guest.pair.publicKeys.box, knock: nil)
    }

    private func until(_ what: Comment, _ isSo: () -> Bool) async throws {
        for _ in 0..<20_000 {
            if isSo() { return }
            try await Task.sleep(for: .milliseconds(1))
        }
        Issue.record(what)
    }

    private func typed(_ text: String, in conversation: OwnConversation, of whisperer: WhisperClient) async throws {
        let before = self.live.packets.count
        try await whisperer.with { try $0.streams.type(text, in: conversation.id, $0) }
        try await self.until("a packet goes out") { self.live.packets.count > before }
    }

    private func talk(_ whisperer: WhisperClient) async throws -> OwnConversation {
        let conversation = try await whisperer.with {
            let conversation = try $0.conversations.make(
                name: "talk", title: "Talk", whisperer: "Alice", admission: .link, passcode: nil, transcriptDays: 0, $0)
            try $0.streams.whisper(in: conversation, $0)
            return conversation
        }
        try await self.until("the stream begins") { self.live.state.withLock(\.epoch) == 1 }
        return conversation
    }

    /// - Parameter others: how many listen besides. Without them there is nobody to give new keys to.
    @Test(arguments: [0, 1], [false, true])
    func whoIsRemovedReadsNothingMore(others: Int, isBlocked: Bool) async throws {
        let alice = try self.people.client("alice", aliceWords)
        try await self.people.running([alice]) {
            await self.people.online(alice)
            let conversation = try await self.talk(alice)
            for guest in self.guests.prefix(1 + others) { try await self.letIn(guest, to: conversation, of: alice) }
            try await self.typed("for Bert", in: conversation, of: alice)
            #expect(self.readable(by: self.guests[0], conversation, behind: 0) > 0)

            self.live.state.withLock { $0.answersRotations = false }
            let before = self.live.packets.count
            try await alice.with {
                try $0.streams.remove(self.id(self.guests[0]), isBlocked: isBlocked, in: conversation.id, $0)
            }
            try await alice.with { try $0.streams.type("not for Bert\nnor this", in: conversation.id, $0) }
            try await self.until("the next generation is asked for") {
                self.live.state.withLock { $0.grants.last?.generation } == 2
            }
            // The server says nothing, and on another connection that all of them listen as before.
            self.live.state.withLock { $0.listeners = self.guests.prefix(1 + others).map(self.listening) }
            self.people.server.breakConnections()
            try await self.until("another connection") { self.live.state.withLock(\.epoch) == 2 }
            try await self.until("the next generation is asked for again") {
                self.live.state.withLock { $0.grants.count { $0.generation == 2 } } == 2
            }
            #expect(self.live.packets.count == before, "content waits until the new keys are there")

            self.live.answerRotations()
            try await self.until("what was typed goes out") { self.live.packets.count >= before + 3 }
            #expect(self.live.packets.dropFirst(before).allSatisfy { $0.header.generation == 2 })
            #expect(self.readable(by: self.guests[0], conversation, behind: before) == 0)
            if others > 0 { #expect(self.readable(by: self.guests[1], conversation, behind: before) > 0) }
        }
    }

    /// A server that has the whisperer believe in an older generation gets neither content nor keys of it.
    @Test func noOlderGenerationIsUsedAgain() async throws {
        var used = 0
        do {
            let alice = try self.people.client("alice", aliceWords)
            try await self.people.running([alice]) {
                await self.people.online(alice)
                let conversation = try await self.talk(alice)
                try await self.letIn(self.guests[0], to: conversation, of: alice)
                try await alice.with {
                    try $0.streams.remove(self.id(self.guests[0]), isBlocked: false, in: conversation.id, $0)
                }
                try await self.typed("not for Bert", in: conversation, of: alice)
                used = self.live.packets.count
            }
        }
        self.live.state.withLock {
            $0.generation = 1
            $0.answersRotations = false
        }
        let alice = try self.people.client("alice", aliceWords)
        try await self.people.running([alice]) {
            await self.people.online(alice)
            let conversation = try #require(try alice.conversations.find(named: "talk"))
            try await alice.with { try $0.streams.whisper(in: conversation, $0) }
            try await self.until("the stream goes on") { self.live.state.withLock(\.epoch) == 2 }
            try await alice.with { try $0.streams.type("nor this", in: conversation.id, $0) }
            try await self.until("the generation is asked for again") {
                self.live.state.withLock { $0.grants.count { $0.generation == 2 } } == 2
            }
            #expect(self.live.packets.count == used)
            self.live.answerRotations()
            try await self.until("it goes out") { self.live.packets.count > used }
            #expect(self.live.packets.dropFirst(used).allSatisfy { $0.header.generation == 2 })
            #expect(self.readable(by: self.guests[0], conversation, behind: used) == 0)
        }
    }
}
