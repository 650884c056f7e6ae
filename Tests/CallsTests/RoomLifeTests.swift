import ClusterContract
import Contract
import Participants
import TestKit
import Testing

@testable import RoomsCore

/// Away and back, hosts, signals, and the end of a room (contract §15.2, §15.4).
@Suite struct RoomLifeTests {
    private static func away(_ bench: inout RoomBench, _ connection: LiveConnection) {
        let id = bench.room.id
        bench.rules { $0.left(id, connection) }
        bench.now = bench.now + RoomLimits.absenceMax
        bench.rules { $0.tick() }
    }

    @Test func whoHasLostItsConnectionIsAwayAndKeepsItsSeat() throws {
        var (bench, _) = try RoomBench.accepted()
        let id = bench.room.id
        let here = bench.guest.connection
        bench.rules { $0.left(id, here) }
        bench.now = bench.now + RoomLimits.absenceMax - .milliseconds(1)
        bench.rules { $0.tick() }
        #expect(bench.events(bench.host.connection).isEmpty)
        bench.now = bench.now + .milliseconds(1)
        bench.rules { $0.tick() }
        let event = try #require(bench.frames("room_event", on: bench.host.connection).first)
        #expect(event["event"]?.string == "away")
        #expect(event["room"]?["participants"]?[1]?["isConnected"] == .bool(false))
        let back = try bench.send("room_join", bench.join(bench.guest.keys), as: bench.guest)
        #expect(back.payload["seat"]?.integer == 2 && bench.events(bench.host.connection) == ["back"])
    }

    @Test func signalsReachTheirPeerOnceAndUnchanged() throws {
        var (bench, _) = try RoomBench.accepted()
        let (host, guest) = (PrincipalID.identity(bench.host.id), PrincipalID.guest(bench.guest.id))
        let offer = bench.signal("offer", from: host, to: guest, by: bench.host.keys)
        guard case .done = try bench.send("room_signal", offer, as: bench.host) else {
            Issue.record("answered")
            return
        }
        let read = try #require(bench.frames("room_signal", on: bench.guest.connection).first)
        for name in ["kind", "from", "to", "timestamp", "nonce", "ciphertext", "sig", "roomId"] {
            #expect(read[name] == offer[name]?.json, "\(name)")
        }
        _ = try bench.send("room_signal", offer, as: bench.host)
        #expect(bench.effects.isEmpty)
        let forged = bench.signal("offer", from: host, to: guest, by: Keys())
        #expect(try bench.send("room_signal", forged, as: bench.host).code == .authFailed)
        let stranger = PrincipalID.guest(RoomBench.Guest(30).id)
        let lost = bench.signal("offer", from: host, to: stranger, by: bench.host.keys)
        #expect(try bench.send("room_signal", lost, as: bench.host).code == .notFound)
        let elsewhere = bench.signal("answer", from: guest, to: host, by: bench.guest.keys)
        let other = try bench.send(
            "room_signal", elsewhere, as: bench.guest.principal, on: RoomBench.Guest(31).connection)
        #expect(other.code == .forbidden)
    }

    @Test func signalsWaitForWhoIsAway() throws {
        var (bench, _) = try RoomBench.accepted()
        let (host, guest) = (PrincipalID.identity(bench.host.id), PrincipalID.guest(bench.guest.id))
        Self.away(&bench, bench.guest.connection)
        for kind in ["offer", "candidate", "offer", "candidate"] {
            _ = try bench.send(
                "room_signal", bench.signal(kind, from: host, to: guest, by: bench.host.keys), as: bench.host)
        }
        #expect(bench.effects.isEmpty)
        _ = try bench.send("room_join", bench.join(bench.guest.keys), as: bench.guest)
        // The older offer gave way to the newer one.
        let kinds = bench.frames("room_signal", on: bench.guest.connection).map { $0["kind"]?.string }
        #expect(kinds == ["candidate", "offer", "candidate"])
        #expect(bench.signals.bytes == 0)

        Self.away(&bench, bench.guest.connection)
        let old = bench.signal("offer", from: host, to: guest, by: bench.host.keys)
        _ = try bench.send("room_signal", old, as: bench.host)
        bench.now = bench.now + RoomLimits.signalsKeptFor
        _ = try bench.send("room_join", bench.join(bench.guest.keys), as: bench.guest)
        #expect(bench.frames("room_signal", on: bench.guest.connection).isEmpty)
    }

