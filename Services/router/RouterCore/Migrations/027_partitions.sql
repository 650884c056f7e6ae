-- Mailboxes are in 256 partitions, by the first eight bits of the recipient. Routers of releases with 32 partitions do no work while one of
-- today's does, and the other way round: both ask for the old locks (`Leases`).
DROP INDEX router.mailbox_kept_due;
CREATE INDEX mailbox_kept_due ON router.mailbox_kept ((recipient >> 52), accepted_at);
