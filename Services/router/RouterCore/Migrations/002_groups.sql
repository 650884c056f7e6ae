-- Groups: who is in them, and what their members have yet to hear of their changes.

CREATE TABLE router.groups (
    group_id      uuid        PRIMARY KEY,
    title         text        NOT NULL,
    owner         bigint      NOT NULL,
    -- Grows with every change.
    revision      bigint      NOT NULL,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL
);

CREATE TABLE router.group_members (
    group_id      uuid        NOT NULL REFERENCES router.groups ON DELETE CASCADE,
    member        bigint      NOT NULL,
    -- 0 owner, 1 admin, 2 member.
    role          smallint    NOT NULL,
    joined_at     timestamptz NOT NULL,
    PRIMARY KEY (group_id, member)
);

CREATE INDEX group_members_member ON router.group_members (member);
CREATE UNIQUE INDEX group_members_owner ON router.group_members (group_id) WHERE role = 0;

-- What changed, as members are told. Outlives its group; stays while somebody has yet to hear of it, and long enough
-- that a question taken again after a crash is known to be answered.
CREATE TABLE router.group_events (
    group_id      uuid        NOT NULL,
    revision      bigint      NOT NULL,
    -- The question that it answers: the gateway's node, and the node's number for it.
    node          bigint      NOT NULL,
    question      bigint      NOT NULL,
    created_at    timestamptz NOT NULL,
    -- The payload of group_event.
    payload       bytea       NOT NULL,
    PRIMARY KEY (group_id, revision),
    CONSTRAINT group_events_question UNIQUE (node, question)
);

CREATE INDEX group_events_created_at ON router.group_events (created_at);

-- The latest change of each group that a member, or one who no longer is, has not confirmed. The number is of the same
-- sequence as those of outcomes, and is confirmed with them.
CREATE TABLE router.group_news (
    member        bigint      NOT NULL,
    group_id      uuid        NOT NULL,
    revision      bigint      NOT NULL,
    number        bigint      NOT NULL,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (member, group_id)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

CREATE UNIQUE INDEX group_news_number ON router.group_news (number);
CREATE INDEX group_news_event ON router.group_news (group_id, revision);
CREATE INDEX group_news_created_at ON router.group_news (created_at);

-- Group mail remembers its group, for message_delivered.
ALTER TABLE router.ledger ADD COLUMN group_id uuid;
ALTER TABLE router.outcomes ADD COLUMN group_id uuid;

GRANT SELECT, INSERT, UPDATE, DELETE
    ON router.groups, router.group_members, router.group_events, router.group_news TO whisper_router;
