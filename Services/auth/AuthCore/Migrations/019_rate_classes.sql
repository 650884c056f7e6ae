-- Classes of rates (contract §20.7): operators give one to an identity, or to all who come in with an invitation.

ALTER TABLE auth.identities ADD COLUMN rate_class text;
ALTER TABLE auth.invitations ADD COLUMN rate_class text;
-- Rows of before have none, so they need no look.
ALTER TABLE auth.identities ADD CONSTRAINT identities_rate_class
    CHECK (rate_class ~ '^[a-z0-9-]{1,32}$') NOT VALID;
ALTER TABLE auth.invitations ADD CONSTRAINT invitations_rate_class
    CHECK (rate_class ~ '^[a-z0-9-]{1,32}$') NOT VALID;
-- Auth reads all who have one every few seconds.
CREATE INDEX identities_rate_class ON auth.identities (whisper_id) WHERE rate_class IS NOT NULL;

CREATE OR REPLACE VIEW auth.live_sessions AS
    SELECT s.token_hash, s.whisper_id, s.epoch, s.device_id, s.platform, LEAST(s.expires_at, s.dies_at) AS ends_at,
        i.sign_key, i.is_banned,
        s.predecessor IS NOT NULL
            AND EXISTS (SELECT FROM auth.sessions p WHERE p.token_hash = s.predecessor) AS has_predecessor,
        i.rate_class
    FROM auth.sessions s
    JOIN auth.identities i ON i.whisper_id = s.whisper_id AND i.epoch = s.epoch;
