package import Bus
import ClusterContract
import Contract
import Participants
package import Store

/// Seats of an erased identity or guest, and rooms that name it (contract §20.3). Owners of the rooms let it leave.
package struct ErasedRooms: ErasedRows {
    package static let part = ErasurePart.rooms

    private let pool: PostgresPool
    private let bus: any JobBus

    package init(_ pool: PostgresPool, bus: any JobBus) {
        self.pool = pool
        self.bus = bus
    }

    package func erase(_ erasure: OpenErasure) async throws(StoreError) -> ErasedCount {
        let principal = erasure.principal
        let (stored, isGuest) = (principal.storedUUID, principal.isGuest)
        var pipeline = Pipeline()
        let rooms = pipeline.add(
            Statement<[UUIDText]>(
                """
                SELECT room_id FROM calls.room_participants WHERE participant = \(stored) AND is_guest = \(isGuest)
                UNION SELECT room_id FROM calls.rooms WHERE host = \(stored) AND host_is_guest = \(isGuest)
                LIMIT \(Int64(ErasureLimits.portion))
                """,
                each: { row throws(StoreError) in UUIDText(try row.next(PostgresUUID.self)) }))
        let barred = pipeline.add(
            Statement(
                affecting: "DELETE FROM calls.room_barred WHERE participant = \(stored) AND is_guest = \(isGuest)"))
        // Owners never write it again.
        let created = pipeline.add(
            Statement(
                affecting: """
                    UPDATE calls.rooms SET creator = host, creator_is_guest = host_is_guest
                    WHERE creator = \(stored) AND creator_is_guest = \(isGuest)
                        AND (host <> \(stored) OR host_is_guest <> \(isGuest))
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
