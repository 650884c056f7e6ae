import LocalStack
import TestKit
import Testing

/// Nothing is left of an erased person (contract §20.3).
extension CalmCluster {
    @Suite struct Leaving {
        /// A person with rows in every place of the map leaves. After each deadline a search for the person finds only what may wait longer.
        @Test(arguments: ["keep", "withdraw"]) func whoeverLeavesIsFoundNowhere(
            sentMail: String
        ) async throws {
            let (bob, carol) = (try await Cluster.phone(gateway: 2), try await Cluster.phone(gateway: 2))
            var alice = try await Self.banned(by: bob)
            let (pushToken, wakeSecret) = ("push-\(newUUID())", Keys.random(16))
            try await alice.ask("update_tokens", ["pushToken": pushToken, "wakeSecret": wakeSecret.base64])
                .expecting("tokens_updated")
            let first = alice.token
            let refreshed = try await alice.ask("session_refresh").expecting("session_refresh_ack")
            alice.token = try #require(refreshed.payload["sessionToken"]?.string)
            try await PersonalData.writes(alice, bob)
            try await PersonalData.keepsThings(alice)
            try await PersonalData.talks(alice, bob)
            carol.client.cut()
            let waiting = try await alice.text(carol)
            let unread = try await bob.text(alice)
            let person = try DataMap.Traces(
                of: alice, tokens: [first, alice.token], pushToken: pushToken, wakeSecret: wakeSecret)
            let before = try await DataMap.search(person)
            // A ban that was lifted has left no row, and a banned person cannot leave.
            let required = DataMap.naming.subtracting(DataMap.unreached).subtracting(["auth.bans.whisper_id"])
            #expect(
                required.subtracting(before).isEmpty, "the search is blind to \(required.subtracting(before).sorted())")

            let erasure = try await Self.leave(alice, sentMail: sentMail)
            // At once.
            let atOnce = try await DataMap.search(person).filter { $0.hasPrefix("auth.") }
            #expect(atOnce.subtracting(["auth.erasures.whisper_id"]).isEmpty, "\(atOnce.sorted())")
            let expired = try await bob.client.frame("message_expired", within: .seconds(60)) { frame in
                frame.type == "message_expired" && frame.payload["messageId"]?.string == unread
            }
            #expect(expired.payload["to"]?.string == alice.id)

            // Within minutes. The clock of the data is moved: the second pass comes 60 s after the decision.
            try await Self.age(erasure, by: "100 seconds")
            let often = Duration.milliseconds(500)
            try await waitUntil("all services but the ledger are done", within: .seconds(120), every: often) {
                try await Cluster.database(
                    "SELECT done @> array_remove(auth.erasure_parts(), 'ledger') FROM auth.erasures WHERE erasure_id = '\(erasure)'"
                ) == "t"
            }
            let kept: Set = ["router.mailbox.sender", "router.mailbox.payload"]
            let slow: Set = [
                "auth.erasures.whisper_id", "router.ledger.sender", "router.ledger.recipient",
                "router.outcomes.recipient",
            ]
            let later = try await DataMap.search(person)
            let strays = later.subtracting(slow.union(sentMail == "keep" ? kept : []))
            #expect(strays.isEmpty, "\(strays.sorted())")
            #expect(later.isSuperset(of: kept) == (sentMail == "keep"))
            let keys = try await DataMap.searchRedis(person)
            #expect(keys.isSubset(of: ["ratelimit", "engaged", "call", "callwake", "challenge"]), "\(keys.sorted())")

            // Kept mail reaches its recipient.
            let back = try await Cluster.phone(carol.person, gateway: 1)
            let mail = try await back.pending().map(\.id)
            #expect(mail == (sentMail == "keep" ? [waiting] : []))
            for id in mail { back.acknowledge(id, from: alice.id) }
            try await waitUntil("the receipt is honoured", within: .seconds(30)) {
                try await Cluster.database("SELECT count(*) FROM router.mailbox WHERE message_id = '\(waiting)'") == "0"
            }
            // Mail to an absent person, from the script before, expires after 72 hours: here at once.
            _ = try await Cluster.database(
                "UPDATE router.ledger SET status = 3 WHERE sender = \(person.number) AND status = 0")
            _ = try await Cluster.database("DELETE FROM router.mailbox WHERE sender = \(person.number)")
            // Within a day.
            try await Self.age(erasure, by: "24 hours")
            try await waitUntil("the ledger was walked", within: .seconds(60), every: often) {
                try await Cluster.database(
                    "SELECT finished_at IS NOT NULL FROM auth.erasures WHERE erasure_id = '\(erasure)'") == "t"
            }
            let last = try await DataMap.search(person)
            #expect(last.subtracting(["router.outcomes.recipient"]).isEmpty, "\(last.sorted())")
            try await Self.isErased(alice.person)
        }

