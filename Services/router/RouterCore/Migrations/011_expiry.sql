-- What is due is found without reading what is not: by partition (the first five bits of the recipient) and age. Young segments have no
-- such index, which every message would pay for: what they hold is bounded by their length.
CREATE INDEX mailbox_kept_due ON router.mailbox_kept ((recipient >> 55), accepted_at);
