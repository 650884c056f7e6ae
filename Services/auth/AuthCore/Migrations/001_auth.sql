-- Identities, devices, sessions and contact backups. The service `auth` owns all of it; others read the two views.

-- The launcher makes these roles with LOGIN; a bare database gets them without.
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['whisper_auth', 'whisper_router', 'whisper_push'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL;  -- Another database of this server was faster.
            END;
        END IF;
    END LOOP;
END
$$;

-- Narrow on purpose: joined by primary key for every message.
CREATE TABLE auth.identities (
    whisper_id bigint PRIMARY KEY CHECK (whisper_id >= 0 AND whisper_id < 1::bigint << 60),
    sign_key bytea NOT NULL UNIQUE CHECK (octet_length(sign_key) = 32),
    enc_key bytea NOT NULL UNIQUE CHECK (octet_length(enc_key) = 32),
    epoch bigint NOT NULL,
    is_banned boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The one active device of an identity. A push token belongs to one identity: the last that showed it.
CREATE TABLE auth.devices (
    whisper_id bigint NOT NULL REFERENCES auth.identities,
    device_id uuid NOT NULL,
    platform text NOT NULL CHECK (platform IN ('ios', 'android')),
    push_token text UNIQUE,
    voip_token text UNIQUE,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (whisper_id, device_id)
);

-- A session lives while its epoch is the identity's. Tokens are not kept, only their SHA-256.
CREATE TABLE auth.sessions (
    token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    whisper_id bigint NOT NULL REFERENCES auth.identities,
    device_id uuid NOT NULL,
    platform text NOT NULL CHECK (platform IN ('ios', 'android')),
    epoch bigint NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Set by the first refresh: when the session ends beside its successor.
    dies_at timestamptz,
    -- Set by the first refresh. The successor's token follows from it and the token of this session.
    refresh_nonce bytea CHECK (octet_length(refresh_nonce) = 32),
    -- The session that this one was refreshed from; ends when this one is used.
    predecessor bytea
);
CREATE INDEX sessions_whisper_id ON auth.sessions (whisper_id);
CREATE INDEX sessions_end ON auth.sessions (LEAST(expires_at, dies_at));

-- Counts the writings of all backups, so that no two versions of one share an ETag.
CREATE SEQUENCE auth.backup_revisions;

CREATE TABLE auth.contact_backups (
    whisper_id bigint PRIMARY KEY REFERENCES auth.identities,
    nonce bytea NOT NULL CHECK (octet_length(nonce) = 24),
    ciphertext bytea NOT NULL,
    revision bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    size_bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(ciphertext)) STORED
);
-- It is random to whoever does not hold the key: compressing it would be work for nothing.
ALTER TABLE auth.contact_backups ALTER COLUMN ciphertext SET STORAGE EXTERNAL;

-- For the router: who can get mail.
CREATE VIEW auth.mail_identities AS
    SELECT whisper_id, epoch, is_banned FROM auth.identities;

-- For push: how to wake somebody up.
CREATE VIEW auth.push_tokens AS
    SELECT whisper_id, platform, push_token, voip_token FROM auth.devices
    WHERE push_token IS NOT NULL OR voip_token IS NOT NULL;

-- For operators: an id as people write it.
CREATE FUNCTION auth.whisper_id_text(id bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT 'WSP' || string_agg(
        CASE WHEN n % 4 = 0 THEN '-' ELSE '' END
            || substr('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 1 + (id >> (55 - 5 * n) & 31)::integer, 1),
        '' ORDER BY n)
    FROM generate_series(0, 11) AS n
$$;

REVOKE ALL ON SCHEMA auth FROM PUBLIC;
GRANT USAGE ON SCHEMA auth TO whisper_auth, whisper_router, whisper_push;
GRANT SELECT, INSERT, UPDATE, DELETE
    ON auth.identities, auth.devices, auth.sessions, auth.contact_backups TO whisper_auth;
GRANT USAGE ON SEQUENCE auth.backup_revisions TO whisper_auth;
GRANT SELECT ON auth.mail_identities TO whisper_router;
GRANT SELECT ON auth.push_tokens TO whisper_push;
