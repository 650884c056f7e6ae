-- How much is kept of lines, by whom and in which profile, so that a line is judged without adding up what was kept before; and what
-- identities without any peer keep, all of them together (contract §13b).

ALTER TABLE calls.transcripts
    -- The whisperer whose first line began it, and the profile. NULL: no process has counted it.
    ADD COLUMN identity bigint,
    ADD COLUMN profile_id uuid,
    -- What it adds to `calls.kept_bytes`: its ciphertext, and a row for each line.
    ADD COLUMN counted bigint NOT NULL DEFAULT 0;

CREATE TABLE calls.kept_bytes (
    profile_id  uuid    NOT NULL,
    identity    bigint  NOT NULL,
    bytes       bigint  NOT NULL,
    PRIMARY KEY (profile_id, identity)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX kept_bytes_identity ON calls.kept_bytes (identity);

-- A transcript that goes gives its bytes back, whichever statement deletes it. The rows are locked in one order.
CREATE FUNCTION calls.release_kept_bytes() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM calls.kept_bytes k
        WHERE (k.profile_id, k.identity) IN (SELECT profile_id, identity FROM gone)
        ORDER BY k.profile_id, k.identity FOR NO KEY UPDATE;
    UPDATE calls.kept_bytes k SET bytes = k.bytes - g.counted
        FROM (SELECT profile_id, identity, sum(counted) AS counted FROM gone GROUP BY profile_id, identity) g
        WHERE k.profile_id = g.profile_id AND k.identity = g.identity;
    DELETE FROM calls.kept_bytes k USING gone g
        WHERE k.profile_id = g.profile_id AND k.identity = g.identity AND k.bytes <= 0;
    RETURN NULL;
END $$;

CREATE TRIGGER transcripts_release AFTER DELETE ON calls.transcripts
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION calls.release_kept_bytes();

UPDATE calls.transcripts t SET identity = s.holder, profile_id = c.profile_id, counted = t.bytes + 160 * t.lines
FROM calls.streams s, calls.conversations c
WHERE s.conversation_id = t.conversation_id AND s.content_id = t.content_id AND c.conversation_id = t.conversation_id;

INSERT INTO calls.kept_bytes (profile_id, identity, bytes)
SELECT profile_id, identity, sum(counted) FROM calls.transcripts WHERE identity IS NOT NULL GROUP BY profile_id, identity;

-- The same as router.has_peer, which this schema's statements can be prepared without.
CREATE FUNCTION calls.has_peer(someone bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN router.has_peer(someone); END $$;
REVOKE ALL ON FUNCTION calls.has_peer(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION calls.has_peer(bigint) TO whisper_calls;

-- Who made the share. NULL: before anybody noted it.
ALTER TABLE calls.transcript_shares ADD COLUMN identity bigint;

-- One row for each store. A sweep counts it; the statement that stores reads it.
CREATE TABLE calls.stranger_bytes (
    store       text        PRIMARY KEY,
    bytes       bigint      NOT NULL,
    counted_at  timestamptz NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON calls.kept_bytes TO whisper_calls;
GRANT SELECT, INSERT, UPDATE ON calls.stranger_bytes TO whisper_calls;
