-- For push: who still has mail, and since when. Never any content, nor who it is from.

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'whisper_push') THEN
        CREATE ROLE whisper_push NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- Another database of this server was faster.
END $$;

-- One row for each message that its recipient has not acknowledged. Ask by recipient: the table's key answers.
CREATE VIEW router.waiting AS
    SELECT recipient, accepted_at FROM router.mailbox;

GRANT USAGE ON SCHEMA router TO whisper_push;
GRANT SELECT ON router.waiting TO whisper_push;
