import Contract
import Testing

@testable import WhisperClient

/// A server that says of everybody that they came in by code (contract §15.2): the secret of the link is used all the same.
@Suite(.timeLimit(.minutes(20))) struct DeniedLinkTests {
    private let people: EngineTests

    init() throws { self.people = try EngineTests() }

    private func isSalted(_ client: WhisperClient, _ room: UUIDText, _ peer: WhisperID) async -> Bool? {
        await client.visits[room]?.keys(of: .identity(peer))?.isSalted
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
                let room = try await alice.createRoom(RoomWish(room: .random(), participantsMax: 2, secret: secret))
                self.people.server.rooms.deniesLinks.withLock { $0 = true }
                try await bob.joinRoom(by: .link(room, secret))
                #expect(await self.isSalted(bob, room, aliceWords.id) == true)
                // Nor by what is said when he comes back.
                try await bob.joinRoom(by: .seat(room))
                #expect(await self.isSalted(bob, room, aliceWords.id) == true)
            }
        }
        // Nor after a restart.
        let again = try self.people.client("bob", bobWords)
        try await self.people.running([again]) {
            await self.people.online(again)
            let room = try #require(try await again.rooms().first?.room)
            try await again.joinRoom(by: .seat(room))
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
                try await bob.joinRoom(by: .link(room, .random()))
                Issue.record("there is no such room")
            } catch LiveError.notFound {}
            let secret = try bob.roomStore.secret(of: room)
            #expect(secret == nil)
        }
    }
}
