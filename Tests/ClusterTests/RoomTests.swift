import Contract
import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §15 over whole gateways: a room by code and by link, sealed signals, and what a lost connection costs.
    @Suite struct Rooms {
        @Test func twoMeetByCodeAndSignal() async throws {
            let room = Room()
            let phone = try await Cluster.phone(gateway: 1)
            let made = try await phone.ask("room_create", room.create(phone.person.keys)).expecting("room_joined")
                .payload
            let code = try #require(made["code"]?.string)
            #expect(code.count == 6 && made["state"]?.string == "pending" && made["seat"]?.integer == 1)
            #expect(made["turn"] == nil)

            let keys = Keys()
            let guest = try await GuestClient.proved(keys, gateway: 2)
            let joined = try await guest.client.ask("room_join", guest.fields(room.join(keys, code: code)))
                .expecting("room_joined").payload
            #expect(joined["seat"]?.integer == 2 && joined["code"] == nil)
            #expect(joined["turn"]?["credential"] != nil)
            let relays = try await phone.ask("room_turn", room.named).expecting("turn_credentials").payload
            #expect(relays["username"] != joined["turn"]?["username"])
            let event = try await phone.client.next("room_event").payload
            #expect(event["event"]?.string == "joined" && event["participant"]?.string == guest.id)
            #expect(event["room"]?["revision"] == joined["revision"])

            // Each way, in order, byte for byte.
            let offers = (0..<3).map { _ in room.signal("offer", from: phone.id, to: guest.id, by: phone.person.keys) }
            for offer in offers { phone.client.send("room_signal", phone.privileges.with(offer)) }
            for offer in offers {
                let read = try await guest.client.next("room_signal").payload
                #expect(read["ciphertext"] == offer["ciphertext"]?.json && read["sig"] == offer["sig"]?.json)
            }
            let answer = room.signal("answer", from: guest.id, to: phone.id, by: keys)
            guest.client.send("room_signal", guest.fields(answer))
            #expect(try await phone.client.next("room_signal").payload["nonce"] == answer["nonce"]?.json)
            let forged = room.signal("bye", from: guest.id, to: phone.id, by: Keys())
            #expect(try await guest.client.ask("room_signal", guest.fields(forged)).errorCode == "AUTH_FAILED")

            let closed = try await phone.ask("room_close", room.named).expecting("room_left")
            #expect(closed.payload["roomId"]?.string == room.id)
            #expect(try await guest.client.next("room_event").payload["event"]?.string == "closed")
            #expect(try await guest.client.ask("room_turn", guest.fields(room.named)).errorCode == "NOT_FOUND")
        }

        @Test func whoeverLosesItsConnectionComesBackToItsSeat() async throws {
            let room = Room()
            let phone = try await Cluster.phone(gateway: 1)
            try await phone.ask("room_create", room.create(phone.person.keys)).expecting("room_joined")
            let keys = Keys()
            let guest = try await GuestClient.proved(keys, gateway: 2)
            let link = guest.fields(room.join(keys, proof: room.proof))
            try await guest.client.ask("room_join", link).expecting("room_joined")
            #expect(try await phone.client.next("room_event").payload["event"]?.string == "joined")
            guest.client.cut()
            let away = try await phone.client.next("room_event", within: .seconds(30)).payload
            #expect(away["event"]?.string == "away" && away["participant"]?.string == guest.id)
            let offer = room.signal("restart", from: phone.id, to: guest.id, by: phone.person.keys)
            phone.client.send("room_signal", phone.privileges.with(offer))
            try await phone.client.settle()

            let again = try await GuestClient.proved(keys, gateway: 1)
            let back = try await again.client.ask("room_join", again.fields(room.join(keys))).expecting("room_joined")
            #expect(back.payload["seat"]?.integer == 2)
            #expect(try await again.client.next("room_signal").payload["nonce"] == offer["nonce"]?.json)
            #expect(try await phone.client.next("room_event").payload["event"]?.string == "back")
            let listed = try await phone.ask("room_list", [:]).expecting("rooms").payload
            #expect(listed["rooms"]?.elements.map { $0["roomId"]?.string } == [room.id])
            let purged = try await phone.ask("room_purge", [:]).expecting("room_purged").payload
            #expect(purged["closed"]?.integer == 1)
            #expect(try await again.client.next("room_event").payload["event"]?.string == "closed")
        }

        /// Two clients join with one code at the same moment: one gets the last seat, the other `NOT_FOUND`.
        @Test func oneOfTwoGetsTheLastSeat() async throws {
            let room = Room()
            let phone = try await Cluster.phone(gateway: 1)
            let made = try await phone.ask("room_create", room.create(phone.person.keys)).expecting("room_joined")
            let code = try #require(made.payload["code"]?.string)
            let others = [try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2)]
            let answers = try await withThrowingTaskGroup(of: (String?, String?).self) { group in
                for other in others {
                    group.addTask {
                        let answer = try await other.ask("room_join", room.join(other.person.keys, code: code))
                        return (answer.type, answer.errorCode)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count { $0.0 == "room_joined" } == 1)
            #expect(answers.count { $0.1 == "NOT_FOUND" } == 1)
        }

        /// A room that is there and one that is not are one answer, and so are all wrong codes.
        @Test func toStrangersItIsUnknown() async throws {
            let (room, none) = (Room(), Room())
            let phone = try await Cluster.phone()
            try await phone.ask("room_create", room.create(phone.person.keys)).expecting("room_joined")
            let stranger = try await Cluster.phone(gateway: 2)
            let keys = stranger.person.keys
            for type in ["room_turn", "room_poke", "room_code"] {
                let answers = [
                    try await stranger.ask(type, room.named).refusal, try await stranger.ask(type, none.named).refusal,
                ]
                #expect(answers[0] == answers[1] && answers[0].first == "NOT_FOUND", "\(type)")
            }
            let answers = [
                try await stranger.ask("room_join", room.join(keys)).refusal,
                try await stranger.ask("room_join", none.join(keys)).refusal,
                try await stranger.ask("room_join", room.join(keys, proof: Keys.random(32))).refusal,
                try await stranger.ask("room_join", room.join(keys, code: "0000000000")).refusal,
            ]
            #expect(Set(answers).count == 1)
            #expect(answers[0].first == "NOT_FOUND")
        }
    }
}

extension JSONFrame {
    /// Code and text, which tell one refusal from another.
    fileprivate var refusal: [String?] { [self.payload["code"]?.string, self.payload["message"]?.string] }
}
