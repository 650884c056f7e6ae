-- For operators: mailboxes that hold much of what they may (contract §13a), as their router last saw them. A few rows at most; a router
-- writes some with each sweep, and only if there are such mailboxes.
CREATE TABLE router.full_mailboxes (
    recipient   bigint       PRIMARY KEY,
    messages    bigint       NOT NULL,
    bytes       bigint       NOT NULL,
    -- Of the bound that is nearer, in messages or in bytes: 1 is full.
    fill        real         NOT NULL,
    seen_at     timestamptz  NOT NULL
);

-- What was not seen again for some sweeps has been read since, or expired.
CREATE VIEW router.fullest_mailboxes AS
    SELECT recipient, messages, bytes, fill FROM router.full_mailboxes WHERE seen_at > now() - interval '5 minutes';

GRANT SELECT, INSERT, UPDATE, DELETE ON router.full_mailboxes TO whisper_router;
GRANT SELECT ON router.fullest_mailboxes TO whisper_auth;