    @Test func theHostsLeavingIsTwoEvents() throws {
        var (bench, _) = try RoomBench.accepted()
        let left = try bench.send("room_leave", bench.named, as: bench.host)
        #expect(left.type == "room_left" && bench.events(bench.guest.connection) == ["left", "host"])
        #expect(bench.room.host == .guest(bench.guest.id))
        #expect(try bench.send("room_leave", bench.named, as: bench.host).payload == left.payload)
        #expect(try bench.send("room_leave", bench.named, as: bench.guest).type == "room_left")
        #expect(bench.room == nil)
        #expect(try bench.send("room_close", bench.named, as: bench.guest).type == "room_left")
    }

    @Test func aHostWhoIsAwayHandsOver() throws {
        var (bench, _) = try RoomBench.accepted()
        Self.away(&bench, bench.host.connection)
        bench.now = bench.now + RoomLimits.hostAbsenceMax - .milliseconds(1)
        bench.rules { $0.tick() }
        #expect(bench.room.host == .identity(bench.host.id))
        bench.now = bench.now + .milliseconds(1)
        bench.rules { $0.tick() }
        #expect(bench.room.host == .guest(bench.guest.id) && bench.events(bench.guest.connection) == ["host"])
    }

    @Test func onlyTheHostChangesTheRoom() throws {
        var (bench, _) = try RoomBench.accepted(["participantsMax": 4])
        for (type, more) in [
            ("room_update", ["isLocked": true] as Fields), ("room_code", [:]), ("room_close", [:]),
            ("room_remove", ["participant": "\(bench.host.id)"]),
        ] {
            #expect(try bench.send(type, bench.named.with(more), as: bench.guest).code == .forbidden, "\(type)")
            let stranger = RoomBench.Device(40)
            let answer = try bench.send(type, bench.named.with(more), as: stranger)
            #expect(type == "room_close" ? answer.type == "room_left" : answer.code == .notFound, "\(type)")
        }
        let few = try bench.send("room_update", bench.named.with(["participantsMax": 2]), as: bench.host)
        #expect(few.payload["event"]?.string == "updated" && bench.events(bench.guest.connection) == ["updated"])
        #expect(try bench.send("room_update", bench.named, as: bench.host).code == .invalidPayload)
        let both = bench.named.with(["host": "\(bench.guest.id)", "isLocked": true])
        #expect(try bench.send("room_update", both, as: bench.host).payload["event"]?.string == "host")
        #expect(bench.events(bench.guest.connection) == ["updated", "host"])
        #expect(try bench.send("room_update", bench.named.with(["isLocked": false]), as: bench.host).code == .forbidden)
    }

    @Test func closingTellsTheOthersAndLeavesNothing() throws {
        var (bench, _) = try RoomBench.accepted()
        #expect(try bench.send("room_close", bench.named, as: bench.host).type == "room_left")
        let event = try #require(bench.frames("room_event", on: bench.guest.connection).first)
        #expect(event["event"]?.string == "closed" && event["room"]?["state"]?.string == "closed")
        #expect(bench.events(bench.host.connection).isEmpty && bench.room == nil)
    }

    @Test func guestsAloneLoseTheirRoomAfterADay() throws {
        var (bench, _) = try RoomBench.accepted()
        _ = try bench.send("room_leave", bench.named, as: bench.host)
        Self.away(&bench, bench.guest.connection)
        let end = bench.room.expiresAt
        #expect(end + RoomLimits.absenceMax == bench.now + .seconds(86_400))
        bench.now = end - .milliseconds(1)
        bench.rules { $0.tick() }
        #expect(bench.room != nil)
        bench.now = end
        bench.rules { $0.tick() }
        #expect(bench.room == nil)
    }

    @Test func identitiesWhoAreAwayAreWokenOnceAMinute() throws {
        var (bench, _) = try RoomBench.accepted()
        Self.away(&bench, bench.host.connection)
        #expect(try bench.send("room_poke", bench.named, as: bench.guest).payload["woken"]?.integer == 1)
        #expect(bench.woken == [bench.host.id])
        #expect(try bench.send("room_poke", bench.named, as: bench.guest).payload["woken"]?.integer == 0)
        bench.now = bench.now + RoomLimits.pokePause
        #expect(try bench.send("room_poke", bench.named, as: bench.guest).payload["woken"]?.integer == 1)
    }

