package import Bus
import ClusterContract
import Contract
import Participants
package import Store

/// Seats of an erased identity, and rooms that name it (contract §20.3). Owners of the rooms let it leave.
package struct ErasedRooms: ErasedRows {
    package static let part = ErasurePart.rooms

    private let pool: PostgresPool
    private let bus: any JobBus

    package init(_ pool: PostgresPool, bus: any JobBus) {
        self.pool = pool
        self.bus = bus
    }

    package func erase(_ erasure: OpenErasure) async throws(StoreError) -> ErasedCount {
        let principal = PrincipalID.identity(erasure.identity)
        let stored = principal.storedUUID
        var pipeline = Pipeline()
        let rooms = pipeline.add(
            Statement<[UUIDText]>(
                """
                SELECT room_id FROM calls.room_participants WHERE participant = \(stored) AND NOT is_guest
                UNION SELECT room_id FROM calls.rooms WHERE host = \(stored) AND NOT host_is_guest
                LIMIT \(Int64(ErasureLimits.portion))
                """,
                each: { row throws(StoreError) in UUIDText(try row.next(PostgresUUID.self)) }))
        let barred = pipeline.add(
            Statement(affecting: "DELETE FROM calls.room_barred WHERE participant = \(stored) AND NOT is_guest"))
        // Owners never write it again.
        let created = pipeline.add(
            Statement(
                affecting: """
                    UPDATE calls.rooms SET creator = host, creator_is_guest = host_is_guest
                    WHERE creator = \(stored) AND NOT creator_is_guest AND (host <> \(stored) OR host_is_guest)
                    """))
        let found = try await self.pool.pipeline(pipeline)
        let named = try found[rooms]
        for room in named {
            self.bus.append(
                RoomJob.erased(room, principal), to: Keyspace.rooms(RoomShare(of: room)), failed: { _ in })
        }
        return ErasedCount(removed: try found[barred] + found[created], waiting: named.count)
    }
}
