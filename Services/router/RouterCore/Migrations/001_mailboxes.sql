-- The router's tables: who was sent what, what still waits, and what senders have yet to hear.
-- Identities are the 60 bits of their Whisper ID; auth.whisper_id_text() shows them.

DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'whisper_router') THEN
        CREATE ROLE whisper_router NOLOGIN;
    END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS router;

-- Mail numbers: one sequence for all mailboxes, so that within each of them numbers only grow.
CREATE SEQUENCE router.mail_numbers;
CREATE SEQUENCE router.outcome_numbers;

-- Every message that was accepted, without its content: the memory that makes accepting repeatable.
CREATE TABLE router.ledger (
    message_id    uuid        NOT NULL,
    sender        bigint      NOT NULL,
    recipient     bigint      NOT NULL,
    number        bigint      NOT NULL,
    accepted_at   timestamptz NOT NULL,
    -- Which hex digits of the message id the sender wrote in upper case.
    id_case       integer     NOT NULL,
    -- 0 accepted, 1 delivered, 2 read, 3 expired. Only grows.
    status        smallint    NOT NULL DEFAULT 0,
    PRIMARY KEY (message_id, sender, recipient)
-- Room on each page for the new version of a row whose status changes.
) WITH (fillfactor = 80);

CREATE INDEX ledger_accepted_at ON router.ledger USING brin (accepted_at);

-- What its recipient has not acknowledged.
CREATE TABLE router.mailbox (
    recipient     bigint      NOT NULL,
    number        bigint      NOT NULL,
    sender        bigint      NOT NULL,
    message_id    uuid        NOT NULL,
    accepted_at   timestamptz NOT NULL,
    id_case       integer     NOT NULL,
    -- The payload of message_received, ready to send.
    payload       bytea       NOT NULL,
    PRIMARY KEY (recipient, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- Ciphertext does not compress: do not try.
ALTER TABLE router.mailbox ALTER COLUMN payload SET STORAGE EXTERNAL;

CREATE INDEX mailbox_accepted_at ON router.mailbox USING brin (accepted_at);

-- What became of messages, until their sender's client has it.
CREATE TABLE router.outcomes (
    sender        bigint      NOT NULL,
    number        bigint      NOT NULL,
    -- 1 delivered, 2 read, 3 expired.
    kind          smallint    NOT NULL,
    id_case       integer     NOT NULL,
    message_id    uuid        NOT NULL,
    recipient     bigint      NOT NULL,
    -- Milliseconds, as the receipt says.
    at            bigint      NOT NULL,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (number)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX outcomes_sender ON router.outcomes (sender, number);
CREATE INDEX outcomes_created_at ON router.outcomes USING brin (created_at);

GRANT USAGE ON SCHEMA router TO whisper_router;
GRANT SELECT, INSERT, UPDATE, DELETE ON router.ledger, router.mailbox, router.outcomes TO whisper_router;
GRANT USAGE ON SEQUENCE router.mail_numbers, router.outcome_numbers TO whisper_router;
