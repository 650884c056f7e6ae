-- What routers hold about one identity, for its export (contract §20.5). The ledger is kept by message: one person's rows would take a
-- walk through everybody's, so they are not in it.
CREATE FUNCTION router.held_about(someone bigint, entries bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'waiting', (SELECT jsonb_build_object('messages', count(*), 'bytes', coalesce(sum(octet_length(payload)), 0))
            FROM router.mailbox WHERE recipient = someone),
        'mail', (SELECT coalesce(jsonb_agg(jsonb_build_object('messageId', message_id,
                'from', auth.whisper_id_text(sender), 'acceptedAt', auth.milliseconds(accepted_at)) ORDER BY number), '[]')
            FROM (SELECT number, message_id, sender, accepted_at FROM router.mailbox WHERE recipient = someone
                ORDER BY number LIMIT entries) AS mine),
        'statuses', (SELECT coalesce(jsonb_agg(jsonb_build_object('messageId', message_id,
                'to', auth.whisper_id_text(recipient), 'status', (ARRAY['delivered', 'read', 'expired'])[kind],
                'at', at) ORDER BY number), '[]')
            FROM (SELECT * FROM router.outcomes WHERE sender = someone ORDER BY number LIMIT entries) AS mine),
        'peers', (SELECT coalesce(jsonb_agg(jsonb_build_object('whisperId', auth.whisper_id_text(other),
                'direction', direction, 'lastAt', auth.milliseconds(last_sent_at)) ORDER BY last_sent_at DESC), '[]')
            FROM (SELECT peer AS other, 'sent' AS direction, last_sent_at FROM router.peers WHERE identity = someone
                UNION ALL SELECT identity, 'received', last_sent_at FROM router.peers WHERE peer = someone
                ORDER BY last_sent_at DESC LIMIT entries) AS mine),
        'groups', (SELECT coalesce(jsonb_agg(jsonb_build_object('groupId', group_id, 'title', title,
                'role', (ARRAY['owner', 'admin', 'member'])[role + 1], 'joinedAt', auth.milliseconds(joined_at))), '[]')
            FROM (SELECT m.group_id, g.title, m.role, m.joined_at FROM router.group_members m
                JOIN router.groups g ON g.group_id = m.group_id WHERE m.member = someone LIMIT entries) AS mine),
        'groupEventsWaiting', (SELECT count(*) FROM router.group_news WHERE member = someone),
        'strangersAdded', coalesce((SELECT jsonb_agg(auth.milliseconds(added))
            FROM router.group_quotas, unnest(additions) AS added WHERE identity = someone), '[]')));
END
$$;

REVOKE ALL ON FUNCTION router.held_about(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION router.held_about(bigint, bigint) TO whisper_auth;
