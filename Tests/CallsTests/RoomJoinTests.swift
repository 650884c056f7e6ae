import ClusterContract
import Contract
import Participants
import TestKit
import Testing

@testable import RoomsCore

/// The ways into a room, and the answers to strangers (contract §15.1, §15.3, §19).
@Suite struct RoomJoinTests {
    @Test func aRoomIsCreatedAndJoinedByItsCode() throws {
        var (bench, code) = try RoomBench.created(["participantsMax": 3])
        #expect(code.count == 6 && bench.room.code?.code.text == code)
        let joined = try bench.send("room_join", bench.join(bench.guest.keys, code: code), as: bench.guest)
        #expect(joined.payload["seat"]?.integer == 2 && joined.payload["state"]?.string == "accepted")
        #expect(joined.payload["host"]?.string == "\(bench.host.id)" && joined.payload["code"] == nil)
        #expect(joined.payload["participants"]?.elements.map { $0["via"]?.string } == ["creator", "code"])
        #expect(joined.payload["turn"]?["ttl"]?.integer ?? 0 <= 7_200)
        #expect(joined.payload["turn"]?["urls"]?[0]?.string == "turn:relay.example")
        let event = try #require(bench.frames("room_event", on: bench.host.connection).first)
        #expect(event["event"]?.string == "joined" && event["participant"]?.string == "\(bench.guest.id)")
        #expect(event["room"]?["revision"] == joined.payload["revision"])
        #expect(bench.room.code != nil)
    }

    @Test func theSameAgainHasTheSameAnswer() throws {
        var bench = RoomBench()
        let first = try bench.send("room_create", bench.create(), as: bench.host)
        bench.refill()
        let second = try bench.send("room_create", bench.create(), as: bench.host)
        #expect(first.payload == second.payload && bench.events(bench.host.connection).isEmpty)
        let other = RoomBench.Device(5)
        let fields = bench.named.with(RoomBench.members(of: other.keys))
        #expect(try bench.send("room_create", fields, as: other).code == .forbidden)
        let foreign = bench.named.with(RoomBench.members(of: Keys()))
        #expect(try bench.send("room_create", foreign, as: bench.host).code == .authFailed)
    }

    @Test func whatOpensNothingIsOneAnswer() throws {
        var (bench, code) = try RoomBench.created(["pin": "4711"])
        let unknown = try bench.send("room_join", bench.join(bench.guest.keys, code: "0000000001"), as: bench.guest)
        let seven = try bench.send("room_join", bench.join(bench.guest.keys, code: "1234567"), as: bench.guest)
        let noPin = try bench.send("room_join", bench.join(bench.guest.keys, code: code), as: bench.guest)
        #expect(bench.misses == [7])
        let wrongPin = try bench.send(
            "room_join", bench.join(bench.guest.keys, code: code, pin: "4712"), as: bench.guest)
        let byID = try bench.send("room_join", bench.join(bench.guest.keys), as: bench.guest)
        let byWrongLink = try bench.send(
            "room_join", bench.join(bench.guest.keys, proof: Keys.random(32)), as: bench.guest)
        for answer in [unknown, seven, noPin, wrongPin, byID, byWrongLink] {
            guard case .refused(let refusal) = answer else {
                Issue.record("let in")
                continue
            }
            #expect(refusal == .noSuchRoom)
        }
        let right = try bench.send("room_join", bench.join(bench.guest.keys, code: code, pin: "4711"), as: bench.guest)
        #expect(right.type == "room_joined" && bench.misses.isEmpty)
    }

    @Test func threeWrongPinsRetireTheCode() throws {
        var (bench, code) = try RoomBench.created(["pin": "4711", "participantsMax": 4])
        for _ in 0..<3 {
            let fields = bench.join(bench.guest.keys, code: code, pin: "0000")
            #expect(try bench.send("room_join", fields, as: bench.guest).code == .notFound)
        }
        #expect(bench.room.code == nil)
        let right = bench.join(bench.guest.keys, code: code, pin: "4711")
        #expect(try bench.send("room_join", right, as: bench.guest).code == .notFound)
    }

    @Test func aCodeEndsWithItsTimeOrAFullRoom() throws {
        var (bench, code) = try RoomBench.created(["codeTtlSeconds": 60, "participantsMax": 2])
        let late = RoomBench.Guest(8)
        bench.now = bench.now + .seconds(60)
        #expect(try bench.send("room_join", bench.join(late.keys, code: code), as: late).code == .notFound)
        bench.refill()
        let renewed = try bench.send("room_code", bench.named, as: bench.host)
        let fresh = try #require(renewed.payload["code"]?.string)
        #expect(fresh != code)
        #expect(try bench.send("room_join", bench.join(bench.guest.keys, code: fresh), as: bench.guest).type != nil)
        #expect(bench.room.isFull && bench.room.code == nil)
        #expect(try bench.send("room_join", bench.join(late.keys, code: fresh), as: late).code == .notFound)
        let byLink = bench.join(late.keys, proof: bench.proof)
        #expect(try bench.send("room_join", byLink, as: late).code == .forbidden)
    }

