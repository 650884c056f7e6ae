@testable import ConversationsCore
import ClusterContract
import Contract
import TestKit
import Testing

/// Conversations and who may listen: contract §14.6, §14.7.
@Suite struct LiveAdmissionTests {
    @Test func aConversationIsMadeOnce() throws {
        var bench = LiveBench()
        let create = bench.create()
        let first = try bench.send("live_create", create, as: bench.phone)
        #expect(first.type == "live_conversation" && first.payload["state"]?.string == "idle")
        #expect(first.payload["generation"]?.integer == 1 && first.payload["epoch"]?.integer == 0)
        bench.now = bench.now + .seconds(3_600)
        // Outside of the time window too, and from another device of the profile.
        #expect(try bench.send("live_create", create, as: bench.tablet).payload == first.payload)
    }

    @Test func onlyItsOwnKeysMakeAConversation() throws {
        var bench = LiveBench()
        let foreign = bench.create { $0["signPublicKey"] = Keys().signPublicKey.base64 }
        #expect(try bench.send("live_create", foreign, as: bench.phone).code == .invalidPayload)
        let unsigned = bench.create().with(["ciphertext": Keys.random(64).base64])
        #expect(try bench.send("live_create", unsigned, as: bench.phone).code == .authFailed)
        let old = bench.create { $0["timestamp"] = bench.now.milliseconds - 600_001 }
        #expect(try bench.send("live_create", old, as: bench.phone).code == .invalidTimestamp)
        #expect(try bench.send("live_create", bench.create(), as: bench.stranger).code == .notFound)
        #expect(bench.book.all.isEmpty)
    }

    /// "Is not" and "not yours" are one answer (contract §14.13).
    @Test func toStrangersAConversationIsUnknown() throws {
        var bench = try LiveBench.created()
        let unknown: Fields = ["conversationId": "3f0c2b1a-9d8e-4c7b-a605-f4e3d2c1b0a9"]
        let content: Fields = ["contentId": newUUID()]
        for (type, fields) in [
            ("live_roster", [:]), ("live_delete", [:]), ("live_start", content), ("live_stop", content),
            ("live_update", ["transcriptDays": 1]),
        ] as [(String, Fields)] {
            let foreign = try bench.send(type, bench.named.with(fields), as: bench.stranger)
            let missing = try bench.send(type, unknown.with(fields), as: bench.phone)
            #expect(foreign.code == .notFound, "\(type)")
            #expect(String(describing: foreign) == String(describing: missing), "\(type)")
        }
        let listener = LiveBench.Listener(9)
        let wrong = try bench.send(
            "live_knock", bench.knock(listener) { $0["linkProof"] = Keys.random(32).base64 }, as: listener)
        #expect(wrong.code == .notFound)
        #expect(try bench.send("live_join", bench.named, as: listener).code == .notFound)
        // Membership before the signature, or the answer would tell (contract §19.8).
        let grant = bench.grant([.guest(listener.id)], by: Keys())
        #expect(try bench.send("live_grant", grant, as: bench.stranger).code == .notFound)
    }

    @Test func whoeverKnocksWaitsAndIsAdmitted() throws {
        var bench = try LiveBench.created()
        _ = try bench.send("live_start", bench.named.with(["contentId": newUUID()]), as: bench.phone)
        let listener = LiveBench.Listener(9)
        let knock = bench.knock(listener)
        let waiting = try bench.send("live_knock", knock, as: listener)
        #expect(waiting.type == "live_waiting")
        #expect(waiting.payload["expiresAt"]?.integer == bench.now.milliseconds + 600_000)
        let knocked = try #require(bench.frames("live_knocked", to: .connection(bench.phone.connection)).first)
        #expect(knocked["listener"]?.string == "\(listener.id)" && knocked["isKnown"] == .bool(false))
        #expect(knocked["knock"]?["ciphertext"] == knock["ciphertext"]?.json)
        // The same again: the same answer, and nobody hears of it.
        #expect(try bench.send("live_knock", knock, as: listener).payload == waiting.payload)
        #expect(bench.tellings.isEmpty)

        let grant = bench.grant([.guest(listener.id)])
        let granted = try bench.send("live_grant", grant, as: bench.phone)
        #expect(granted.payload["granted"] == .array([.string("\(listener.id)")]))
        let admitted = try #require(bench.frames("live_admitted", to: .connection(listener.connection)).first)
        #expect(admitted["sig"] == grant["grants"]?.json[0]?["sig"] && admitted["from"]?.string == "\(bench.phone.id)")
        #expect(try bench.send("live_knock", bench.knock(listener), as: listener).type == "live_admitted")
        #expect(bench.tellings.isEmpty, "nobody is asked about whoever is admitted")
    }

