-- Who may come in (contract §20.6): the operators' choice, and invitations.

-- At most one row. Without it the setting REGISTRATION counts.
CREATE TABLE auth.registration (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    mode text NOT NULL CHECK (mode IN ('open', 'invited', 'closed')),
    changed_at timestamptz NOT NULL
);

-- No row names who has come in with an invitation, and no identity names its invitation.
CREATE TABLE auth.invitations (
    invitation_id uuid PRIMARY KEY,
    -- The order of lists.
    number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    -- SHA-256 of what the link carries.
    token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    uses_left bigint NOT NULL CHECK (uses_left BETWEEN 0 AND uses_max),
    uses_max bigint NOT NULL CHECK (uses_max BETWEEN 1 AND 1000),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz,
    -- For operators. May be empty.
    label text,
    created_at timestamptz NOT NULL
);
-- Ended ones go after a while, by either end.
CREATE INDEX invitations_expires_at ON auth.invitations (expires_at);
CREATE INDEX invitations_revoked_at ON auth.invitations (revoked_at) WHERE revoked_at IS NOT NULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON auth.registration, auth.invitations TO whisper_auth;
