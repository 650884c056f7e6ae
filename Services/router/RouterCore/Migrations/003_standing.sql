-- For auth, which answers operators: how much there is, and where a message stands. Never any content.

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'whisper_auth') THEN
        CREATE ROLE whisper_auth NOLOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN
    NULL;  -- Another database of this server was faster.
END $$;

CREATE VIEW router.statistics AS
    SELECT (SELECT count(*) FROM router.mailbox) AS pending_messages,
        (SELECT count(*) FROM router.groups) AS groups;

-- One row for each recipient of a message. The times are those of outcomes that their sender has not confirmed.
CREATE VIEW router.message_standing AS
    SELECT l.message_id, l.sender, l.recipient, l.group_id, l.accepted_at, l.status,
        o.delivered_at, o.read_at, o.expired_at
    FROM router.ledger l
    LEFT JOIN LATERAL (
        SELECT max(at) FILTER (WHERE kind = 1) AS delivered_at, max(at) FILTER (WHERE kind = 2) AS read_at,
            max(at) FILTER (WHERE kind = 3) AS expired_at
        FROM router.outcomes
        WHERE sender = l.sender AND message_id = l.message_id AND recipient = l.recipient
    ) o ON true;

GRANT USAGE ON SCHEMA router TO whisper_auth;
GRANT SELECT ON router.statistics, router.message_standing TO whisper_auth;