    @Test func whoeverJoinedByACodeComesBackByIt() throws {
        var (bench, code) = try RoomBench.accepted()
        #expect(bench.room.code == nil)
        let again = RoomBench.Guest(12)
        let elsewhere = LiveConnection(node: again.connection.node, connection: again.connection.connection)
        let back = try bench.send(
            "room_join", bench.join(bench.guest.keys, code: code), as: bench.guest.principal, on: elsewhere)
        #expect(back.payload["seat"]?.integer == 2)
        #expect(bench.events(bench.host.connection) == ["back"])
        // A second join on the same connection changes nothing.
        _ = try bench.send(
            "room_join", bench.join(bench.guest.keys, code: code), as: bench.guest.principal, on: elsewhere)
        #expect(bench.events(bench.host.connection).isEmpty)
    }

    @Test func aRemovedOneComesInByANewCodeAlone() throws {
        var (bench, code) = try RoomBench.accepted(["participantsMax": 3])
        let removed = try bench.send(
            "room_remove", bench.named.with(["participant": "\(bench.guest.id)"]), as: bench.host)
        #expect(removed.payload["event"]?.string == "removed")
        #expect(bench.events(bench.guest.connection) == ["removed"])
        #expect(bench.events(bench.host.connection).isEmpty)
        #expect(
            try bench.send("room_join", bench.join(bench.guest.keys, code: code), as: bench.guest).code == .notFound)
        let link = bench.join(bench.guest.keys, proof: bench.proof)
        #expect(try bench.send("room_join", link, as: bench.guest).code == .notFound)
        bench.refill()
        let fresh = try #require(try bench.send("room_code", bench.named, as: bench.host).payload["code"]?.string)
        let back = try bench.send("room_join", bench.join(bench.guest.keys, code: fresh), as: bench.guest)
        // Seats are not used twice.
        #expect(back.payload["seat"]?.integer == 3)
    }

    /// Contract §13b.
    @Test func ofThoseWhoWereRemovedTheNewestAreKnown() throws {
        var (bench, _) = try RoomBench.accepted(["participantsMax": 3])
        var room = try #require(bench.room)
        for number in 0..<UInt64(RoomLimits.barredMax) {
            let since = bench.now - .milliseconds(Int64(RoomLimits.barredMax) - Int64(number))
            room.barred[.guest(GuestID(high: 0, low: number))] = .init(code: "", since: since)
        }
        bench.book.put(room, at: room.id)
        bench.book.commit()
        _ = try bench.send("room_remove", bench.named.with(["participant": "\(bench.guest.id)"]), as: bench.host)
        #expect(bench.room.barred.count == RoomLimits.barredMax)
        #expect(bench.room.barred[.guest(bench.guest.id)] != nil)
        #expect(bench.room.barred[.guest(GuestID(high: 0, low: 0))] == nil, "the oldest is forgotten")
    }

    @Test func aRemovedOneDoesNotComeInByTheCodeOfThatTime() throws {
        var (bench, _) = try RoomBench.accepted(["participantsMax": 3])
        bench.refill()
        let present = try #require(try bench.send("room_code", bench.named, as: bench.host).payload["code"]?.string)
        _ = try bench.send("room_remove", bench.named.with(["participant": "\(bench.guest.id)"]), as: bench.host)
        let join = bench.join(bench.guest.keys, code: present)
        #expect(try bench.send("room_join", join, as: bench.guest).code == .notFound)
        bench.refill()
        let fresh = try #require(try bench.send("room_code", bench.named, as: bench.host).payload["code"]?.string)
        #expect(try bench.send("room_join", bench.join(bench.guest.keys, code: fresh), as: bench.guest).type != nil)
    }

    @Test func aLockedRoomIsThereByLinkAndNotByCode() throws {
        var (bench, code) = try RoomBench.created()
        _ = try bench.send("room_update", bench.named.with(["isLocked": true]), as: bench.host)
        #expect(
            try bench.send("room_join", bench.join(bench.guest.keys, code: code), as: bench.guest).code == .notFound)
        let link = bench.join(bench.guest.keys, proof: bench.proof)
        #expect(try bench.send("room_join", link, as: bench.guest).code == .forbidden)
    }

    @Test func underAttackGuestsWaitAndOthersGoOn() throws {
        var (bench, code) = try RoomBench.created(["participantsMax": 4])
        bench.facts.guesses = .init(misses: 100, origins: 20, milliseconds: 4_000)
        let refused = try bench.send("room_join", bench.join(bench.guest.keys, code: code), as: bench.guest)
        guard case .refused(let refusal) = refused else {
            Issue.record("let in")
            return
        }
        #expect(refusal.code == .rateLimited && refusal.retryAfterMilliseconds == 4_000)
        let identity = RoomBench.Device(6)
        #expect(try bench.send("room_join", bench.join(identity.keys, code: code), as: identity).type != nil)
        let link = bench.join(bench.guest.keys, proof: bench.proof)
        #expect(try bench.send("room_join", link, as: bench.guest).type != nil)
        bench.facts.guesses.origins = 19
        let other = RoomBench.Guest(9)
        #expect(try bench.send("room_join", bench.join(other.keys, code: code), as: other).type != nil)
    }

    @Test(arguments: [([6: 10_000], 6), ([6: 10_001], 8), ([6: 10_001, 8: 1_000_001], 10)] as [([Int: Int], Int)])
    func withManyShortCodesTheNextIsLonger(counts: [Int: Int], digits: Int) throws {
        var bench = RoomBench()
        bench.facts.codeCounts = counts
        #expect(
            try bench.send("room_create", bench.create(), as: bench.host).payload["code"]?.string?.count == digits)
        var without = RoomBench()
        let none = try without.send("room_create", without.create(["codeDigits": 0]), as: without.host)
        #expect(none.type == "room_joined" && none.payload["code"] == nil)
    }

    /// Five hundred guests could use up all codes of six digits, and `room_create` was an internal error from then on.
    @Test func codesThatAreUsedUpAreNoErrorOfOurs() throws {
        var bench = RoomBench()
        bench.facts.freeCodes[6] = []
        let longer = try bench.send("room_create", bench.create(), as: bench.host)
        #expect(longer.payload["code"]?.string?.count == 8)
        var none = RoomBench()
        none.facts.freeCodes = [:]
        let refused = try none.send("room_create", none.create(), as: none.host)
        #expect(refused.code == .rateLimited)
    }

    /// A participant who is alone has nobody to talk with: relays are for two (contract §13b).
    /// The others count on the link's secret for a seat that the link gave, and for no other.
    @Test func theLinkGivesAnotherSeatThanTheCode() throws {
        var (bench, code) = try RoomBench.created()
        _ = try bench.send("room_join", bench.join(bench.guest.keys, code: code), as: bench.guest)
        func way() -> [String?] {
            let known = bench.room.participants[.guest(bench.guest.id)]
            return [known.map { "\($0.seat)" }, known?.via.rawValue]
        }
        let wrong = bench.join(bench.guest.keys, proof: Keys.random(32))
        #expect(try bench.send("room_join", wrong, as: bench.guest).payload["seat"]?.integer == 2)
        #expect(way() == ["2", "code"])
        let right = bench.join(bench.guest.keys, proof: bench.proof)
        #expect(try bench.send("room_join", right, as: bench.guest).payload["seat"]?.integer == 3)
        #expect(way() == ["3", "link"] && bench.room.participants.count == 2)
        let told = try #require(bench.frames("room_event", on: bench.host.connection).first)
        #expect(told["event"]?.string == "joined" && told["participant"]?.string == "\(bench.guest.id)")
        // Once more it is the same seat.
        #expect(try bench.send("room_join", right, as: bench.guest).payload["seat"]?.integer == 3)
    }

    @Test func relaysComeWithASecondParticipant() throws {
        var (bench, code) = try RoomBench.created()
        let made = try bench.send("room_create", bench.create(), as: bench.host)
        #expect(made.type == "room_joined" && made.payload["turn"] == nil)
        let asked = try bench.send("room_turn", bench.named, as: bench.host)
        #expect(asked.code == .forbidden)
        let second = try bench.send("room_join", bench.join(bench.guest.keys, code: code), as: bench.guest)
        #expect(second.payload["turn"]?["username"] != nil)
        #expect(try bench.send("room_turn", bench.named, as: bench.host).type == "turn_credentials")
        _ = try bench.send("room_leave", bench.named, as: bench.guest)
        #expect(try bench.send("room_turn", bench.named, as: bench.host).code == .forbidden)
    }

    @Test(arguments: [(20, true), (19, false)]) func nobodyHostsTooMany(hosted: Int, isRefused: Bool) throws {
        var bench = RoomBench()
        bench.facts.hosted = [.identity(bench.host.id): hosted]
        #expect(try bench.send("room_create", bench.create(), as: bench.host).code == (isRefused ? .forbidden : nil))
    }

    @Test func aGuestHostsThree() throws {
        var bench = RoomBench()
        bench.facts.hosted = [.guest(bench.guest.id): 3]
        let fields = bench.named.with(RoomBench.members(of: bench.guest.keys))
        #expect(try bench.send("room_create", fields, as: bench.guest).code == .forbidden)
    }
}