        /// A guest that listens, hosts a room and talks in another goes, by its own frame and by an operator's command.
        @Test(.serialized, arguments: [true, false]) func aGuestThatIsErasedIsFoundNowhere(byItself: Bool) async throws
        {
            let (phone, profile) = try await LiveConversations.whisperer(gateway: 1)
            let (live, own, theirs, keys) = (Conversation(profile: profile), Room(), Room(), Keys())
            try await phone.ask("live_create", live.create(by: phone.id)).expecting("live_conversation")
            // The audit log names it.
            let body: Fields = [
                "guestId": try await GuestClient.proved(keys, gateway: 2).id, "reason": "a test",
            ]
            for change in ["ban", "unban"] { try await Operators.post("/admin/\(change)", body).expectSuccess() }
            let guest = try await GuestClient.proved(keys, gateway: 2)
            try await guest.client.ask("live_knock", live.knock(by: guest, keys)).expecting("live_waiting")
            try await phone.ask("live_grant", live.grant([guest.id], by: phone.id)).expecting("live_granted")
            try await guest.client.ask("room_create", guest.fields(own.create(keys))).expecting("room_joined")
            try await phone.ask("room_create", theirs.create(phone.person.keys)).expecting("room_joined")
            try await guest.client.ask("room_join", guest.fields(theirs.join(keys, proof: theirs.proof)))
                .expecting("room_joined")
            let traces = DataMap.Traces(of: guest, keys)
            let before = try await DataMap.search(traces)
            let required: Set = [
                "auth.guests.guest_id", "auth.guests.sign_key", "auth.guests.enc_key", "auth.guests.token_hash",
                "auth.audit_events.target", "calls.listeners.listener", "calls.listeners.sign_key",
                "calls.room_participants.participant", "calls.room_participants.enc_key", "calls.rooms.creator",
                "calls.rooms.host",
            ]
            #expect(required.subtracting(before).isEmpty, "the search is blind: \(required.subtracting(before))")

            if byItself {
                try await guest.client.ask("guest_forget", guest.fields([:])).expecting("guest_forgotten")
                #expect(try await guest.client.end().code == 1000)
            } else {
                try await Operators.tool("erase", guest.id, "--confirm", guest.id, "--reason", "a test")
                #expect(try await guest.client.end().code == 4001)
            }
            let atOnce = try await DataMap.search(traces).filter { $0.hasPrefix("auth.") }
            #expect(atOnce.subtracting(["auth.erasures.guest_id"]).isEmpty, "\(atOnce.sorted())")
            let stale = try await Cluster.client(gateway: 1).ask("room_list", guest.fields([:]))
            #expect(stale.errorCode == "NOT_REGISTERED")
            // The others see it leave.
            _ = try await phone.client.frame("room_event", within: .seconds(60)) { frame in
                frame.type == "room_event" && frame.payload["event"]?.string == "left"
                    && frame.payload["participant"]?.string == guest.id
            }
            // The clock of the data is moved.
            let uuid = DataMap.Traces(of: guest, keys).texts[2]
            _ = try await Cluster.database(
                "UPDATE auth.erasures SET decided_at = decided_at - interval '100 s' WHERE guest_id = '\(uuid)'")
            try await waitUntil("no part waits", within: .seconds(120)) {
                try await Cluster.database("SELECT count(*) FROM auth.erasures WHERE guest_id = '\(uuid)'") == "0"
            }
            let last = try await DataMap.search(traces)
            #expect(last.isEmpty, "\(last.sorted())")
            let inRedis = try await DataMap.searchRedis(traces)
            #expect(inRedis.isSubset(of: ["ratelimit", "challenge"]), "\(inRedis.sorted())")
            let roster = try await phone.ask("live_roster", live.named).expecting("live_roster").payload
            #expect(roster["listeners"]?.elements.isEmpty == true)
        }

        /// An identity whose ban was lifted, and whom push has tried to wake.
        private static func banned(by bob: Phone) async throws -> Phone {
            let alice = try await Cluster.phone(gateway: 1)
            try await Operators.ban(alice)
            try await Operators.unban(alice)
            let again = try await Cluster.phone(alice.person, gateway: 1)
            try await again.ask("update_tokens", ["pushToken": "push-\(newUUID())"]).expecting("tokens_updated")
            again.client.cut()
            let letter = try await bob.text(again)
            try await waitUntil("push knows her", within: .seconds(30)) {
                try await Cluster.database(
                    "SELECT count(*) FROM push.recipients r WHERE auth.whisper_id_text(r.recipient) = '\(alice.id)'")
                    == "1"
            }
            let back = try await Cluster.phone(alice.person, gateway: 1)
            _ = try await back.pending()
            back.acknowledge(letter, from: bob.id)
            return back
        }

        /// - Returns: the erasure's id.
        static func leave(_ phone: Phone, sentMail: String) async throws -> String {
            let challenge = try await phone.ask("account_delete_begin").expecting("account_delete_challenge").payload
            let (id, bytes) = (challenge["challengeId"]?.string ?? "", challenge["challenge"]?.string ?? "")
            let lines = ["v1", "account_delete", id, phone.id, sentMail, bytes]
            let digest = Keys.sha256(Array(lines.map { $0 + "\n" }.joined().utf8))
            let done = try await phone.ask(
                "account_delete",
                [
                    "challengeId": id, "whisperId": phone.id, "sentMail": sentMail,
                    "signature": phone.person.keys.sign(digest).base64,
                ]
            ).expecting("account_deleted").payload
            #expect(try await phone.client.end().code == 1000)
            return try #require(done["erasureId"]?.string)
        }

        private static func age(_ erasure: String, by time: String) async throws {
            _ = try await Cluster.database(
                "UPDATE auth.erasures SET decided_at = decided_at - interval '\(time)' WHERE erasure_id = '\(erasure)'")
        }

        static func isErased(_ person: Person) async throws {
            let client = try await Cluster.client(gateway: 1)
            let challenge = try await client.ask("register_begin", person.begin()).expecting("register_challenge")
            let refusal = try await client.ask("register_proof", person.proof(of: challenge.payload))
                .expecting("error").payload
            #expect(refusal["code"]?.string == "AUTH_FAILED" && refusal["reason"]?.string == "erased")
        }
    }
}
