-- Live conversations: who may listen, who whispers. What is typed is never here.

CREATE TABLE calls.conversations (
    conversation_id uuid        PRIMARY KEY,
    -- Follows from the id: which process the conversation belongs to.
    share           smallint    NOT NULL,
    profile_id      uuid        NOT NULL,
    creator         bigint      NOT NULL,
    sign_key        bytea       NOT NULL CHECK (octet_length(sign_key) = 32),
    enc_key         bytea       NOT NULL CHECK (octet_length(enc_key) = 32),
    -- SHA-256 of the proof that a link gives.
    link_verifier   bytea       NOT NULL CHECK (octet_length(link_verifier) = 32),
    info_nonce      bytea       NOT NULL,
    info            bytea       NOT NULL,
    transcript_days smallint    NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    -- Of the newest content keys.
    generation      integer     NOT NULL,
    -- Counts every taking of the stream.
    epoch           bigint      NOT NULL,
    -- The device that held the stream last.
    last_holder     bigint,
    -- When a stream last began or ended.
    used_at         timestamptz NOT NULL
);

CREATE INDEX conversations_profile ON calls.conversations (profile_id);
CREATE INDEX conversations_used ON calls.conversations (used_at);

CREATE TABLE calls.streams (
    conversation_id uuid        NOT NULL REFERENCES calls.conversations ON DELETE CASCADE,
    content_id      uuid        NOT NULL,
    state           text        NOT NULL CHECK (state IN ('live', 'paused', 'ended')),
    holder          bigint      NOT NULL,
    -- Where the holder is, while it holds. NULL: its connection has gone.
    node            bigint,
    connection      bigint,
    is_transcribed  boolean     NOT NULL,
    started_at      timestamptz NOT NULL,
    changed_at      timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, content_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

-- One stream of a conversation goes on at a time.
CREATE UNIQUE INDEX streams_open ON calls.streams (conversation_id) WHERE state <> 'ended';
CREATE INDEX streams_of_connection ON calls.streams (node, connection) WHERE state = 'live';
CREATE INDEX streams_ended ON calls.streams (changed_at) WHERE state = 'ended';

CREATE TABLE calls.listeners (
    conversation_id uuid        NOT NULL REFERENCES calls.conversations ON DELETE CASCADE,
    -- A guest's id, or in its low half that of an identity.
    is_guest        boolean     NOT NULL,
    listener        uuid        NOT NULL,
    status          text        NOT NULL CHECK (status IN ('waiting', 'admitted', 'refused', 'blocked')),
    sign_key        bytea       NOT NULL CHECK (octet_length(sign_key) = 32),
    enc_key         bytea       NOT NULL CHECK (octet_length(enc_key) = 32),
    since           timestamptz NOT NULL,
    -- The last knock: a BOX for the conversation, signed by the listener.
    knock_at        timestamptz,
    knock_nonce     bytea,
    knock           bytea,
    knock_sig       bytea,
    -- When a waiting one is sent away.
    expires_at      timestamptz,
    -- The newest grant: a BOX for the listener, signed by the conversation.
    grant_from      bigint,
    generation      integer     NOT NULL DEFAULT 0,
    grant_at        timestamptz,
    grant_nonce     bytea,
    grant_box       bytea,
    grant_sig       bytea,
    -- Of the stream that it joined last, since it was last admitted.
    joined_content  uuid,
    joined_at       timestamptz,
    -- When it last joined or was decided about.
    seen_at         timestamptz NOT NULL,
    -- Why it was refused, and the nonce of that refusal.
    refusal         text,
    refusal_nonce   bytea,
    PRIMARY KEY (conversation_id, is_guest, listener)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX listeners_waiting ON calls.listeners (conversation_id) WHERE status = 'waiting';
CREATE INDEX listeners_seen ON calls.listeners (seen_at) WHERE status IN ('admitted', 'refused');

-- Ciphertext does not compress: do not try.
ALTER TABLE calls.conversations ALTER COLUMN info SET STORAGE EXTERNAL;
ALTER TABLE calls.listeners ALTER COLUMN knock SET STORAGE EXTERNAL;

GRANT SELECT, INSERT, UPDATE, DELETE ON calls.conversations, calls.streams, calls.listeners TO whisper_calls;
