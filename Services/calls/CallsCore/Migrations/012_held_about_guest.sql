-- What calls holds about one guest, for its export (contract §20.5).
CREATE FUNCTION calls.held_about_guest(someone uuid, entries bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'listens', (SELECT coalesce(jsonb_agg(jsonb_build_object('conversationId', conversation_id, 'status', status,
                'since', auth.milliseconds(since), 'seenAt', auth.milliseconds(seen_at))), '[]')
            FROM (SELECT * FROM calls.listeners WHERE listener = someone AND is_guest LIMIT entries) AS mine),
        'rooms', (SELECT coalesce(jsonb_agg(jsonb_build_object('roomId', r.room_id,
                'isCreator', r.creator = someone AND r.creator_is_guest,
                'isHost', r.host = someone AND r.host_is_guest, 'seat', p.seat,
                'joinedAt', auth.milliseconds(p.joined_at))), '[]')
            FROM (SELECT room_id FROM calls.room_participants WHERE participant = someone AND is_guest
                UNION SELECT room_id FROM calls.rooms WHERE creator = someone AND creator_is_guest
                UNION SELECT room_id FROM calls.rooms WHERE host = someone AND host_is_guest LIMIT entries) AS mine
            JOIN calls.rooms r ON r.room_id = mine.room_id
            LEFT JOIN calls.room_participants p
                ON p.room_id = r.room_id AND p.participant = someone AND p.is_guest),
        'roomsBarred', (SELECT coalesce(jsonb_agg(jsonb_build_object('roomId', room_id,
                'at', auth.milliseconds(barred_at))), '[]')
            FROM (SELECT * FROM calls.room_barred WHERE participant = someone AND is_guest LIMIT entries) AS mine)));
END
$$;

REVOKE ALL ON FUNCTION calls.held_about_guest(uuid, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION calls.held_about_guest(uuid, bigint) TO whisper_auth;
