import LocalStack
import TestKit
import Testing

extension CalmCluster.Rooms {
    /// `GET /rooms` (contract §15.1): the same as `room_list`, for sessions and guests, over the balancer.
    @Test func roomsAreListedOverHTTP() async throws {
        let room = Room()
        let phone = try await Cluster.phone(gateway: 1)
        #expect(try await phone.rooms() == [])
        try await phone.ask("room_create", room.create(phone.person.keys)).expecting("room_joined")
        let keys = Keys()
        let guest = try await GuestClient.proved(keys, gateway: 2)
        let link = guest.fields(room.join(keys, proof: room.proof))
        try await guest.client.ask("room_join", link).expecting("room_joined")

        let listed = try await phone.ask("room_list", [:]).expecting("rooms").payload["rooms"]?.elements
        #expect(listed?.map { $0["roomId"]?.string } == [room.id])
        #expect(try await phone.rooms() == listed)
        #expect(try await Self.rooms(guest.token) == listed)
        // A guest that has left has no seat there.
        try await guest.client.ask("room_leave", guest.fields(room.named)).expecting("room_left")
        #expect(try await Self.rooms(guest.token) == [])
        #expect(try await phone.rooms().count == 1)
    }

    @Test func strangersAndBannedGuestsSeeNoRooms() async throws {
        let stack = Cluster.stack
        #expect(try await HTTPCall("GET", stack.publicURL + "/rooms").answer().is(401, "NOT_REGISTERED"))
        #expect(try await Self.answer(String.tokenOfNobody).is(401, "NOT_REGISTERED"))
        let guest = try await GuestClient.proved(Keys())
        #expect(try await Self.answer(guest.token).status == 200)
        let body: Fields = ["guestId": guest.id, "reason": "a test"]
        try await Operators.post("/admin/ban", body).expectSuccess()
        #expect(try await Self.answer(guest.token).is(403, "USER_BANNED"))
    }

    /// Contract §14.3: a token dies with the guest's next proof.
    @Test func anOlderTokenOfAGuestSeesNoRooms() async throws {
        let keys = Keys()
        let older = try await GuestClient.proved(keys)
        let newer = try await GuestClient.proved(keys)
        #expect(try await Self.answer(newer.token).status == 200)
        #expect(try await Self.answer(older.token).is(401, "NOT_REGISTERED"))
    }

    static func answer(_ token: String) async throws -> HTTPCall.Answer {
        try await HTTPCall(
            "GET", Cluster.stack.publicURL + "/rooms", headers: ["Authorization": "Bearer \(token)"]
        ).answer()
    }

    static func rooms(_ token: String) async throws -> [JSON]? {
        let answer = try await self.answer(token)
        #expect(answer.status == 200)
        return answer.json["rooms"]?.elements
    }
}

extension Phone {
    fileprivate func rooms() async throws -> [JSON] {
        let answer = try await self.http("GET", "/rooms")
        #expect(answer.status == 200)
        return answer.json["rooms"]?.elements ?? []
    }
}
