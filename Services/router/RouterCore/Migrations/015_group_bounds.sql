-- How many groups somebody may own, be in, and be put into by strangers; how many strangers somebody may add in a day.

ALTER TABLE router.group_members
    -- Whoever added the member was not its peer then. It stays so if they become peers.
    ADD COLUMN added_by_stranger boolean NOT NULL DEFAULT false,
    -- Drawn from outcome_numbers when the member's role last rose; 0 if it never did.
    ADD COLUMN raised bigint NOT NULL DEFAULT 0;

-- Counts one identity's groups without a look at the table.
DROP INDEX router.group_members_member;
CREATE INDEX group_members_member ON router.group_members (member) INCLUDE (role, added_by_stranger);

-- One row for each identity that has ever been in a group. It is locked while somebody judges what the identity may still
-- own and be in, until what was judged is stored.
CREATE TABLE router.group_quotas (
    identity      bigint        PRIMARY KEY,
    -- When it added somebody who was not its peer: the times that still count. As many as the bound allows.
    additions     timestamptz[] NOT NULL DEFAULT '{}'
);

INSERT INTO router.group_quotas (identity) SELECT DISTINCT member FROM router.group_members;

GRANT SELECT, INSERT, UPDATE, DELETE ON router.group_quotas TO whisper_router;
