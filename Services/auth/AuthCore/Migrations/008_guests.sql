-- Guests: browsers that have proved a pair of keys and have no identity; and the operators' bans of guests.

-- The id is made from the keys. Of a token only its SHA-256 is kept; the next proof replaces it.
CREATE TABLE auth.guests (
    guest_id uuid PRIMARY KEY,
    sign_key bytea NOT NULL CHECK (octet_length(sign_key) = 32),
    enc_key bytea NOT NULL CHECK (octet_length(enc_key) = 32),
    -- Counts the proofs.
    epoch bigint NOT NULL,
    token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    -- The token before this one, so that the statement that replaces it can say which to take out of the cache.
    replaced_hash bytea CHECK (octet_length(replaced_hash) = 32),
    expires_at timestamptz NOT NULL,
    is_banned boolean NOT NULL DEFAULT false,
    seen_at timestamptz NOT NULL
);
CREATE INDEX guests_seen_at ON auth.guests (seen_at) WHERE NOT is_banned;

-- Bans of guests that hold, beside `auth.bans`. `is_banned` of the guest is true while its row is here.
CREATE TABLE auth.guest_bans (
    guest_id uuid PRIMARY KEY REFERENCES auth.guests,
    -- Bans of identities and of guests are one list.
    number bigint NOT NULL DEFAULT nextval('auth.bans_number_seq') UNIQUE,
    reason text NOT NULL,
    created_at timestamptz NOT NULL,
    -- NULL: for ever.
    expires_at timestamptz
);
CREATE INDEX guest_bans_expires_at ON auth.guest_bans (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX guest_bans_created_at ON auth.guest_bans (created_at);

-- For calls: whose a token is. Whether it has ended is the reader's to compare: ends_at.
CREATE VIEW auth.live_guests AS
    SELECT guest_id, epoch, token_hash, expires_at AS ends_at, sign_key, enc_key, is_banned FROM auth.guests;

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.guests, auth.guest_bans TO whisper_auth;
GRANT USAGE ON SEQUENCE auth.bans_number_seq TO whisper_auth;
GRANT SELECT ON auth.live_guests TO whisper_calls;