    /// The notice to the holder may be lost (contract §14.12).
    @Test func theHolderIsToldAgainOfThoseWhoWait() throws {
        var bench = try LiveBench.created()
        let listener = LiveBench.Listener(9)
        _ = try bench.send("live_knock", bench.knock(listener), as: listener)
        func told() -> Int { bench.frames("live_knocked", to: .connection(bench.phone.connection)).count }
        bench.now = bench.now + LiveLimits.knockToldEvery
        bench.rules { $0.tick() }
        #expect(told() == 0, "nobody holds")
        _ = try bench.send("live_start", bench.named.with(["contentId": newUUID()]), as: bench.phone)
        bench.rules { $0.tick() }
        #expect(told() == 1)
        bench.rules { $0.tick() }
        #expect(told() == 0, "not again and again")
        bench.now = bench.now + LiveLimits.knockToldEvery
        bench.rules { $0.tick() }
        #expect(told() == 1)
        _ = try bench.send("live_grant", bench.grant([.guest(listener.id)]), as: bench.phone)
        bench.now = bench.now + LiveLimits.knockToldEvery
        bench.rules { $0.tick() }
        #expect(told() == 0, "it is decided")
    }

    @Test func theKeysOfAKnockAreItsSenders() throws {
        var bench = try LiveBench.created()
        let (listener, other) = (LiveBench.Listener(9), LiveBench.Listener(10))
        for change in ["encPublicKey": other.keys.encPublicKey, "signPublicKey": other.keys.signPublicKey] {
            let knock = bench.knock(listener) { $0[change.key] = change.value.base64 }
            #expect(try bench.send("live_knock", knock, as: listener).code == .authFailed, "\(change.key)")
        }
        let unsigned = bench.knock(listener).with(["ciphertext": Keys.random(64).base64])
        #expect(try bench.send("live_knock", unsigned, as: listener).code == .authFailed)
        #expect(bench.conversation.listeners.isEmpty)
    }

    /// Contract §13b.
    @Test func tenOfOneAddressWaitAndNoMore() throws {
        var bench = try LiveBench.created()
        func knocks(_ number: UInt64, from origin: UInt64) throws -> Answer {
            let listener = LiveBench.Listener(number, origin: origin)
            return try bench.send("live_knock", bench.knock(listener), as: listener)
        }
        for number in 0..<UInt64(LiveLimits.waitingOfAddressMax) {
            #expect(try knocks(100 + number, from: 1).type == "live_waiting")
        }
        let late = try knocks(200, from: 1)
        #expect(late.code == .rateLimited)
        #expect(try knocks(201, from: 2).type == "live_waiting", "another address has places of its own")
    }

    /// A listener that knocks again from a second address keeps its place at the first, and makes no room there.
    @Test func aPlaceIsOfTheAddressThatItWasTakenFrom() throws {
        var bench = try LiveBench.created()
        let first = LiveBench.Listener(9, origin: 1)
        _ = try bench.send("live_knock", bench.knock(first), as: first)
        let again = try LiveBench.body("live_knock", bench.knock(first))
        _ = bench.send(again, as: first.principal, on: first.connection, from: 2)
        #expect(bench.conversation.waiting[.guest(first.id)]?.origin == 1)
    }

