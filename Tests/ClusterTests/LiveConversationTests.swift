import Contract
import LocalStack
import TestKit
import Testing

extension CalmCluster {
    /// Contract §14.6 to §14.8, over whole gateways: from a link to a listener that may read, and out again.
    @Suite struct LiveConversations {
        @Test func aGuestKnocksIsAdmittedAndRemoved() async throws {
            let (phone, profile) = try await Self.whisperer(gateway: 1)
            let live = Conversation(profile: profile)
            let made = try await phone.ask("live_create", live.create(by: phone.id)).expecting("live_conversation")
            #expect(made.payload["state"]?.string == "idle" && made.payload["generation"]?.integer == 1)

            let look = try await live.look()
            #expect(look.status == 200)
            #expect(look.json["conversationId"]?.string == live.id)
            #expect(look.json["signPublicKey"]?.string == live.keys.signPublicKey.base64)
            #expect(look.json["isTranscribed"] == .bool(false))

            let start = live.named.with(["contentId": newUUID()])
            let started = try await phone.ask("live_start", start).expecting("live_started")
            #expect(started.payload["epoch"]?.integer == 1 && started.payload["line"]?.integer == 0)

            let keys = Keys()
            let guest = try await GuestClient.proved(keys, gateway: 2)
            let knock = live.knock(by: guest, keys)
            let waiting = try await guest.client.ask("live_knock", knock).expecting("live_waiting")
            #expect(waiting.payload["state"]?.string == "live")
            let knocked = try await phone.client.next("live_knocked").payload
            #expect(knocked["listener"]?.string == guest.id && knocked["isKnown"] == .bool(false))
            #expect(knocked["knock"]?["sig"] == knock["sig"]?.json)

            let granted = try await phone.ask("live_grant", live.grant([guest.id], by: phone.id))
                .expecting("live_granted")
            #expect(granted.payload["granted"] == .array([.string(guest.id)]))
            let admitted = try await guest.client.next("live_admitted").payload
            #expect(admitted["generation"]?.integer == 1 && admitted["from"]?.string == phone.id)
            let roster = try await phone.ask("live_roster", live.named).expecting("live_roster").payload
            #expect(roster["listeners"]?[0]?["status"]?.string == "admitted")

            let refused = try await phone.ask("live_refuse", live.refuse(guest.id, by: phone.id))
                .expecting("live_listener")
            #expect(refused.payload["status"]?.string == "refused")
            #expect(try await guest.client.next("live_refused").payload["reason"]?.string == "removed")
            let join = Person.versions.with(["guestToken": guest.token]).with(live.named)
            #expect(try await guest.client.ask("live_join", join).errorCode == "FORBIDDEN")

            let stopped = try await phone.ask("live_stop", start).expecting("live_stopped")
            #expect(stopped.payload["reason"]?.string == "stopped")
            try await phone.ask("live_delete", live.named).expecting("live_deleted")
            #expect(try await live.look().is(404, "NOT_FOUND"))
        }

        /// "Is not", "not yours" and a wrong proof are one answer.
        @Test func toStrangersItIsUnknown() async throws {
            let (phone, profile) = try await Self.whisperer()
            let (live, none) = (Conversation(profile: profile), Conversation(profile: profile))
            try await phone.ask("live_create", live.create(by: phone.id)).expecting("live_conversation")
            let stranger = try await Cluster.phone()
            for fields in [live.named, none.named] {
                let answer = try await stranger.ask("live_roster", fields)
                #expect(answer.errorCode == "NOT_FOUND")
            }
            #expect(try await stranger.ask("live_create", live.create(by: stranger.id)).errorCode == "NOT_FOUND")
            #expect(try await stranger.ask("live_list", ["profileId": profile]).errorCode == "NOT_FOUND")
            let (wrong, missing) = (try await live.look(proof: Keys.random(32)), try await none.look())
            #expect(wrong.is(404, "NOT_FOUND") && wrong.body == missing.body && missing.status == 404)

            let keys = Keys()
            let guest = try await GuestClient.proved(keys)
            let knock = live.knock(by: guest, keys) { $0["linkProof"] = Keys.random(32).base64 }
            #expect(try await guest.client.ask("live_knock", knock).errorCode == "NOT_FOUND")
            #expect(try await guest.client.ask("live_knock", none.knock(by: guest, keys)).errorCode == "NOT_FOUND")
            let listed = try await phone.ask("live_list", ["profileId": profile]).expecting("live_conversations")
            #expect(listed.payload["conversations"]?.elements.map { $0["conversationId"]?.string } == [live.id])
        }

        @Test func theLaterDeviceHoldsTheStream() async throws {
            let (phone, profile) = try await Self.whisperer(gateway: 1)
            let tablet = try await Cluster.phone(gateway: 2)
            let key = Keys.random(32)
            _ = try await phone.http(
                "PUT", "/profiles/\(profile)", Person.versions.with(["joinHash": Keys.sha256(key).base64]))
            let joined = try await tablet.http(
                "POST", "/profiles/\(profile)/members", Person.versions.with(["joinKey": key.base64]))
            try #require(joined.status == 200)
            let live = Conversation(profile: profile)
            try await phone.ask("live_create", live.create(by: phone.id)).expecting("live_conversation")
            let start = live.named.with(["contentId": newUUID()])
            try await phone.ask("live_start", start).expecting("live_started")
            let taken = try await tablet.ask("live_start", start).expecting("live_started").payload
            #expect(taken["epoch"]?.integer == 2 && taken["isResumed"] == .bool(true))
            #expect(try await phone.client.next("live_stopped").payload["reason"]?.string == "taken_over")

            let removed = try await phone.http("DELETE", "/profiles/\(profile)/members/\(tablet.id)")
            try #require(removed.status == 200)
            #expect(try await tablet.client.next("live_stopped").payload["reason"]?.string == "removed")
            #expect(try await tablet.ask("live_start", start).errorCode == "NOT_FOUND")
            let roster = try await phone.ask("live_roster", live.named).expecting("live_roster").payload
            #expect(roster["state"]?.string == "paused" && roster["epoch"]?.integer == 2)

            // With its last member a profile goes, and all that it had.
            let keys = Keys()
            let guest = try await GuestClient.proved(keys, gateway: 2)
            try await guest.client.ask("live_knock", live.knock(by: guest, keys)).expecting("live_waiting")
            #expect(try await live.look().status == 200)
            let left = try await phone.http("DELETE", "/profiles/\(profile)/members/\(phone.id)")
            try #require(left.status == 200)
            #expect(try await live.look().is(404, "NOT_FOUND"))
            #expect(try await guest.client.next("live_refused").payload["reason"]?.string == "deleted")
        }

