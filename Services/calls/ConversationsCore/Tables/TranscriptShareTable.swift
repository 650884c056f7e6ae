package import Contract
package import Store

/// The only code that reads or writes `calls.transcript_shares`.
package enum TranscriptShareTable {
    /// Keeps others from sharing a transcript of the profile until the transaction's end: its shares are counted.
    static func lock(_ content: LiveFacts.Content) -> SQL {
        """
        SELECT pg_advisory_xact_lock(hashtextextended('calls.transcript_shares ' || profile_id, 0))
        FROM calls.conversations WHERE conversation_id = \(PostgresUUID(content.conversation.uuid))
        """
    }

    package enum Sharing: Equatable, Sendable {
        case made(expiresAt: Timestamp)
        /// It has gone, or its conversation has.
        case noTranscript
        /// The transcript or its profile has too many shares already, or all strangers together.
        case noRoom
    }

    /// Locks the transcript: it is deleted with the share, or before.
    static func insert(
        _ id: UUIDText, of content: LiveFacts.Content, _ share: TranscriptOperations.Share, by identity: WhisperID,
        within bounds: KeptBounds = KeptBounds(), at now: StoreTime
    ) -> Statement<Sharing> {
        let bytes = Int64(share.ciphertext.count)
        return Statement(
            """
            WITH transcript AS MATERIALIZED (
                SELECT s.conversation_id, s.content_id, s.expires_at
                FROM calls.transcripts t
                JOIN calls.streams s ON s.conversation_id = t.conversation_id AND s.content_id = t.content_id
                WHERE t.conversation_id = \(PostgresUUID(content.conversation.uuid))
                    AND t.content_id = \(PostgresUUID(content.content))
                    AND (s.expires_at IS NULL OR s.expires_at > \(now))
                FOR KEY SHARE OF t
            ), made AS (
                INSERT INTO calls.transcript_shares
                    (share_id, conversation_id, content_id, identity, verifier, nonce, ciphertext, expires_at)
                SELECT \(PostgresUUID(id)), s.conversation_id, s.content_id, \(identity), \(share.shareVerifier),
                    \(share.nonce), \(share.ciphertext), least(\(now + share.expiresIn), s.expires_at)
                FROM transcript s
                WHERE (
                        SELECT count(*) FROM calls.transcript_shares t
                        WHERE t.conversation_id = s.conversation_id AND t.content_id = s.content_id
                            AND t.expires_at > \(now)) < \(Int64(LiveLimits.sharesMax))
                    AND (
                        SELECT count(*) < \(Int64(bounds.profileSharesMax))
                            AND coalesce(sum(octet_length(t.ciphertext)), 0) + \(bytes)
                                <= \(Int64(bounds.profileShareBytesMax))
                        FROM calls.conversations own
                        JOIN calls.conversations c ON c.profile_id = own.profile_id
                        JOIN calls.transcript_shares t ON t.conversation_id = c.conversation_id
                        WHERE own.conversation_id = s.conversation_id AND t.expires_at > \(now))
                    AND CASE
                        WHEN (SELECT x.bytes FROM calls.stranger_bytes x WHERE x.store = 'shares') + \(bytes)
                            > \(Int64(bounds.strangersBytesMax))
                        THEN calls.has_peer(\(identity)) ELSE true END
                RETURNING expires_at
            )
            SELECT EXISTS (SELECT FROM transcript), (SELECT expires_at FROM made)
            """,
            decode: { rows throws(StoreError) in
                var row = rows[0]
                guard try row.next(Bool.self) else { return .noTranscript }
                return try row.next(Timestamp?.self).map { .made(expiresAt: $0) } ?? .noRoom
            })
    }

    package static func delete(_ id: UUIDText, of conversation: ConversationID) -> SQL {
        """
        DELETE FROM calls.transcript_shares
        WHERE share_id = \(PostgresUUID(id)) AND conversation_id = \(PostgresUUID(conversation.uuid))
        """
    }

    /// A share that has not expired, nor has its transcript, of a conversation that still has its profile.
    package struct Found: Sendable {
        package var verifier: Bytes32
        package var shared: TranscriptOperations.Shared

        package var content: LiveFacts.Content {
            .init(conversation: self.shared.conversation, content: self.shared.content)
        }
    }

    package static func find(_ id: UUIDText, at now: StoreTime) -> Statement<Found?> {
        Statement(
            """
            SELECT t.verifier, t.conversation_id, t.content_id, c.sign_key, c.enc_key, s.started_at, t.nonce,
                t.ciphertext
            FROM calls.transcript_shares t
            JOIN calls.streams s ON s.conversation_id = t.conversation_id AND s.content_id = t.content_id
            JOIN calls.conversations c ON c.conversation_id = t.conversation_id
            WHERE t.share_id = \(PostgresUUID(id)) AND t.expires_at > \(now)
                AND (s.expires_at IS NULL OR s.expires_at > \(now))
                AND EXISTS (SELECT FROM auth.profile_membership m WHERE m.profile_id = c.profile_id)
            """,
            first: { row throws(StoreError) in
                Found(
                    verifier: try row.next(),
                    shared: .init(
                        conversation: try LiveTable.id(&row), content: UUIDText(try row.next(PostgresUUID.self)),
                        signPublicKey: try row.next(), encPublicKey: try row.next(), startedAt: try row.next(),
                        nonce: try row.next(), ciphertext: try row.next()))
            })
    }

    static func sweep(at now: StoreTime) -> SQL {
        "DELETE FROM calls.transcript_shares WHERE expires_at <= \(now)"
    }
}
