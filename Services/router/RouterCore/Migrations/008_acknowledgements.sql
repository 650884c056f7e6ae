-- For attachments, which keeps a file until those it was sent to have acknowledged the message that points to it.

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'whisper_attachments') THEN
        CREATE ROLE whisper_attachments NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- Another database of this server was faster.
END $$;

-- Messages that their recipient has acknowledged, and when that was last.
CREATE VIEW router.acknowledgements AS
    SELECT message_id, sender, recipient, COALESCE(status_at, accepted_at) AS acknowledged_at
    FROM router.ledger WHERE status IN (1, 2);

GRANT USAGE ON SCHEMA router TO whisper_attachments;
GRANT SELECT ON router.acknowledgements TO whisper_attachments;
