-- What the calls service reads of auth: who can be called, and whose session a token is.

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'whisper_calls') THEN
        BEGIN
            CREATE ROLE whisper_calls NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- Another database of this server was faster.
        END;
    END IF;
END $$;

-- Sessions of their identities' present epoch, by the hash of their token.
CREATE VIEW auth.call_sessions AS
    SELECT s.token_hash, s.whisper_id, s.epoch, s.device_id, s.platform,
        LEAST(s.expires_at, s.dies_at) AS ends_at, i.sign_key, i.is_banned
    FROM auth.sessions s JOIN auth.identities i ON i.whisper_id = s.whisper_id AND i.epoch = s.epoch;

GRANT USAGE ON SCHEMA auth TO whisper_calls;
GRANT SELECT ON auth.mail_identities, auth.call_sessions TO whisper_calls;
