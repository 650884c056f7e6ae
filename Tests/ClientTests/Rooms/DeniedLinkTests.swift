import Contract
import Testing

@testable import WhisperClient

/// A server that says of everybody that they came in by code (contract §15.2): the secret of the link is used all the same.
@Suite(.timeLimit(.minutes(20))) struct DeniedLinkTests {
    private let people: EngineTests

    init() throws { self.people = try EngineTests() }

    private func isSalted(_ client: WhisperClient, _ room: UUIDText, _ peer: WhisperID) async -> Bool? {
        await client.with { $0.rooms.isSalted(for: .identity(peer), in: room) }
    }

    @Test func oneWordOfTheServerTurnsNoSecretOff() async throws {
        do {
            let (alice, bob) = (
                try self.people.client("alice", aliceWords), try self.people.client("bob", bobWords)
            )
            try await self.people.running([alice, bob]) {
                await self.people.online(alice)
                await self.people.online(bob)
                let secret = RoomSecret.random()
                let room = try await alice.with {
                    try await $0.rooms.create(RoomWish(room: .random(), participantsMax: 2, secret: secret), $0)
                }
                self.people.server.rooms.deniesLinks.withLock { $0 = true }
                try await bob.with { _ = try await $0.rooms.join(by: .link(room, secret), $0) }
                #expect(await self.isSalted(bob, room, aliceWords.id) == true)
                // Nor by what is said when he comes back.
                try await bob.with { _ = try await $0.rooms.join(by: .seat(room), $0) }
                #expect(await self.isSalted(bob, room, aliceWords.id) == true)
            }
        }
        // Nor after a restart.
        let again = try self.people.client("bob", bobWords)
        try await self.people.running([again]) {
            await self.people.online(again)
            let room = try #require(try await again.with { try await $0.rooms.list($0) }.first?.room)
            try await again.with { _ = try await $0.rooms.join(by: .seat(room), $0) }
            #expect(await self.isSalted(again, room, aliceWords.id) == true)
        }
    }

    /// A link that opened nothing is no way in: by code one comes without its secret.
    @Test func aLinkThatOpenedNothingIsForgotten() async throws {
        let bob = try self.people.client("bob", bobWords)
        try await self.people.running([bob]) {
            await self.people.online(bob)
            let room = UUIDText.random()
            do {
                try await bob.with { _ = try await $0.rooms.join(by: .link(room, .random()), $0) }
                Issue.record("there is no such room")
            } catch LiveError.notFound {}
            let secret = try RoomStore(bob.store, keys: await bob.keys).secret(of: room)
            #expect(secret == nil)
        }
    }
}
