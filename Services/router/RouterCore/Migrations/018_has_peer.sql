-- For auth, which lets strangers keep less than others: whether an identity has a peer. Never who that is.

CREATE FUNCTION router.has_peer(someone bigint) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM router.peers there
        JOIN router.peers back ON back.identity = there.peer AND back.peer = there.identity
        WHERE there.identity = someone
            AND there.last_sent_at > now() - interval '30 days' AND back.last_sent_at > now() - interval '30 days')
$$;

REVOKE ALL ON FUNCTION router.has_peer(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION router.has_peer(bigint) TO whisper_auth;
