-- Calls that ring, last, or ended a moment ago. Identities are the 60 bits of their Whisper ID.

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'whisper_calls') THEN
        BEGIN
            CREATE ROLE whisper_calls NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- Another database of this server was faster.
        END;
    END IF;
END $$;

CREATE TABLE calls.calls (
    -- The call's id inside the cluster. Random; what clients call it is theirs to choose.
    wake_id       uuid        PRIMARY KEY,
    -- Follows from the two identities: which process the call belongs to.
    share         smallint    NOT NULL,
    call_id       uuid        NOT NULL,
    -- Which hex digits of the call id the caller wrote in upper case.
    id_case       integer     NOT NULL,
    caller        bigint      NOT NULL,
    callee        bigint      NOT NULL,
    is_video      boolean     NOT NULL,
    started_at    timestamptz NOT NULL,
    rings_until   timestamptz NOT NULL,
    -- When the callee's socket had it.
    reached_at    timestamptz,
    answered_at   timestamptz,
    ended_at      timestamptz,
    end_reason    text CHECK (end_reason IN ('ended', 'declined', 'busy', 'timeout', 'failed', 'cancelled')),
    -- 0 the caller, 1 the callee, NULL the server.
    ended_by      smallint,
    -- A push has been asked for.
    is_woken      boolean     NOT NULL,
    -- Beginnings of the signatures that answered and ended it: a repeated frame is known by them.
    answer_mark   bigint,
    end_mark      bigint,
    CHECK ((ended_at IS NULL) = (end_reason IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX calls_share ON calls.calls (share);
CREATE INDEX calls_ringing ON calls.calls (callee) WHERE answered_at IS NULL AND ended_at IS NULL;

-- Frames that a side has not got yet.
CREATE TABLE calls.parcels (
    wake_id       uuid        NOT NULL REFERENCES calls.calls ON DELETE CASCADE,
    number        bigint      NOT NULL,
    -- 0 the caller, 1 the callee.
    side          smallint    NOT NULL,
    -- 1 call_incoming, 2 call_ringing, 3 call_answer, 4 call_ice_candidate, 5 call_end.
    kind          smallint    NOT NULL,
    payload       bytea       NOT NULL,
    PRIMARY KEY (wake_id, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05);

-- Ciphertext does not compress: do not try.
ALTER TABLE calls.parcels ALTER COLUMN payload SET STORAGE EXTERNAL;

-- Who is in which call: one person, one line. What makes somebody busy.
CREATE TABLE calls.lines (
    identity      bigint      PRIMARY KEY,
    wake_id       uuid        NOT NULL,
    is_answered   boolean     NOT NULL,
    -- When the identity was last known to be connected, to some seconds.
    seen_at       timestamptz NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX lines_call ON calls.lines (wake_id);

REVOKE ALL ON SCHEMA calls FROM PUBLIC;
GRANT USAGE ON SCHEMA calls TO whisper_calls;
GRANT SELECT, INSERT, UPDATE, DELETE ON calls.calls, calls.parcels, calls.lines TO whisper_calls;
