-- Mail and outcomes mostly live for less than a second. What is deleted row by row stays in its table until Postgres may
-- remove it, which a single forgotten transaction puts off for as long as it lasts. So rows go into one of three young
-- segments, by their number; a segment that has been written full is left to its readers, what still waits then moves to the
-- kept one, and the young one is emptied as a whole, without vacuum and whatever transactions are open.

-- 65,536 numbers, then the next segment's turn.
CREATE FUNCTION router.segment(number bigint) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT ((number >> 16) % 3)::int2';

DROP VIEW router.statistics, router.message_standing, router.waiting;

ALTER TABLE router.mailbox RENAME TO mailbox_kept;
ALTER TABLE router.mailbox_kept ADD COLUMN segment smallint NOT NULL DEFAULT 3;

CREATE TABLE router.mailbox (
    recipient     bigint      NOT NULL,
    number        bigint      NOT NULL,
    sender        bigint      NOT NULL,
    message_id    uuid        NOT NULL,
    accepted_at   timestamptz NOT NULL,
    id_case       integer     NOT NULL,
    payload       bytea       NOT NULL,
    -- Kept is 3. The default is for routers that know of no segments, while they are replaced one by one.
    segment       smallint    NOT NULL DEFAULT 3
) PARTITION BY LIST (segment);

ALTER TABLE router.mailbox ALTER COLUMN payload SET STORAGE EXTERNAL;
ALTER TABLE router.mailbox ATTACH PARTITION router.mailbox_kept FOR VALUES IN (3);

CREATE TABLE router.mailbox_0 PARTITION OF router.mailbox (PRIMARY KEY (recipient, number))
    FOR VALUES IN (0) WITH (autovacuum_enabled = false);
CREATE TABLE router.mailbox_1 PARTITION OF router.mailbox (PRIMARY KEY (recipient, number))
    FOR VALUES IN (1) WITH (autovacuum_enabled = false);
CREATE TABLE router.mailbox_2 PARTITION OF router.mailbox (PRIMARY KEY (recipient, number))
    FOR VALUES IN (2) WITH (autovacuum_enabled = false);

ALTER TABLE router.outcomes RENAME TO outcomes_kept;
ALTER TABLE router.outcomes_kept ADD COLUMN segment smallint NOT NULL DEFAULT 3;

CREATE TABLE router.outcomes (
    sender        bigint      NOT NULL,
    number        bigint      NOT NULL,
    kind          smallint    NOT NULL,
    id_case       integer     NOT NULL,
    message_id    uuid        NOT NULL,
    recipient     bigint      NOT NULL,
    at            bigint      NOT NULL,
    created_at    timestamptz NOT NULL,
    group_id      uuid,
    segment       smallint    NOT NULL DEFAULT 3
) PARTITION BY LIST (segment);

ALTER TABLE router.outcomes ATTACH PARTITION router.outcomes_kept FOR VALUES IN (3);

CREATE TABLE router.outcomes_0 PARTITION OF router.outcomes (PRIMARY KEY (number))
    FOR VALUES IN (0) WITH (autovacuum_enabled = false);
CREATE TABLE router.outcomes_1 PARTITION OF router.outcomes (PRIMARY KEY (number))
    FOR VALUES IN (1) WITH (autovacuum_enabled = false);
CREATE TABLE router.outcomes_2 PARTITION OF router.outcomes (PRIMARY KEY (number))
    FOR VALUES IN (2) WITH (autovacuum_enabled = false);

CREATE INDEX outcomes_0_sender ON router.outcomes_0 (sender, number);
CREATE INDEX outcomes_1_sender ON router.outcomes_1 (sender, number);
CREATE INDEX outcomes_2_sender ON router.outcomes_2 (sender, number);

GRANT SELECT, INSERT, UPDATE, DELETE ON router.mailbox, router.outcomes TO whisper_router;
-- To see which segment's turn it is.
GRANT SELECT ON SEQUENCE router.mail_numbers, router.outcome_numbers TO whisper_router;

-- Empties a young segment if nothing is in it that counts. Nobody can add to it meanwhile; whoever wants to waits, no longer
-- than the limit here and the look through the segment take together. Returns whether it is empty now.
CREATE FUNCTION router.recycle(parent text, segment smallint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = on AS $$
DECLARE
    name text := format('router.%I', parent || '_' || segment);
    is_used boolean;
BEGIN
    IF parent NOT IN ('mailbox', 'outcomes') OR segment NOT BETWEEN 0 AND 2 THEN
        RAISE EXCEPTION 'not a young segment: % %', parent, segment USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', name);
    EXECUTE format('SELECT EXISTS (SELECT FROM %s)', name) INTO is_used;
    IF NOT is_used THEN EXECUTE format('TRUNCATE %s', name); END IF;
    RETURN NOT is_used;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

REVOKE EXECUTE ON FUNCTION router.recycle FROM PUBLIC;
GRANT EXECUTE ON FUNCTION router.recycle TO whisper_router;

-- The views of other migrations, on the tables that have the names now.

CREATE VIEW router.statistics AS
    SELECT (SELECT count(*) FROM router.mailbox) AS pending_messages,
        (SELECT count(*) FROM router.groups) AS groups;

CREATE VIEW router.message_standing AS
    SELECT l.message_id, l.sender, l.recipient, l.group_id, l.accepted_at, l.status,
        COALESCE(CASE l.status WHEN 1 THEN l.status_at END, o.delivered_at) AS delivered_at,
        COALESCE(CASE l.status WHEN 2 THEN l.status_at END, o.read_at) AS read_at,
        COALESCE(CASE l.status WHEN 3 THEN l.status_at END, o.expired_at) AS expired_at
    FROM router.ledger l
    LEFT JOIN LATERAL (
        SELECT max(created_at) FILTER (WHERE kind = 1) AS delivered_at,
            max(created_at) FILTER (WHERE kind = 2) AS read_at, max(created_at) FILTER (WHERE kind = 3) AS expired_at
        FROM router.outcomes
        WHERE sender = l.sender AND message_id = l.message_id AND recipient = l.recipient
    ) o ON true;

CREATE VIEW router.waiting AS
    SELECT recipient, accepted_at FROM router.mailbox;

GRANT SELECT ON router.statistics, router.message_standing TO whisper_auth;
GRANT SELECT ON router.waiting TO whisper_push;
