-- What push remembers of each recipient's wake-ups, and the wake-ups that were given up.
-- The service `push` owns all of it; auth reads the two views for operators.

DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['whisper_push', 'whisper_auth'] LOOP
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

-- One row for each identity that mail has ever tried to wake.
CREATE TABLE push.recipients (
    recipient    bigint      PRIMARY KEY,
    -- The last try.
    tried_at     timestamptz NOT NULL,
    provider     text        NOT NULL,
    result       text        NOT NULL,
    wake_id      uuid        NOT NULL,
    -- The last push that a provider took, and whether the device came back after it.
    sent_at      timestamptz,
    woke_at      timestamptz,
    -- Pushes that providers took since the device last came back.
    unanswered   smallint    NOT NULL DEFAULT 0,
    -- Tries that failed since one last succeeded.
    failures     smallint    NOT NULL DEFAULT 0,
    -- When to look again: is there still mail, and nobody there? NULL: nothing to do. Pushed forward by whoever looks, so
    -- that one who dies over it is followed by another.
    due_at       timestamptz
) WITH (fillfactor = 80);

CREATE INDEX recipients_due_at ON push.recipients (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE push.dead_letters (
    number       bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at           timestamptz NOT NULL,
    recipient    bigint      NOT NULL,
    wake_id      uuid        NOT NULL,
    -- mail, call, callOver.
    kind         text        NOT NULL,
    provider     text        NOT NULL,
    reason       text        NOT NULL,
    tries        integer     NOT NULL
);

CREATE INDEX dead_letters_at ON push.dead_letters (at);

-- For operators.
CREATE VIEW push.standing AS
    SELECT recipient, tried_at, provider, result, wake_id, woke_at FROM push.recipients;

CREATE VIEW push.given_up AS
    SELECT number, at, recipient, wake_id, kind, provider, reason, tries FROM push.dead_letters;

REVOKE ALL ON SCHEMA push FROM PUBLIC;
GRANT USAGE ON SCHEMA push TO whisper_push, whisper_auth;
GRANT SELECT, INSERT, UPDATE, DELETE ON push.recipients, push.dead_letters TO whisper_push;
GRANT SELECT ON push.standing, push.given_up TO whisper_auth;
