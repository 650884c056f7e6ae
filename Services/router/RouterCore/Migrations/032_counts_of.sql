-- For operators: how much of one identity is here, and how much mail comes. Numbers only, and never which mail or group.

-- Counts end at 100,000, as a mailbox does.
CREATE FUNCTION router.counts_of(someone bigint, OUT waiting_messages bigint, OUT groups bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT (SELECT count(*) FROM (SELECT FROM router.mailbox WHERE recipient = someone LIMIT 100000) AS waiting),
        (SELECT count(*) FROM (SELECT FROM router.group_members WHERE member = someone LIMIT 100000) AS memberships)
$$;

REVOKE ALL ON FUNCTION router.counts_of(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION router.counts_of(bigint) TO whisper_auth;

-- Messages that were ever stored: the difference of two looks tells how many come.
CREATE VIEW router.mail_counter AS SELECT last_value AS stored FROM router.mail_numbers;
GRANT SELECT ON router.mail_counter TO whisper_auth;
