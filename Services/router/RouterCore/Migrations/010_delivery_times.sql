-- When a message was delivered is remembered also when it has been read since.

ALTER TABLE router.ledger ADD COLUMN delivered_at timestamptz;

DROP VIEW router.message_standing;

-- One row for each recipient of a message. While its sender has not confirmed an outcome, that one's time is known too.
CREATE VIEW router.message_standing AS
    SELECT l.message_id, l.sender, l.recipient, l.group_id, l.accepted_at, l.status,
        COALESCE(CASE l.status WHEN 1 THEN l.status_at END, l.delivered_at, o.delivered_at) AS delivered_at,
        COALESCE(CASE l.status WHEN 2 THEN l.status_at END, o.read_at) AS read_at,
        COALESCE(CASE l.status WHEN 3 THEN l.status_at END, o.expired_at) AS expired_at
    FROM router.ledger l
    LEFT JOIN LATERAL (
        SELECT max(created_at) FILTER (WHERE kind = 1) AS delivered_at,
            max(created_at) FILTER (WHERE kind = 2) AS read_at, max(created_at) FILTER (WHERE kind = 3) AS expired_at
        FROM router.outcomes
        WHERE sender = l.sender AND message_id = l.message_id AND recipient = l.recipient
    ) o ON true;

GRANT SELECT ON router.message_standing TO whisper_auth;
