-- Two identities are peers if each has written to the other since then (contract §7: in the last 30 days). A pair is written down once
-- a day, so it is a day longer, never shorter. By the database's clock.
CREATE FUNCTION router.peers_since() RETURNS timestamptz
    LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT now() - interval '31 days' $$;

CREATE FUNCTION router.are_peers(a bigint, b bigint) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT COALESCE(
        (SELECT last_sent_at FROM router.peers WHERE identity = a AND peer = b) > router.peers_since()
            AND (SELECT last_sent_at FROM router.peers WHERE identity = b AND peer = a) > router.peers_since(),
        false)
$$;