        /// Contract §14.9 and §14.10 over whole gateways: each packet once and in order, a return behind what is known, an end
        /// with the removal. The server opens nothing, so seals hold chance.
        @Test func whatIsTypedIsReadAtTheOtherGateway() async throws {
            let (phone, profile) = try await Self.whisperer(gateway: 1)
            let live = Conversation(profile: profile)
            let content = newUUID()
            try await phone.ask("live_create", live.create(by: phone.id)).expecting("live_conversation")
            try await phone.ask("live_start", live.named.with(["contentId": content])).expecting("live_started")
            let keys = Keys()
            var guest = try await GuestClient.proved(keys, gateway: 2)
            try await guest.client.ask("live_knock", live.knock(by: guest, keys)).expecting("live_waiting")
            try await phone.ask("live_grant", live.grant([guest.id], by: phone.id)).expecting("live_granted")
            _ = try await guest.client.next("live_admitted")

            var typed = Whisperer(phone: phone, conversation: live)
            typed.say("snapshot")
            try await phone.client.settle()
            let join = Person.versions.with(live.named).with(["guestToken": guest.token])
            let joined = try await guest.client.ask("live_join", join).expecting("live_joined").payload
            #expect(joined["state"]?.string == "live" && joined["contentId"]?.string == content)
            for kind in ["diff", "diff", "line", "snapshot", "cue"] { typed.say(kind) }
            let read = try await Self.packets(6, of: guest.client)
            #expect(read == typed.said)

            // The listener's network is gone for a while, and another gateway is nearer then.
            guest.client.cut()
            for kind in ["diff", "line", "snapshot", "diff"] { typed.say(kind) }
            try await phone.client.settle()
            guest.client = try await Cluster.client(gateway: 1)
            let after: JSON = .object([
                "contentId": .string(content), "epoch": .integer(1), "seq": .integer(6), "line": .integer(1),
            ])
            let back = try await guest.client.ask("live_join", join.with(["after": after]))
                .expecting("live_joined").payload
            #expect(back["epoch"]?.integer == 1)
            // The missed line, then the text of now: the missed diff is in it.
            #expect(try await Self.packets(3, of: guest.client) == Array(typed.said.suffix(3)))

            try await phone.ask("live_refuse", live.refuse(guest.id, by: phone.id)).expecting("live_listener")
            _ = try await guest.client.next("live_refused")
            typed.say("diff")
            try await phone.client.settle()
            try await guest.client.settle()
            #expect(guest.client.frames("live_packet").isEmpty)
            #expect(try await guest.client.ask("live_join", join).errorCode == "FORBIDDEN")
            // Only the holder of the stream may send in it.
            let stranger = try await Cluster.phone()
            var forged = Whisperer(phone: stranger, conversation: live)
            forged.say("snapshot")
            #expect(try await stranger.client.next("error").payload["code"]?.string == "FORBIDDEN")
        }

        /// The seals of the next packets, in the order in which they come.
        private static func packets(_ count: Int, of client: TestClient) async throws -> [String] {
            var seals: [String] = []
            for _ in 0..<count {
                let packet = try await client.next("live_packet").payload
                #expect(packet["sessionToken"] == nil)
                seals.append(packet["nonce"]?.string ?? "")
            }
            return seals
        }

        /// A device with a profile of its own.
        static func whisperer(gateway: Int? = nil) async throws -> (Phone, profile: String) {
            let phone = try await Cluster.phone(gateway: gateway)
            let profile = newUUID()
            let body = Person.versions.with(["joinHash": Keys.random(32).base64])
            try #require(try await phone.http("PUT", "/profiles/\(profile)", body).status == 200)
            return (phone, profile)
        }
    }
}

/// In the cluster where nobody takes wake-ups.
extension CallCluster {
    @Test func knocksWakeTheDeviceOfAWhispererWhoIsAwayOnce() async throws {
        let (phone, profile) = try await CalmCluster.LiveConversations.whisperer()
        let live = Conversation(profile: profile)
        try await phone.ask("live_create", live.create(by: phone.id)).expecting("live_conversation")
        try await phone.leaves()
        for _ in 0..<2 {
            let keys = Keys()
            let guest = try await GuestClient.proved(keys)
            try await guest.client.ask("live_knock", live.knock(by: guest, keys)).expecting("live_waiting")
            // It is in its stream before the knock is answered.
            let wakes = try await Cluster.callWakes(for: phone)
            #expect(wakes.count == 1)
            guard case .knock(let until)? = wakes.first?.reason else {
                Issue.record("\(wakes)")
                return
            }
            #expect(until > .now + .seconds(500))
            #expect(wakes.first.map { "\($0.wakeID)" } != live.id)
        }
    }
}
