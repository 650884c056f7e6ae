-- What identities without any peer keep here, all of them together (contract §13b): one row for each store. A sweep counts it; the
-- statement that stores reads it.
CREATE TABLE router.stranger_bytes (
    store       text        PRIMARY KEY,
    bytes       bigint      NOT NULL,
    counted_at  timestamptz NOT NULL
);

GRANT SELECT, INSERT, UPDATE ON router.stranger_bytes TO whisper_router;

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'whisper_calls') THEN
        CREATE ROLE whisper_calls NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- Another database of this server was faster.
END $$;

-- Calls ask whether a whisperer has a peer; never who that is.
GRANT USAGE ON SCHEMA router TO whisper_calls;
GRANT EXECUTE ON FUNCTION router.has_peer(bigint) TO whisper_router, whisper_calls;
