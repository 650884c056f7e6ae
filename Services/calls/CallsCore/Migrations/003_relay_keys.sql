-- Keys of the pseudonyms under which relays know identities, one for each period, the same for all processes. A relay does not
-- have them, and they go with their period.
CREATE TABLE calls.relay_keys (
    starts_at     timestamptz PRIMARY KEY,
    key           bytea       NOT NULL CHECK (octet_length(key) = 32)
);

GRANT SELECT, INSERT, UPDATE, DELETE ON calls.relay_keys TO whisper_calls;
