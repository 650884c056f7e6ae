-- What calls holds about one identity, for its export (contract §20.5). Seats and listeners are found by its id in the low half of a UUID.
CREATE FUNCTION calls.held_about(someone bigint, entries bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stored uuid := lpad(to_hex(someone), 32, '0')::uuid;
BEGIN
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'calls', (SELECT coalesce(jsonb_agg(jsonb_build_object('callId', call_id,
                'with', auth.whisper_id_text(CASE WHEN caller = someone THEN callee ELSE caller END),
                'direction', CASE WHEN caller = someone THEN 'out' ELSE 'in' END, 'isVideo', is_video,
                'startedAt', auth.milliseconds(started_at), 'answeredAt', auth.milliseconds(answered_at),
                'endedAt', auth.milliseconds(ended_at), 'endReason', end_reason)), '[]')
            FROM (SELECT * FROM calls.calls WHERE caller = someone OR callee = someone LIMIT entries) AS mine),
        'conversations', (SELECT coalesce(jsonb_agg(jsonb_build_object('conversationId', conversation_id,
                'profileId', profile_id, 'createdAt', auth.milliseconds(created_at), 'isCreator', creator = someone,
                'isLastHolder', coalesce(last_holder = someone, false))), '[]')
            FROM (SELECT * FROM calls.conversations WHERE creator = someone OR last_holder = someone LIMIT entries) AS mine),
        'streams', (SELECT coalesce(jsonb_agg(jsonb_build_object('conversationId', conversation_id,
                'contentId', content_id, 'state', state, 'startedAt', auth.milliseconds(started_at),
                'changedAt', auth.milliseconds(changed_at))), '[]')
            FROM (SELECT * FROM calls.streams WHERE holder = someone ORDER BY started_at DESC LIMIT entries) AS mine),
        'listens', (SELECT coalesce(jsonb_agg(jsonb_build_object('conversationId', conversation_id, 'status', status,
                'since', auth.milliseconds(since), 'seenAt', auth.milliseconds(seen_at))), '[]')
            FROM (SELECT * FROM calls.listeners WHERE listener = stored AND NOT is_guest LIMIT entries) AS mine),
        'grantsSigned', (SELECT count(*) FROM calls.listeners WHERE grant_from = someone),
        'transcripts', (SELECT coalesce(jsonb_agg(jsonb_build_object('conversationId', conversation_id,
                'contentId', content_id, 'lines', lines, 'bytes', bytes)), '[]')
            FROM (SELECT * FROM calls.transcripts WHERE identity = someone LIMIT entries) AS mine),
        'transcriptShares', (SELECT coalesce(jsonb_agg(jsonb_build_object('shareId', share_id,
                'conversationId', conversation_id, 'contentId', content_id,
                'expiresAt', auth.milliseconds(expires_at))), '[]')
            FROM (SELECT * FROM calls.transcript_shares WHERE identity = someone LIMIT entries) AS mine),
        'transcriptBytes', (SELECT coalesce(sum(bytes), 0) FROM calls.kept_bytes WHERE identity = someone),
        'rooms', (SELECT coalesce(jsonb_agg(jsonb_build_object('roomId', r.room_id,
                'isCreator', r.creator = stored AND NOT r.creator_is_guest,
                'isHost', r.host = stored AND NOT r.host_is_guest, 'seat', p.seat,
                'joinedAt', auth.milliseconds(p.joined_at))), '[]')
            FROM (SELECT room_id FROM calls.room_participants WHERE participant = stored AND NOT is_guest
                UNION SELECT room_id FROM calls.rooms WHERE creator = stored AND NOT creator_is_guest
                UNION SELECT room_id FROM calls.rooms WHERE host = stored AND NOT host_is_guest LIMIT entries) AS mine
            JOIN calls.rooms r ON r.room_id = mine.room_id
            LEFT JOIN calls.room_participants p
                ON p.room_id = r.room_id AND p.participant = stored AND NOT p.is_guest),
        'roomsBarred', (SELECT coalesce(jsonb_agg(jsonb_build_object('roomId', room_id,
                'at', auth.milliseconds(barred_at))), '[]')
            FROM (SELECT * FROM calls.room_barred WHERE participant = stored AND NOT is_guest LIMIT entries) AS mine)));
END
$$;

REVOKE ALL ON FUNCTION calls.held_about(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION calls.held_about(bigint, bigint) TO whisper_auth;
