-- For services with HTTP of their own: who asks, and the record of what operators do there.

DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['whisper_attachments', 'whisper_calls'] LOOP
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

-- Sessions of the newest login of their identity. Whether they have ended is the reader's to compare: ends_at.
CREATE VIEW auth.live_sessions AS
    SELECT s.token_hash, s.whisper_id, s.epoch, s.device_id, s.platform, LEAST(s.expires_at, s.dies_at) AS ends_at,
        i.sign_key, i.is_banned,
        s.predecessor IS NOT NULL
            AND EXISTS (SELECT FROM auth.sessions p WHERE p.token_hash = s.predecessor) AS has_predecessor
    FROM auth.sessions s
    JOIN auth.identities i ON i.whisper_id = s.whisper_id AND i.epoch = s.epoch;

-- Adds to the audit log what an operator asked of another service. Nothing else can be done with it.
CREATE FUNCTION auth.record_event(actor text, action text, result text, note text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO auth.audit_events (at, actor, action, result, note)
    VALUES (clock_timestamp(), actor, action, result, note)
$$;
REVOKE ALL ON FUNCTION auth.record_event(text, text, text, text) FROM PUBLIC;

GRANT USAGE ON SCHEMA auth TO whisper_attachments, whisper_calls;
GRANT SELECT ON auth.live_sessions TO whisper_attachments, whisper_calls;
GRANT EXECUTE ON FUNCTION auth.record_event(text, text, text, text) TO whisper_attachments, whisper_calls;
