-- The ledger grows by a row for each message and forgets it after 14 days. Deleted row by row that costs as much as it cost to
-- write, and its index, which begins with a random id, outgrows memory. So rows lie in one table for each day, by the day of
-- the signed time: a message that is sent again with its signature is looked up in the same one. A day is dropped whole.
--
-- Rows whose signed time is not near the database's own time, or whose day has no table, are kept apart and deleted by their
-- age: a wrong clock must neither lose nor prolong what is remembered.

-- Days since 1970, in UTC.
CREATE FUNCTION router.day(at timestamptz) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT floor(extract(epoch FROM at) / 86400)::int4';

DROP VIEW router.message_standing, router.acknowledgements;

ALTER TABLE router.ledger RENAME TO ledger_kept;

CREATE TABLE router.ledger (LIKE router.ledger_kept INCLUDING DEFAULTS) PARTITION BY LIST (day);
ALTER TABLE router.ledger ATTACH PARTITION router.ledger_kept FOR VALUES IN (-1);

-- Days that have a table.
CREATE TABLE router.ledger_days (day integer PRIMARY KEY);

-- Makes the tables of yesterday, today and the days that follow, as many as are asked for; those that exist stay. Returns how
-- many days after today have one, without a gap. An attached table makes nobody wait.
CREATE FUNCTION router.add_ledger_days(now timestamptz, ahead integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    today integer := router.day(now);
    missing integer;
    name text;
BEGIN
    IF ahead NOT BETWEEN 1 AND 7 THEN
        RAISE EXCEPTION 'not so many days: %', ahead USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- One router at a time; the others have nothing left to do.
    PERFORM pg_advisory_xact_lock(hashtextextended('router.ledger_days', 0));
    FOR missing IN
        SELECT d FROM generate_series(today - 1, today + ahead) d
        WHERE NOT EXISTS (SELECT FROM router.ledger_days l WHERE l.day = d) ORDER BY d
    LOOP
        name := format('router.%I', 'ledger_' || to_char(date '1970-01-01' + missing, 'YYYYMMDD'));
        EXECUTE format('CREATE TABLE %s (LIKE router.ledger INCLUDING DEFAULTS, PRIMARY KEY (message_id, sender, recipient))
            WITH (fillfactor = 80)', name);
        EXECUTE format('ALTER TABLE router.ledger ATTACH PARTITION %s FOR VALUES IN (%s)', name, missing);
        INSERT INTO router.ledger_days VALUES (missing);
    END LOOP;
    RETURN (SELECT count(*) FROM generate_series(1, ahead) n
        WHERE NOT EXISTS (SELECT FROM generate_series(1, n) m
            WHERE NOT EXISTS (SELECT FROM router.ledger_days l WHERE l.day = today + m)));
EXCEPTION WHEN lock_not_available THEN
    RETURN (SELECT count(*) FROM router.ledger_days l WHERE l.day BETWEEN today + 1 AND today + ahead);
END $$;

-- Drops the oldest day, if all its messages were accepted longer ago than they are remembered: the last of them a day after
-- its end. Whoever uses the ledger waits for no longer than the limit here. Returns whether a day was dropped.
CREATE FUNCTION router.drop_ledger_day(now timestamptz, remembered integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    oldest integer;
BEGIN
    IF remembered < 14 THEN
        RAISE EXCEPTION 'remembered too shortly: %', remembered USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('router.ledger_days', 0));
    SELECT min(day) INTO oldest FROM router.ledger_days;
    IF oldest IS NULL OR oldest + 2 + remembered > router.day(now) THEN RETURN false; END IF;
    EXECUTE format('DROP TABLE router.%I', 'ledger_' || to_char(date '1970-01-01' + oldest, 'YYYYMMDD'));
    DELETE FROM router.ledger_days WHERE day = oldest;
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

REVOKE EXECUTE ON FUNCTION router.add_ledger_days, router.drop_ledger_day FROM PUBLIC;
GRANT EXECUTE ON FUNCTION router.add_ledger_days, router.drop_ledger_day TO whisper_router;
GRANT SELECT, INSERT, UPDATE, DELETE ON router.ledger TO whisper_router;
GRANT SELECT ON router.ledger_days TO whisper_router;

SELECT router.add_ledger_days(now(), 2);

-- The views of other migrations, on the table that has the name now.

CREATE VIEW router.message_standing AS
    SELECT l.message_id, l.sender, l.recipient, l.group_id, l.accepted_at, l.status,
        COALESCE(CASE l.status WHEN 1 THEN l.status_at END, l.delivered_at, o.delivered_at) AS delivered_at,
        COALESCE(CASE l.status WHEN 2 THEN l.status_at END, o.read_at) AS read_at,
        COALESCE(CASE l.status WHEN 3 THEN l.status_at END, o.expired_at) AS expired_at
    FROM router.ledger l
    LEFT JOIN LATERAL (
        SELECT max(created_at) FILTER (WHERE kind = 1) AS delivered_at,
            max(created_at) FILTER (WHERE kind = 2) AS read_at, max(created_at) FILTER (WHERE kind = 3) AS expired_at
        FROM router.outcomes
        WHERE sender = l.sender AND message_id = l.message_id AND recipient = l.recipient
    ) o ON true;

CREATE VIEW router.acknowledgements AS
    SELECT message_id, sender, recipient, COALESCE(status_at, accepted_at) AS acknowledged_at
    FROM router.ledger WHERE status IN (1, 2);

GRANT SELECT ON router.message_standing TO whisper_auth;
GRANT SELECT ON router.acknowledgements TO whisper_attachments;