    @Test func aReportHealsWhatWasLost() throws {
        var (bench, _) = try RoomBench.accepted()
        let (id, node) = (bench.room.id, bench.guest.connection.node)
        bench.now = bench.now + OwnerLimits.reportsDoubtedFor
        // The gateway knows nothing of the guest's connection: it has gone.
        bench.rules { $0.reported([], by: node, of: RoomShare(of: id)) }
        #expect(bench.room.participants[.guest(bench.guest.id)]?.goneAt == bench.now)
        #expect(bench.room.participants[.identity(bench.host.id)]?.goneAt == nil)
        let entry = RoomReportEntry(
            room: id, connection: bench.guest.connection.connection, participant: .guest(bench.guest.id))
        bench.rules { $0.reported([entry], by: node, of: RoomShare(of: id)) }
        #expect(
            bench.room.participants[.guest(bench.guest.id)]?.goneAt == nil
                && bench.events(bench.host.connection).isEmpty)
        let stranger = RoomReportEntry(
            room: id, connection: ConnectionID(value: 77), participant: .guest(RoomBench.Guest(50).id))
        bench.rules { $0.reported([entry, stranger], by: node, of: RoomShare(of: id)) }
        let place = LiveConnection(node: node, connection: ConnectionID(value: 77))
        #expect(Self.isContradicted(place, in: bench))
        #expect(bench.frames("room_left", on: place).map { $0["roomId"]?.string } == [bench.id])
        #expect(bench.effects.count == 2)
    }

    /// Its gateway made the report before it heard of the joining. Signals go straight on meanwhile, and none replaces another.
    @Test func aReportThatIsOlderThanAJoiningTakesNobodyAway() throws {
        var (bench, _) = try RoomBench.accepted()
        let (id, place) = (bench.room.id, bench.guest.connection)
        bench.now = bench.now + OwnerLimits.reportsDoubtedFor - .milliseconds(1)
        bench.rules { $0.reported([], by: place.node, of: RoomShare(of: id)) }
        #expect(bench.room.participants[.guest(bench.guest.id)]?.reachable == place)
        // It comes back on the same connection, and that is as new.
        _ = try bench.send("room_join", bench.join(bench.guest.keys), as: bench.guest.principal, on: place)
        bench.now = bench.now + .milliseconds(1)
        bench.rules { $0.reported([], by: place.node, of: RoomShare(of: id)) }
        #expect(bench.room.participants[.guest(bench.guest.id)]?.reachable == place)
        // That it has left is no report.
        bench.rules { $0.left(id, place) }
        #expect(bench.room.participants[.guest(bench.guest.id)]?.reachable == nil)
    }

    /// A report that is much older than its joining was read again, say behind a lost master of Redis. It has no news of its own
    /// then.
    @Test func whoWasTakenForGoneHearsWhatTheRoomIsNow() throws {
        var (bench, _) = try RoomBench.accepted()
        let (id, place) = (bench.room.id, bench.guest.connection)
        bench.now = bench.now + OwnerLimits.reportsDoubtedFor
        bench.rules { $0.reported([], by: place.node, of: RoomShare(of: id)) }
        _ = try bench.send("room_update", bench.named.with(["isLocked": true]), as: bench.host)
        #expect(bench.frames("room_event", on: place).isEmpty)
        let entry = RoomReportEntry(room: id, connection: place.connection, participant: .guest(bench.guest.id))
        bench.rules { $0.reported([entry], by: place.node, of: RoomShare(of: id)) }
        let told = bench.frames("room_event", on: place)
        #expect(told.map { $0["event"]?.string } == ["updated"])
        #expect(told.first?["room"]?["revision"]?.integer == Int64(bench.room.revision))
        #expect(told.first?["room"]?["isLocked"] == .bool(true))
        // A participant that was reachable all the time gets nothing.
        bench.rules { $0.reported([entry], by: place.node, of: RoomShare(of: id)) }
        #expect(bench.frames("room_event", on: place).isEmpty)
    }

    /// The room has ended, and what said so was lost.
    @Test func aReportOfARoomThatIsOverIsAnswered() throws {
        var (bench, _) = try RoomBench.accepted()
        let (id, place) = (bench.room.id, bench.guest.connection)
        _ = try bench.send("room_close", bench.named, as: bench.host)
        let entry = RoomReportEntry(room: id, connection: place.connection, participant: .guest(bench.guest.id))
        bench.rules { $0.reported([entry], by: place.node, of: RoomShare(of: id)) }
        #expect(Self.isContradicted(place, in: bench))
        #expect(bench.frames("room_left", on: place).count == 1)
    }

    /// Its seat is where it is now. Its older connection hears nothing of the room.
    @Test func aReportOfAnOlderConnectionIsContradictedInSilence() throws {
        var (bench, _) = try RoomBench.accepted()
        let (id, node) = (bench.room.id, bench.guest.connection.node)
        let older = LiveConnection(node: node, connection: ConnectionID(value: 77))
        let entries = [bench.guest.connection, older].map {
            RoomReportEntry(room: id, connection: $0.connection, participant: .guest(bench.guest.id))
        }
        bench.rules { $0.reported(entries, by: node, of: RoomShare(of: id)) }
        #expect(Self.isContradicted(older, in: bench))
        #expect(bench.frames("room_left", on: older).isEmpty && bench.effects.count == 1)
    }

    /// A frozen gateway passes on an old join when it wakes. The connection had ended, and the client sits elsewhere.
    @Test func aSeatGoesBackIfItsNewConnectionHasEnded() throws {
        var (bench, _) = try RoomBench.accepted()
        let (id, former) = (bench.room.id, bench.guest.connection)
        let woken = LiveConnection(node: NodeID(value: 91), connection: ConnectionID(value: 4))
        let joined = try bench.send("room_join", bench.join(bench.guest.keys), as: bench.guest.principal, on: woken)
        #expect(joined.type == "room_joined")
        #expect(bench.room.participants[.guest(bench.guest.id)]?.place == woken)
        let entry = RoomReportEntry(room: id, connection: former.connection, participant: .guest(bench.guest.id))
        bench.rules { $0.reported([entry], by: former.node, of: RoomShare(of: id)) }
        #expect(!Self.isContradicted(former, in: bench))
        bench.rules { $0.left(id, woken) }
        bench.rules { $0.reported([entry], by: former.node, of: RoomShare(of: id)) }
        #expect(bench.room.participants[.guest(bench.guest.id)]?.reachable == former)
        #expect(bench.frames("room_event", on: former).map { $0["event"]?.string } == ["updated"])
    }

    @Test func aConnectionWhoseSeatHasMovedIsToldAfterAWhile() throws {
        var (bench, _) = try RoomBench.accepted()
        let (id, former) = (bench.room.id, bench.guest.connection)
        let new = LiveConnection(node: NodeID(value: 91), connection: ConnectionID(value: 4))
        _ = try bench.send("room_join", bench.join(bench.guest.keys), as: bench.guest.principal, on: new)
        bench.now = bench.now + RoomOwnerLimits.moveDoubtedFor
        let entry = RoomReportEntry(room: id, connection: former.connection, participant: .guest(bench.guest.id))
        bench.rules { $0.reported([entry], by: former.node, of: RoomShare(of: id)) }
        #expect(Self.isContradicted(former, in: bench))
        #expect(bench.frames("room_left", on: former).isEmpty)
    }

    private static func isContradicted(_ place: LiveConnection, in bench: RoomBench) -> Bool {
        bench.effects.contains {
            if case .event(place, .left(let room)) = $0 { "\(room)" == bench.id } else { false }
        }
    }

    @Test func purgingLeavesAllAndClosesOnesOwn() throws {
        var (bench, _) = try RoomBench.accepted()
        bench.facts.rooms[.identity(bench.host.id)] = [bench.room]
        let listed = try bench.send("room_list", [:], as: bench.host)
        #expect(listed.payload["rooms"]?.elements.map { $0["roomId"]?.string } == [bench.id])
        let purged = try bench.send("room_purge", [:], as: bench.host)
        #expect(purged.payload["closed"]?.integer == 1 && purged.payload["left"]?.integer == 0)
        #expect(bench.room == nil && bench.events(bench.guest.connection) == ["closed"])
    }
}
