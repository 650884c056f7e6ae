-- What push holds about one identity, for its export (contract §20.5).
-- Otherwise each export would read all dead letters.
CREATE INDEX dead_letters_recipient ON push.dead_letters (recipient, number);

CREATE FUNCTION push.held_about(someone bigint, entries bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'push', (SELECT jsonb_build_object('triedAt', auth.milliseconds(tried_at), 'provider', provider,
                'result', result, 'sentAt', auth.milliseconds(sent_at), 'wokeAt', auth.milliseconds(woke_at),
                'unanswered', unanswered, 'failures', failures, 'dueAt', auth.milliseconds(due_at))
            FROM push.recipients WHERE recipient = someone),
        'deadLetters', (SELECT coalesce(jsonb_agg(jsonb_build_object('at', auth.milliseconds(mine.at), 'kind', kind,
                'provider', provider, 'reason', reason, 'tries', tries) ORDER BY number), '[]')
            FROM (SELECT * FROM push.dead_letters WHERE recipient = someone ORDER BY number DESC LIMIT entries) AS mine)));
END
$$;

REVOKE ALL ON FUNCTION push.held_about(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION push.held_about(bigint, bigint) TO whisper_auth;
