-- Lines that are kept, as their whisperers have sealed them, and links to them.

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'whisper_auth') THEN
        CREATE ROLE whisper_auth NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- Another database of this server was faster.
END $$;

ALTER TABLE calls.streams
    -- How long lines are kept after the end. Frozen when the stream begins. 0: not at all.
    ADD COLUMN transcript_days smallint NOT NULL DEFAULT 0,
    -- When the lines of an ended stream go. NULL while it goes on, and once they have gone.
    ADD COLUMN expires_at timestamptz;

UPDATE calls.streams s SET transcript_days = c.transcript_days
FROM calls.conversations c
WHERE c.conversation_id = s.conversation_id AND s.is_transcribed AND s.state <> 'ended';

-- A stream is known as long as its lines: its contentId never begins again over them.
DROP INDEX calls.streams_ended;
CREATE INDEX streams_ended ON calls.streams (changed_at) WHERE state = 'ended' AND expires_at IS NULL;
CREATE INDEX streams_expiring ON calls.streams (expires_at) WHERE expires_at IS NOT NULL;

-- A stream with lines, and how many they are.
CREATE TABLE calls.transcripts (
    conversation_id uuid    NOT NULL,
    content_id      uuid    NOT NULL,
    last_line       integer NOT NULL,
    lines           bigint  NOT NULL,
    -- Of ciphertext.
    bytes           bigint  NOT NULL,
    PRIMARY KEY (conversation_id, content_id),
    FOREIGN KEY (conversation_id, content_id) REFERENCES calls.streams ON DELETE CASCADE
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE calls.transcript_lines (
    conversation_id uuid        NOT NULL,
    content_id      uuid        NOT NULL,
    line            integer     NOT NULL,
    epoch           bigint      NOT NULL,
    seq             bigint      NOT NULL,
    generation      integer     NOT NULL,
    nonce           bytea       NOT NULL,
    ciphertext      bytea       NOT NULL,
    stored_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (conversation_id, content_id, line),
    FOREIGN KEY (conversation_id, content_id) REFERENCES calls.transcripts ON DELETE CASCADE
);

CREATE TABLE calls.transcript_shares (
    share_id        uuid        PRIMARY KEY,
    conversation_id uuid        NOT NULL,
    content_id      uuid        NOT NULL,
    -- SHA-256 of the proof that the share's link gives.
    verifier        bytea       NOT NULL CHECK (octet_length(verifier) = 32),
    -- Keys of the lines, sealed for whoever has the link.
    nonce           bytea       NOT NULL,
    ciphertext      bytea       NOT NULL,
    expires_at      timestamptz NOT NULL,
    FOREIGN KEY (conversation_id, content_id) REFERENCES calls.transcripts ON DELETE CASCADE
);

CREATE INDEX transcript_shares_of ON calls.transcript_shares (conversation_id, content_id);
CREATE INDEX transcript_shares_expiring ON calls.transcript_shares (expires_at);

-- Ciphertext does not compress: do not try.
ALTER TABLE calls.transcript_lines ALTER COLUMN ciphertext SET STORAGE EXTERNAL;
ALTER TABLE calls.transcript_shares ALTER COLUMN ciphertext SET STORAGE EXTERNAL;

-- In numbers, for operators.
CREATE VIEW calls.statistics AS
    SELECT (SELECT count(*) FROM calls.conversations) AS conversations,
        (SELECT count(*) FROM calls.streams WHERE state <> 'ended') AS streams,
        (SELECT count(*) FROM calls.listeners WHERE status = 'admitted') AS listeners,
        (SELECT coalesce(sum(lines), 0)::bigint FROM calls.transcripts) AS transcript_lines;

GRANT SELECT, INSERT, UPDATE, DELETE ON calls.transcripts, calls.transcript_lines, calls.transcript_shares TO whisper_calls;
GRANT USAGE ON SCHEMA calls TO whisper_auth;
GRANT SELECT ON calls.statistics TO whisper_auth;
