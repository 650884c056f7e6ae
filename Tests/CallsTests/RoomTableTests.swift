import ClusterContract
import Contract
import Participants
import LocalStack
import Logging
import Store
import TestKit
import Testing

@testable import Jobs
@testable import RoomsCore

/// Rooms in a real Postgres, with the rights that the migrations granted and no more.
@Suite struct RoomTableTests {
    @Test func whatIsWrittenComesBackWhole() async throws {
        var (bench, code) = try RoomBench.accepted(["participantsMax": 4])
        let first = try #require(bench.room).asStored
        _ = try bench.send("room_remove", bench.named.with(["participant": "\(bench.guest.id)"]), as: bench.host)
        bench.refill()
        _ = try bench.send("room_code", bench.named.with(["pin": "1234"]), as: bench.host)
        let second = try #require(bench.room).asStored
        let old = try #require(JoinCode(code))
        try await LiveTableTests.run { connection in
            func write(_ before: RoomMachine?, _ after: RoomMachine?) async throws {
                var pipeline = Pipeline()
                pipeline.add(RoomTable.write([.init(before: before, after: after)], at: bench.now))
                _ = try await connection.pipeline(pipeline)
            }
            func load() async throws -> RoomMachine? { try await RoomTable.load([first.id]).run(on: connection).first }
            try await write(nil, first)
            #expect(try await load() == first)
            let host = PrincipalID.identity(bench.host.id)
            #expect(try await connection.query(RoomTable.hosted(by: [host])) == [host: 1])
            #expect(try await connection.query(RoomTable.active(in: [RoomShare(of: first.id)])) == [first.id])
            try await write(first, second)
            #expect(try await load() == second)
            // The old code is known for a day: whoever joined by it comes back by it.
            let fresh = try #require(second.code?.code)
            let known = try await connection.query(RoomCodeTable.rooms(of: [old, fresh]))
            #expect(known == [old: first.id, fresh: first.id])
            #expect(try await connection.query(RoomCodeTable.taken(of: [old, fresh])) == [old, fresh])
            #expect(try await connection.query(RoomCodeTable.counts) == [6: 2])
            var pipeline = Pipeline()
            pipeline.add([RoomTable.leave([first.id], host)])
            _ = try await connection.pipeline(pipeline)
            let leaving = try await connection.query(RoomTable.leaving(in: [RoomShare(of: first.id)], limit: 9))
            #expect(leaving.map(\.room) == [first.id] && leaving.map(\.participant) == [host])
            #expect(try await connection.query(RoomTable.rooms(of: [host])).isEmpty)
            try await write(second, nil)
            #expect(try await load() == nil)
            #expect(try await connection.query(RoomCodeTable.rooms(of: [old, fresh])).isEmpty)
            #expect(try await connection.query(RoomCodeTable.taken(of: [old, fresh])).count == 2)
        }
    }

    /// One batch may hold both: the participant is in the room before it and behind it, with another seat.
    @Test func whoLeavesAndReturnsAtOnceHasTheNewSeat() async throws {
        let (bench, code) = try RoomBench.accepted(["participantsMax": 4])
        let first = try #require(bench.room).asStored
        let guest = try #require(first.participants.keys.first { $0 != first.host })
        var second = first
        second.participants[guest] = .init(
            seat: first.nextSeat, via: .link, joinedCode: nil,
            signPublicKey: first.participants[guest]!.signPublicKey,
            encPublicKey: first.participants[guest]!.encPublicKey,
            joinedAt: Timestamp(milliseconds: bench.now.milliseconds + 5), place: first.participants[guest]!.place)
        second.nextSeat += 1
        #expect(first.participants[guest]?.joinedCode == code)
        try await LiveTableTests.run { [second] connection in
            var pipeline = Pipeline()
            pipeline.add(RoomTable.write([.init(before: nil, after: first)], at: bench.now))
            // It was leaving all rooms with the seat that it had.
            pipeline.add([RoomTable.leave([first.id], guest)])
            pipeline.add(RoomTable.write([.init(before: first, after: second)], at: bench.now))
            _ = try await connection.pipeline(pipeline)
            #expect(try await RoomTable.load([first.id]).run(on: connection).first == second)
            let leaving = try await connection.query(RoomTable.leaving(in: [RoomShare(of: first.id)], limit: 9))
            #expect(leaving.isEmpty)
        }
    }

    @Test func missesOfAMinuteCountByAddress() async throws {
        try await LiveTableTests.run { connection in
            var pipeline = Pipeline()
            pipeline.add([RoomCodeTable.miss((0..<100).map { UInt64($0 % 20) })])
            _ = try await connection.pipeline(pipeline)
            let guesses = try #require(try await connection.query(RoomCodeTable.guesses))
            #expect(guesses.misses == 100 && guesses.origins == 20 && guesses.isUnderAttack)
            #expect((1...60_000).contains(guesses.milliseconds))
            var sweep = Pipeline()
            sweep.add(RoomCodeTable.sweep)
            _ = try await connection.pipeline(sweep)
            #expect(try await connection.query(RoomCodeTable.guesses)?.misses == 100)
        }
    }
}

extension RoomMachine {
    /// Without what is in memory alone.
    fileprivate var asStored: RoomMachine {
        var room = self
        for id in room.participants.keys { room.participants[id]?.placedAt = nil }
        return room
    }
}
