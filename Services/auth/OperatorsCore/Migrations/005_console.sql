-- The operators' console: who is signed in, and the part of the record that is about changes.

CREATE TABLE auth.console_sessions (
    -- SHA-256 of what the browser holds.
    id_hash bytea PRIMARY KEY CHECK (octet_length(id_hash) = 32),
    -- HMAC of the role's token digest under what the browser holds: it fits no more once the token is another.
    role_mark bytea NOT NULL CHECK (octet_length(role_mark) = 32),
    ends_at timestamptz NOT NULL
);
CREATE INDEX console_sessions_ends_at ON auth.console_sessions (ends_at);
GRANT SELECT, INSERT, DELETE ON auth.console_sessions TO whisper_auth;

-- Operations that only look are named get… or list… .
CREATE INDEX audit_events_changes ON auth.audit_events (number)
    WHERE action NOT LIKE 'get%' AND action NOT LIKE 'list%';