    /// Two addresses held all places before (contract §13b).
    @Test func whenFiftyWaitTheAddressWithTheMostGivesWay() throws {
        var bench = try LiveBench.created()
        _ = try bench.send("live_start", bench.named.with(["contentId": newUUID()]), as: bench.phone)
        var oldest: LiveBench.Listener?
        for number in 0..<UInt64(LiveLimits.waitingMax) {
            // Four places each of many, and ten of the address 7, which are neither the oldest nor the newest.
            let origin: UInt64 = (15..<25).contains(number) ? 7 : 100 + number / 4
            let listener = LiveBench.Listener(100 + number, origin: origin)
            if number == 15 { oldest = listener }
            bench.now = bench.now + .milliseconds(1)
            #expect(try bench.send("live_knock", bench.knock(listener), as: listener).type == "live_waiting")
        }
        func waiting() -> Int { bench.conversation.listeners.values.count { $0.status == .waiting } }
        let (late, gone) = (LiveBench.Listener(9, origin: 1), try #require(oldest))
        #expect(try bench.send("live_knock", bench.knock(late), as: late).type == "live_waiting")
        #expect(waiting() == LiveLimits.waitingMax && bench.conversation.listeners[.guest(gone.id)] == nil)
        let refused = bench.frames("live_refused", to: .connection(gone.connection))
        #expect(refused.map { $0["reason"]?.string } == ["expired"])
        let told = bench.frames("live_listener", to: .connection(bench.phone.connection))
        #expect(told.map { $0["listener"]?.string } == ["\(gone.id)", "\(late.id)"], "its holder hears of both")
        // It may come again, and then another of its address makes room.
        #expect(try bench.send("live_knock", bench.knock(gone), as: gone).type == "live_waiting")
        #expect(waiting() == LiveLimits.waitingMax)
        #expect(bench.conversation.waiting.values.count { $0.origin == 7 } == 9)
    }

    /// After a restart nobody knows where they come from. They are taken for one address.
    @Test func ofUnknownAddressesTheOldestGivesWay() throws {
        var bench = try LiveBench.created()
        for number in 0..<UInt64(LiveLimits.waitingMax) {
            let listener = LiveBench.Listener(100 + number)
            #expect(try bench.send("live_knock", bench.knock(listener), as: listener).type == "live_waiting")
        }
        let late = LiveBench.Listener(9, origin: 1)
        #expect(try bench.send("live_knock", bench.knock(late), as: late).type == "live_waiting")
        #expect(bench.conversation.listeners.count == LiveLimits.waitingMax)
    }

    @Test func oneBadSignatureRefusesAllGrants() throws {
        var bench = try LiveBench.created()
        let listeners = [LiveBench.Listener(9), LiveBench.Listener(10)]
        for listener in listeners { _ = try bench.send("live_knock", bench.knock(listener), as: listener) }
        let ids = listeners.map { PrincipalID.guest($0.id) }
        #expect(try bench.send("live_grant", bench.grant(ids, by: Keys()), as: bench.phone).code == .authFailed)
        #expect(try bench.send("live_grant", bench.grant(ids + [ids[0]]), as: bench.phone).code == .invalidPayload)
        #expect(try bench.send("live_grant", bench.grant(ids, generation: 3), as: bench.phone).code == .forbidden)
        #expect(bench.conversation.listeners.values.allSatisfy { $0.status == .waiting })
        #expect(bench.conversation.generation == 1)
    }

    @Test func theNextGenerationLeavesOutWhoeverHasNoGrantOfIt() throws {
        var (bench, listener) = try LiveBench.joined()
        let other = LiveBench.Listener(10)
        _ = try bench.send("live_knock", bench.knock(other), as: other)
        let grant = bench.grant([.guest(other.id), .guest(LiveBench.Listener(11).id)], generation: 2)
        let granted = try bench.send("live_grant", grant, as: bench.phone)
        #expect(granted.payload["generation"]?.integer == 2 && granted.payload["ignored"]?.elements.count == 1)
        // Repeated, it is done once.
        #expect(try bench.send("live_grant", grant, as: bench.phone).payload == granted.payload)
        #expect(bench.tellings.isEmpty)
        let waiting = try bench.send("live_join", bench.named, as: listener)
        #expect(waiting.type == "live_waiting")
        guard case .knock("live_knocked", let payload, let devices, _, _)? = bench.tellings.last else {
            Issue.record("the profile's devices were not told")
            return
        }
        #expect(try JSON(parsing: payload)["isKnown"] == .bool(true))
        #expect(Set(devices) == [bench.phone.id, bench.tablet.id])
    }

    @Test func whoeverIsRemovedHearsNothingMoreAndMayKnockAgain() throws {
        var (bench, listener) = try LiveBench.joined()
        let answer = try bench.send("live_refuse", bench.refuse(.guest(listener.id)), as: bench.phone)
        #expect(answer.type == "live_listener" && answer.payload["status"]?.string == "refused")
        #expect(bench.events(for: listener.connection) == [.attendsNoLonger(bench.id)])
        let refused = try #require(bench.frames("live_refused", to: .connection(listener.connection)).first)
        #expect(refused["reason"]?.string == "removed")
        #expect(try bench.send("live_join", bench.named, as: listener).code == .forbidden)
        #expect(bench.conversation.roster.isEmpty)
        #expect(try bench.send("live_knock", bench.knock(listener), as: listener).type == "live_waiting")
    }

    /// A refused listener leaves only its id and the time, and only the newest refusals are kept (contract §13b).
    @Test(arguments: [("declined", LiveLimits.refusedMax), ("blocked", LiveLimits.blockedMax)])
    func ofThoseWhoWereSentAwayTheNewestAreKnown(reason: String, most: Int) throws {
        var bench = try LiveBench.created()
        let first = LiveBench.Listener(9)
        let knock = bench.knock(first)
        _ = try bench.send("live_knock", knock, as: first)
        _ = try bench.send("live_refuse", bench.refuse(.guest(first.id), reason), as: bench.phone)
        let row = try #require(bench.conversation.listeners[.guest(first.id)])
        #expect(row.knock?.ciphertext == [] && row.grant == nil)
        if reason == "declined" {
            #expect(try bench.send("live_knock", knock, as: first).type == "live_refused", "the same knock again")
        }
        // As many as there may be, without signing each.
        var conversation = bench.conversation
        for number in 1..<most {
            var other = row
            other.since = row.since + .milliseconds(Int64(number))
            conversation.listeners[.guest(GuestID(high: 0, low: UInt64(number)))] = other
        }
        bench.book.put(conversation, at: conversation.id)
        bench.book.commit()
        bench.now = bench.now + .seconds(60)
        let last = LiveBench.Listener(10)
        _ = try bench.send("live_knock", bench.knock(last), as: last)
        _ = try bench.send("live_refuse", bench.refuse(.guest(last.id), reason), as: bench.phone)
        #expect(bench.conversation.listeners.count == most)
        #expect(bench.conversation.listeners[.guest(first.id)] == nil, "the oldest is forgotten")
        #expect(bench.conversation.listeners[.guest(last.id)] != nil)
    }

    @Test func whoeverIsBlockedIsToldRemovedAndStaysOutUntilGranted() throws {
        var (bench, listener) = try LiveBench.joined()
        _ = try bench.send("live_refuse", bench.refuse(.guest(listener.id), "blocked"), as: bench.phone)
        let refused = try #require(bench.frames("live_refused", to: .connection(listener.connection)).first)
        #expect(refused["reason"]?.string == "removed")
        #expect(try bench.send("live_knock", bench.knock(listener), as: listener).code == .forbidden)
        #expect(bench.tellings.isEmpty, "the whisperer hears nothing")
        _ = try bench.send("live_leave", bench.named.with(["forget": true]), as: listener)
        #expect(bench.conversation.listeners[.guest(listener.id)]?.status == .blocked)
        _ = try bench.send("live_grant", bench.grant([.guest(listener.id)]), as: bench.phone)
        #expect(bench.conversation.listeners[.guest(listener.id)]?.status == .admitted)
    }

    @Test func aKnockExpires() throws {
        var bench = try LiveBench.created()
        let listener = LiveBench.Listener(9)
        _ = try bench.send("live_knock", bench.knock(listener), as: listener)
        bench.now = bench.now + .milliseconds(599_999)
        bench.rules { $0.tick() }
        #expect(bench.conversation.listeners.count == 1)
        bench.now = bench.now + .milliseconds(1)
        bench.rules { $0.tick() }
        #expect(bench.conversation.listeners.isEmpty)
        let refused = bench.frames("live_refused", to: .connection(listener.connection))
        #expect(refused.first?["reason"]?.string == "expired")
    }

    @Test func aKnockOfSomebodyWhoHasGoneExpiresSooner() throws {
        var bench = try LiveBench.created()
        let listener = LiveBench.Listener(9)
        _ = try bench.send("live_knock", bench.knock(listener), as: listener)
        let id = bench.id
        bench.rules { $0.left(id, listener.connection) }
        bench.now = bench.now + .seconds(59)
        bench.rules { $0.tick() }
        #expect(bench.conversation.listeners.count == 1)
        bench.now = bench.now + .seconds(1)
        bench.rules { $0.tick() }
        #expect(bench.conversation.listeners.isEmpty)
    }

    @Test func deletedItIsGoneForEverybody() throws {
        var (bench, listener) = try LiveBench.joined()
        #expect(try bench.send("live_delete", bench.named, as: bench.tablet).type == "live_deleted")
        #expect(bench.events(for: listener.connection).last == .attendsNoLonger(bench.id))
        #expect(
            bench.frames("live_refused", to: .connection(listener.connection)).first?["reason"]?.string == "deleted")
        #expect(try bench.send("live_delete", bench.named, as: bench.phone).code == .notFound)
    }

    @Test func whoeverAuthDoesNotKnowIsNotHeard() throws {
        var bench = try LiveBench.created()
        let listener = LiveBench.Listener(9)
        bench.unknown = [.guest(listener.id), .identity(bench.phone.id)]
        #expect(try bench.send("live_knock", bench.knock(listener), as: listener).code == .notRegistered)
        guard case .stale = try bench.send("live_roster", bench.named, as: bench.phone) else {
            Issue.record("an unknown session was heard")
            return
        }
    }
}
