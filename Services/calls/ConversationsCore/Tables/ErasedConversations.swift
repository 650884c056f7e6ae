package import Bus
import ClusterContract
import Contract
import Participants
package import Store

/// Rows that name an erased identity or guest in live conversations (contract §20.3). Owners of conversations hear of what they keep in memory. Ended
/// streams, and what is counted of transcripts, are in no memory.
package struct ErasedConversations: ErasedRows {
    package static let part = ErasurePart.live

    private let pool: PostgresPool
    private let bus: any JobBus

    package init(_ pool: PostgresPool, bus: any JobBus) {
        self.pool = pool
        self.bus = bus
    }

    package func erase(_ erasure: OpenErasure) async throws(StoreError) -> ErasedCount {
        var pipeline = Pipeline()
        let conversations = pipeline.add(Self.naming(erasure.principal))
        let changes: [SQL] =
            switch erasure.principal {
            case .identity(let one): [Self.emptyStreams(of: one), Self.emptyShares(of: one), Self.passOnBytes(of: one)]
            case .guest: []
            }
        let changed = changes.map { pipeline.add(Statement(affecting: $0)) }
        let found = try await self.pool.pipeline(pipeline)
        let named = try found[conversations]
        for id in named {
            self.bus.append(
                LiveJob.erased(id, erasure.principal), to: Keyspace.live(LiveShare(of: id)), failed: { _ in })
        }
        var removed = 0
        for ticket in changed { removed += try found[ticket] }
        return ErasedCount(removed: removed, waiting: named.count)
    }

    /// Conversations that name it in what their owner has in memory.
    private static func naming(_ principal: PrincipalID) -> Statement<[ConversationID]> {
        guard case .identity(let identity) = principal else {
            return Statement(
                """
                SELECT conversation_id FROM calls.listeners WHERE listener = \(principal.storedUUID) AND is_guest
                LIMIT \(Int64(ErasureLimits.portion))
                """,
                each: { row throws(StoreError) in try LiveTable.id(&row) })
        }
        return Statement(
            """
            SELECT conversation_id FROM calls.conversations WHERE creator = \(identity) OR last_holder = \(identity)
            UNION SELECT conversation_id FROM calls.listeners
                WHERE listener = \(principal.storedUUID) AND NOT is_guest
            UNION SELECT conversation_id FROM calls.listeners WHERE grant_from = \(identity)
            UNION SELECT conversation_id FROM calls.streams WHERE holder = \(identity) AND state <> 'ended'
            LIMIT \(Int64(ErasureLimits.portion))
            """,
            each: { row throws(StoreError) in try LiveTable.id(&row) })
    }

    private static func emptyStreams(of identity: WhisperID) -> SQL {
        """
        UPDATE calls.streams SET holder = NULL WHERE (conversation_id, content_id) IN (
            SELECT conversation_id, content_id FROM calls.streams WHERE holder = \(identity) AND state = 'ended'
            LIMIT \(Int64(ErasureLimits.portion)))
        """
    }

    private static func emptyShares(of identity: WhisperID) -> SQL {
        """
        UPDATE calls.transcript_shares SET identity = NULL WHERE share_id IN (
            SELECT share_id FROM calls.transcript_shares WHERE identity = \(identity)
            LIMIT \(Int64(ErasureLimits.portion)))
        """
    }

    /// Lines that stay count for another member of the profile. Without a member they go with their conversation.
    private static func passOnBytes(of identity: WhisperID) -> SQL {
        """
        WITH held AS MATERIALIZED (
            -- Before the bytes, as where lines are stored and deleted: two orders would be a deadlock.
            SELECT FROM calls.transcripts WHERE identity = \(identity)
            ORDER BY conversation_id, content_id FOR NO KEY UPDATE
        ), kept AS MATERIALIZED (
            SELECT k.profile_id, k.bytes,
                (SELECT min(m.whisper_id) FROM auth.profile_membership m WHERE m.profile_id = k.profile_id) AS heir
            FROM calls.kept_bytes k WHERE k.identity = \(identity) AND (SELECT count(*) FROM held) >= 0
            ORDER BY k.profile_id FOR UPDATE OF k
        ), passed AS (
            INSERT INTO calls.kept_bytes AS mine (profile_id, identity, bytes)
            SELECT profile_id, heir, bytes FROM kept WHERE heir IS NOT NULL
            ON CONFLICT (profile_id, identity) DO UPDATE SET bytes = mine.bytes + excluded.bytes
        ), gone AS (
            DELETE FROM calls.kept_bytes k USING kept WHERE k.profile_id = kept.profile_id AND k.identity = \(identity)
        )
        UPDATE calls.transcripts t SET identity = (SELECT heir FROM kept WHERE kept.profile_id = t.profile_id)
        WHERE t.identity = \(identity)
        """
    }
}
