-- Attachments: which encrypted files were uploaded by whom, and which recipients may have them. The service `attachments` owns
-- all of it; the router links through one function.

DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['whisper_attachments', 'whisper_router', 'whisper_auth'] LOOP
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

CREATE TABLE attachments.attachments (
    number bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    -- Compared byte by byte, as the store lists its objects.
    object_key text COLLATE "C" NOT NULL UNIQUE,
    uploader bigint NOT NULL,
    size_bytes bigint NOT NULL CHECK (size_bytes > 0),
    content_type text NOT NULL,
    -- 0 image, 1 audio, 2 other.
    class smallint NOT NULL,
    -- 0 presigned, 1 uploaded, 2 linked, 3 deleting. Only grows.
    state smallint NOT NULL DEFAULT 0,
    -- The store's name for an upload in parts; '' for one that is kept under the object's own key.
    upload_id text,
    created_at timestamptz NOT NULL,
    -- When the last upload URL ends. Until then a presigned upload counts.
    expires_at timestamptz NOT NULL,
    -- NULL: nobody has seen it in the store yet.
    uploaded_at timestamptz,
    -- When the store is to be asked (again) whether it is there.
    check_at timestamptz,
    -- Until then another process is busy deleting it.
    claimed_until timestamptz
);
CREATE INDEX attachments_uploader ON attachments.attachments (uploader) INCLUDE (state, size_bytes, expires_at);
CREATE INDEX attachments_check ON attachments.attachments (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX attachments_deleting ON attachments.attachments (number) WHERE state = 3;

-- One for each message that points to an object, and its recipient.
CREATE TABLE attachments.links (
    attachment bigint NOT NULL REFERENCES attachments.attachments ON DELETE CASCADE,
    recipient bigint NOT NULL,
    message_id uuid NOT NULL,
    linked_at timestamptz NOT NULL,
    -- NULL: not seen by a look at the router's view yet.
    acknowledged_at timestamptz,
    -- When the recipient last got a URL.
    fetched_at timestamptz,
    PRIMARY KEY (attachment, recipient, message_id)
);

-- For the router: called while it accepts a message that points to an object, in that transaction.
-- Returns 0 if the recipient is linked now, 1 if there is no such object, 2 if it is another's.
--
-- The lock keeps the collector away until the commit, and lets other routers link the same object meanwhile. Nobody is waited
-- for but a collector that is about to commit; the state is raised only if that needs no waiting, so no two routers can
-- come to wait for each other. What counts is the link.
CREATE FUNCTION attachments.link(
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
    IF found_uploader <> sender THEN
        RETURN 2;
    END IF;
    INSERT INTO attachments.links (attachment, recipient, message_id, linked_at)
        VALUES (found_number, to_whom, message, at) ON CONFLICT DO NOTHING;
    IF found_state < 2 THEN
        UPDATE attachments.attachments SET state = 2
            WHERE number IN (
                SELECT number FROM attachments.attachments
                WHERE number = found_number AND state < 2 FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    RETURN 0;
END
$$;
REVOKE ALL ON FUNCTION attachments.link(text, bigint, bigint, uuid, timestamptz) FROM PUBLIC;

-- For operators: what is stored.
CREATE VIEW attachments.statistics AS
    SELECT count(*) AS count, COALESCE(sum(size_bytes), 0)::bigint AS bytes
    FROM attachments.attachments WHERE uploaded_at IS NOT NULL AND state < 3;

REVOKE ALL ON SCHEMA attachments FROM PUBLIC;
GRANT USAGE ON SCHEMA attachments TO whisper_attachments, whisper_router, whisper_auth;
GRANT SELECT, INSERT, UPDATE, DELETE ON attachments.attachments, attachments.links TO whisper_attachments;
GRANT EXECUTE ON FUNCTION attachments.link(text, bigint, bigint, uuid, timestamptz) TO whisper_router;
GRANT SELECT ON attachments.statistics TO whisper_auth;
