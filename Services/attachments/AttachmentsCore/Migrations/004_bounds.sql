-- What identities without a peer make the store keep, all together (contract §13b); and what the store has yet to take.

-- Bytes of uploads of identities without a peer, as a sweep has counted them within the last minute.
CREATE TABLE attachments.stranger_bytes (
    store text PRIMARY KEY,
    bytes bigint NOT NULL,
    counted_at timestamptz NOT NULL
);
INSERT INTO attachments.stranger_bytes VALUES ('attachments', 0, '-infinity');

-- True until a sweep finds that the uploader has a peer.
ALTER TABLE attachments.attachments ADD COLUMN of_stranger boolean NOT NULL DEFAULT true;
CREATE INDEX attachments_strangers ON attachments.attachments (number) INCLUDE (size_bytes, state, expires_at) WHERE of_stranger;
-- Uploads that may still come.
CREATE INDEX attachments_pending ON attachments.attachments (expires_at) INCLUDE (size_bytes)
    WHERE uploaded_at IS NULL AND state < 3;
-- What the store has, where only this sum tells how full it is.
CREATE INDEX attachments_stored ON attachments.attachments (number) INCLUDE (size_bytes) WHERE uploaded_at IS NOT NULL;

-- Whether an identity has a peer. With the owner's rights: the router lets auth ask, and this service not.
CREATE FUNCTION attachments.has_peer(someone bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN router.has_peer(someone);
END
$$;
REVOKE ALL ON FUNCTION attachments.has_peer(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION attachments.has_peer(bigint) TO whisper_attachments;
GRANT SELECT, UPDATE ON attachments.stranger_bytes TO whisper_attachments;
