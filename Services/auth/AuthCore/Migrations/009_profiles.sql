-- Profiles: what the devices of one person share (contract §14.4). Each device is an identity of its own.

CREATE TABLE auth.profiles (
    profile_id uuid PRIMARY KEY,
    -- SHA-256 of the key that devices join with.
    join_hash bytea NOT NULL CHECK (octet_length(join_hash) = 32)
);

-- Changed only by who holds the profile's row FOR UPDATE, so what a holder counts stays true.
CREATE TABLE auth.profile_members (
    profile_id uuid NOT NULL REFERENCES auth.profiles ON DELETE CASCADE,
    whisper_id bigint NOT NULL REFERENCES auth.identities,
    joined_at timestamptz NOT NULL,
    PRIMARY KEY (profile_id, whisper_id)
);
CREATE INDEX profile_members_whisper_id ON auth.profile_members (whisper_id);

CREATE TABLE auth.profile_documents (
    profile_id uuid NOT NULL REFERENCES auth.profiles ON DELETE CASCADE,
    name text NOT NULL CHECK (name IN ('user', 'whisper', 'listen', 'settings', 'favorites')),
    -- Counts the writings, from 1 without gaps.
    version bigint NOT NULL CHECK (version >= 1),
    nonce bytea NOT NULL CHECK (octet_length(nonce) = 12),
    ciphertext bytea NOT NULL,
    updated_at timestamptz NOT NULL,
    size_bytes integer NOT NULL GENERATED ALWAYS AS (octet_length(ciphertext)) STORED,
    PRIMARY KEY (profile_id, name)
);
-- It is random to whoever does not hold the key: compressing it would be work for nothing.
ALTER TABLE auth.profile_documents ALTER COLUMN ciphertext SET STORAGE EXTERNAL;

-- For calls: whose conversations an identity may hold. A caller is a member with its own epoch, and not banned.
CREATE VIEW auth.profile_membership AS
    SELECT m.profile_id, m.whisper_id, i.epoch, i.is_banned
    FROM auth.profile_members m JOIN auth.identities i ON i.whisper_id = m.whisper_id;

GRANT SELECT, INSERT, UPDATE, DELETE
    ON auth.profiles, auth.profile_members, auth.profile_documents TO whisper_auth;
GRANT SELECT ON auth.profile_membership TO whisper_calls;
