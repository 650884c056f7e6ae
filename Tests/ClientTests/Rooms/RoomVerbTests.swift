import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Rooms as verbs and events of the core: two hosts with WebRTC stacks that the test plays (contract §15).
@Suite(.timeLimit(.minutes(20))) struct RoomVerbTests {
    let hosts: CoreHosts

    init() throws { self.hosts = try CoreHosts() }

    private func signal(_ host: CoreHost, _ kind: String) async throws -> JSON {
        try await host.next("roomSignal") { $0["kind"]?.string == kind }
    }

    /// A stack makes an offer, another answers, and both find each other's addresses.
    private func link(_ ann: CoreHost, _ bob: CoreHost, in room: String) async throws {
        let (annID, bobID) = (try await ann.id, try await bob.id)
        let offer = try await self.signal(ann, "offer")
        #expect(offer["from"]?.string == bobID && offer["roomId"]?.string == room)
        let (to, link) = (#""roomId":"\#(room)","to":"\#(bobID)""#, offer["link"]?.integer ?? 0)
        try await ann.perform(#"room_signal {\#(to),"link":\#(link),"kind":"offer","sdp":"v=0 ann"}"#)
        try await ann.perform(
            #"room_signal {\#(to),"link":\#(link),"kind":"candidate","candidate":"of ann","sdpMLineIndex":0,"sdpMid":"0"}"#
        )

        let accept = try await self.signal(bob, "accept")
        #expect(accept["sdp"]?.string == "v=0 ann" && accept["isFresh"] == .bool(true))
        #expect(accept["from"]?.string == annID)
        let candidate = try await self.signal(bob, "candidate")
        #expect(candidate["candidate"]?.string == "of ann" && candidate["sdpMLineIndex"]?.integer == 0)
        #expect(candidate["sdpMid"]?.string == "0")
        let (back, number) = (#""roomId":"\#(room)","to":"\#(annID)""#, accept["link"]?.integer ?? 0)
        try await bob.perform(#"room_signal {\#(back),"link":\#(number),"kind":"answer","sdp":"v=0 bob"}"#)
        try await bob.perform(#"room_signal {\#(back),"link":\#(number),"kind":"candidate","candidate":"of bob"}"#)
        #expect(try await self.signal(ann, "answer")["sdp"]?.string == "v=0 bob")
        #expect(try await self.signal(ann, "candidate")["candidate"]?.string == "of bob")

        try await ann.perform(#"room_signal {\#(to),"link":\#(link),"kind":"connected"}"#)
        try await bob.perform(#"room_signal {\#(back),"link":\#(number),"kind":"connected"}"#)
        for host in [ann, bob] {
            try await host.next("roomChanged") { event in
                event["room"]?["participants"]?.elements.contains { $0["isLinked"] == .bool(true) } ?? false
            }
        }
    }

    /// Moves one message of a channel from a core's stack to another's.
    @discardableResult
    private func carry(_ kind: String, _ one: CoreHost, _ other: CoreHost, _ link: Int64) async throws -> JSON {
        let data = try await one.next("roomData") { event in
            event["channel"]?.string == "talk" && event["text"]?.string?.hasPrefix(#"{"t":"\#(kind)""#) ?? false
        }
        let text = JSON.string(data["text"]?.string ?? "").text
        try await other.perform(
            #"room_data {"roomId":"\#(data["roomId"]?.string ?? "")","to":"\#(try await one.id)","link":\#(link),"text":\#(text)}"#
        )
        return data
    }

    /// A message of one is shown at the other, whose receipt comes back. Nothing of it is kept.
    @Test func whatIsSaidArrivesAndItsAuthorKnows() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob"))
        let (annID, bobID) = (try await ann.id, try await bob.id)
        let room = try #require(try await ann.ask("room_create")["room"])
        let id = try #require(room["roomId"]?.string)
        let say = #"room_say {"roomId":"\#(id)","text":"Is this thing on?"}"#
        #expect(try await ann.refusal(say).hasPrefix("wrongStage"))
        #expect(try await ann.perform(#"room_name {"name":"An\u202en"}"#)["name"]?.string == "Ann")
        #expect(try await ann.refusal(#"room_name {"name":"\u0007"}"#) == "invalidField name")
        try await bob.ask(#"room_join {"code":"\#(room["code"]?.string ?? "")"}"#)
        try await ann.next("roomChanged") { $0["room"]?["participants"]?.elements.count == 2 }
        // Before there is any connection.
        let said = try #require(try await ann.perform(say)["id"]?.string)
        func isIn(_ state: String) async throws {
            let event = try await ann.next("roomMessageState") { $0["state"]?.string == state }
            #expect(event["id"]?.string == said && event["to"]?.string == bobID && event["roomId"]?.string == id)
        }
        try await isIn("waiting")
        try await self.link(ann, bob, in: id)
        try await self.carry("hello", ann, bob, 1)
        #expect(try await bob.next("roomPerson")["name"]?.string == "Ann")
        try await self.carry("hello", bob, ann, 1)
        try await isIn("sent")
        try await self.carry("say", ann, bob, 1)
        let heard = try await bob.next("roomMessage")
        #expect(heard["id"]?.string == said && heard["from"]?.string == annID && heard["name"]?.string == "Ann")
        #expect(heard["text"]?.string == "Is this thing on?")
        try await self.carry("got", bob, ann, 1)
        try await isIn("got")
        try await ann.perform(#"room_signal {"roomId":"\#(id)","to":"\#(bobID)","link":1,"kind":"low"}"#)

        // Data of another connection, data of an older page, and a departure.
        let data = #"room_data {"roomId":"\#(id)","to":"\#(annID)","#
        try await bob.perform(data + #""link":9,"channel":"chat","text":"from nowhere"}"#)
        try await bob.perform(data + #""link":1,"channel":"chat","text":"without an id"}"#)
        #expect(try await bob.next("roomMessage")["text"]?.string == "without an id")
        #expect(try await bob.refusal(data + #""link":1}"#) == "invalidField text")
        try await bob.perform(data + #""link":1,"base64":""}"#)
        let long = String(repeating: "é", count: 4_001)
        #expect(try await ann.refusal(#"room_say {"roomId":"\#(id)","text":"\#(long)"}"#) == "tooLong text")
        try await ann.ask(#"room_leave {"roomId":"\#(id)"}"#)
        try await self.carry("bye", ann, bob, 1)
        #expect(try await self.signal(bob, "drop")["from"]?.string == annID)
        #expect(try await ann.refusal(say) == "notFound roomId")
        await ann.core.close()
        await bob.core.close()
    }

    private func number(_ host: CoreHost, _ room: String) async throws -> [String] {
        try await host.perform(#"room_get {"roomId":"\#(room)"}"#)["room"]?["participants"]?.elements
            .compactMap { $0["safetyNumber"]?.string } ?? []
    }

    @Test func twoHostsMeetByCodeAndOneIsSentOut() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob"))
        let bobID = try await bob.id
        let room = try #require(try await ann.ask("room_create")["room"])
        let id = try #require(room["roomId"]?.string)
        let code = try #require(room["code"]?.string)
        #expect(room["state"]?.string == "pending" && room["participantsMax"]?.integer == 2)
        #expect(room["link"]?.string?.hasPrefix("http://127.0.0.1:1/join/\(id)#") == true)
        // Relays come with whom to talk with.
        #expect(room["turn"] == nil && room["own"] == room["host"])

        #expect(try await bob.refusalOfServer(#"room_join {"code":"111111"}"#) == "notFound")
        let entered = try await bob.ask(#"room_join {"code":"\#(code)"}"#)["room"]
        #expect(entered?["turn"]?["urls"]?.elements.count == 1)
        #expect(entered?["state"]?.string == "accepted" && entered?["code"] == nil && entered?["link"] == nil)
        #expect(try await ann.next("roomEvent")["participant"]?.string == bobID)
        try await self.link(ann, bob, in: id)
        #expect(
            try await ann.perform(#"room_get {"roomId":"\#(id)"}"#)["room"]?["turn"]?["urls"]?.elements.count == 1)
        let numbers = try await self.number(ann, id)
        #expect(numbers.count == 1 && numbers[0].count == 24)
        #expect(try await self.number(bob, id) == numbers)

        // A signal of a connection that is gone changes nothing.
        try await ann.perform(#"room_signal {"roomId":"\#(id)","to":"\#(bobID)","link":99,"kind":"failed"}"#)
        #expect(try await bob.refusalOfServer(#"room_close {"roomId":"\#(id)"}"#) == "forbidden")
        #expect(
            try await ann.ask(#"room_remove {"roomId":"\#(id)","participant":"\#(bobID)"}"#)["participant"]?.string
                == bobID)
        #expect(try await self.signal(bob, "drop")["roomId"]?.string == id)
        #expect(try await bob.next("roomEnded")["reason"]?.string == "removed")
        #expect(try await bob.refusal(#"room_get {"roomId":"\#(id)"}"#) == "notFound roomId")
        #expect(
            try await bob.refusal(
                #"room_signal {"roomId":"\#(id)","to":"\#(bobID)","link":1,"kind":"connected"}"#) == "notFound roomId")
        try await ann.next("roomChanged") { $0["room"]?["participants"]?.elements.count == 1 }
        await ann.core.close()
        await bob.core.close()
    }

    /// By link, and all that a host may change. Each frame about rooms that the contract has for clients goes out.
    @Test func aHostChangesItsRoom() async throws {
        let (ann, bob) = (try await self.hosts.online("ann"), try await self.hosts.online("bob"))
        let (annID, bobID) = (try await ann.id, try await bob.id)
        let id = "0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7e"
        let create = #"room_create {"roomId":"\#(id)","participantsMax":3,"codeDigits":0}"#
        let room = try await ann.ask(create)["room"]
        #expect(room?["code"] == nil)
        let link = try #require(room?["link"]?.string)
        // A host that has lost the answer asks again, and has the same room by the same link.
        #expect(try await ann.ask(create)["room"]?["link"]?.string == link)

        let named = #"{"roomId":"\#(id)"}"#
        #expect(
            try await ann.ask(#"room_update {"roomId":"\#(id)","isLocked":true}"#)["room"]?["isLocked"] == .bool(true))
        #expect(try await bob.refusalOfServer(#"room_join {"link":"\#(link)"}"#) == "forbidden")
        try await ann.ask(#"room_update {"roomId":"\#(id)","isLocked":false,"participantsMax":4}"#)
        #expect(try await bob.ask(#"room_join {"link":"\#(link)"}"#)["room"]?["link"]?.string == link)
        try await self.link(ann, bob, in: id)
        #expect(try await ann.ask(#"room_code {"roomId":"\#(id)","codeDigits":6}"#)["code"]?.string == "735402")
        #expect(try await ann.ask("room_poke \(named)")["woken"]?.integer == 1)
        #expect(try await bob.ask("room_turn \(named)")["turn"]?["ttl"]?.integer == 43_200)
        #expect(try await bob.ask("room_list")["rooms"]?.elements.map { $0["roomId"]?.string } == [id])

        try await ann.ask(#"room_update {"roomId":"\#(id)","host":"\#(bobID)"}"#)
        try await bob.next("roomChanged") { $0["room"]?["host"]?.string == bobID }
        #expect(try await ann.ask("room_leave \(named)")["roomId"]?.string == id)
        #expect(try await self.signal(bob, "drop")["from"]?.string == annID)
        try await bob.ask("room_close \(named)")
        #expect(try await bob.next("roomEnded")["reason"]?.string == "left")
        try await bob.ask("room_create")
        let purged = try await bob.ask("room_purge")
        #expect(purged["closed"]?.integer == 1 && purged["left"]?.integer == 0)
        try await ann.ask("room_create")
        let other = try await self.hosted(ann)
        try await ann.ask(#"room_remove {"roomId":"\#(other)","participant":"\#(bobID)"}"#)
        #expect(self.hosts.server.rooms.types == FakeRooms.typesOfClients)
        await ann.core.close()
        await bob.core.close()
    }

    private func hosted(_ host: CoreHost) async throws -> String {
        try await host.ask("room_list")["rooms"]?[0]?["roomId"]?.string ?? ""
    }

    @Test func whatFitsNoRoomIsRefused() async throws {
        let ann = try await self.hosts.online("ann")
        let secret = String(repeating: "A", count: 22)
        let id = "0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7e"
        for (command, refusal) in [
            (#"room_create {"codeDigits":7}"#, "invalidField codeDigits"),
            ("room_join", "invalidField code"),
            (#"room_join {"code":"402917","roomId":"\#(id)"}"#, "invalidField code"),
            (#"room_join {"code":"4029171"}"#, "invalidField code"),
            (#"room_join {"link":"http://127.0.0.1:1/join/x"}"#, "invalidField link"),
            (#"room_join {"link":"https://other.example/join/\#(id)#\#(secret)"}"#, "invalidField link"),
            (#"room_join {"roomId":"\#(id)"}"#, "notFound"), (#"room_update {"roomId":"\#(id)"}"#, "invalidField"),
        ] {
            #expect(try await ann.refusalOfServer(command) == refusal, "\(command)")
        }
        for fields in [
            #""kind":"offer""#, #""kind":"connected","sdp":"x""#, #""kind":"candidate","sdp":"x""#,
            #""kind":"answer","sdp":"x","candidate":"x""#,
        ] {
            let command = #"room_signal {"roomId":"\#(id)","to":"WSP-AAAA-AAAA-AAAA","link":1,\#(fields)}"#
            #expect(try await ann.refusal(command) == "invalidField kind", "\(command)")
        }
        try await ann.perform("disconnect")
        #expect(try await ann.refusalOfServer("room_list") == "offline")
        await ann.core.close()
    }
}
