-- A file that others may still fetch outlives its erased uploader, without the name (contract §20.3).
ALTER TABLE attachments.attachments ALTER COLUMN uploader DROP NOT NULL;

-- An erasure finds the links to a person.
CREATE INDEX links_recipient ON attachments.links (recipient);

-- As before, but a file without an uploader is nobody's to link.
CREATE OR REPLACE FUNCTION attachments.link(
    key text, sender bigint, to_whom bigint, message uuid, at timestamptz
) RETURNS smallint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_number bigint;
    found_uploader bigint;
    found_state smallint;
BEGIN
    SELECT number, uploader, state INTO found_number, found_uploader, found_state
        FROM attachments.attachments WHERE object_key = key FOR KEY SHARE;
    IF found_number IS NULL OR found_state = 3 THEN
        RETURN 1;
    END IF;
    IF found_uploader IS DISTINCT FROM sender THEN
        RETURN 2;
    END IF;
    INSERT INTO attachments.links (attachment, recipient, message_id, linked_at)
        VALUES (found_number, to_whom, message, now()) ON CONFLICT DO NOTHING;
    IF found_state < 2 THEN
        UPDATE attachments.attachments SET state = 2
            WHERE number IN (
                SELECT number FROM attachments.attachments
                WHERE number = found_number AND state < 2 FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    RETURN 0;
END
$$;
