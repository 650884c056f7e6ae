-- Reports, bans, and the record of what operators and bans have done.

CREATE TABLE auth.reports (
    id uuid PRIMARY KEY,
    -- The order of the list.
    number bigint NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
    reporter bigint NOT NULL REFERENCES auth.identities,
    target bigint NOT NULL REFERENCES auth.identities,
    reason text NOT NULL CHECK (reason IN ('spam', 'abuse', 'other')),
    note text,
    -- A message that the target has signed for the reporter, as it was received. Checked before it came here.
    evidence bytea,
    status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'dismissed', 'warned', 'banned')),
    created_at timestamptz NOT NULL,
    reviewed_at timestamptz,
    review_note text
);
ALTER TABLE auth.reports ALTER COLUMN evidence SET STORAGE EXTERNAL;
CREATE INDEX reports_status ON auth.reports (status, number);

-- Bans that hold. `is_banned` of the identity is true while its row is here: that one is what messages look at.
CREATE TABLE auth.bans (
    whisper_id bigint PRIMARY KEY REFERENCES auth.identities,
    number bigint NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
    reason text NOT NULL,
    created_at timestamptz NOT NULL,
    -- NULL: for ever.
    expires_at timestamptz
);
CREATE INDEX bans_expires_at ON auth.bans (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX bans_created_at ON auth.bans (created_at);

-- The service adds to it and reads it, and can neither change nor remove what it says.
CREATE TABLE auth.audit_events (
    number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL,
    -- operator, viewer, nobody (no valid token), system.
    actor text NOT NULL,
    action text NOT NULL,
    target text,
    -- 'ok', or the error code that was answered.
    result text NOT NULL,
    note text
);
CREATE INDEX audit_events_target ON auth.audit_events (target, number) WHERE target IS NOT NULL;

GRANT SELECT, INSERT, UPDATE, DELETE ON auth.reports, auth.bans TO whisper_auth;
GRANT SELECT, INSERT ON auth.audit_events TO whisper_auth;
