-- What strangers make others keep (contract §13b): a bound for all of them together, and a life for profiles.

-- Bytes that identities without a peer, and guests, keep in one store, as a sweep has counted them within the last minute.
CREATE TABLE auth.stranger_bytes (
    store text PRIMARY KEY,
    bytes bigint NOT NULL,
    counted_at timestamptz NOT NULL
);
INSERT INTO auth.stranger_bytes VALUES ('profiles', 0, '-infinity'), ('backups', 0, '-infinity'), ('guests', 0, '-infinity');

-- Whether a stored row may hold so many bytes: 0; if it may not: 1 because nobody of these has a peer, 2 because all strangers
-- together keep as much as they may. The router is asked only about what a stranger may not keep: it may not have made its tables yet.
CREATE FUNCTION auth.may_keep(
    who bigint[], kind text, new_bytes bigint, bytes_max bigint, together_max bigint
) RETURNS smallint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF new_bytes <= bytes_max AND new_bytes + (SELECT bytes FROM auth.stranger_bytes WHERE store = kind) <= together_max THEN
        RETURN 0;
    END IF;
    IF EXISTS (SELECT FROM unnest(who) AS someone (id) WHERE router.has_peer(someone.id)) THEN RETURN 0; END IF;
    RETURN CASE WHEN new_bytes > bytes_max THEN 1 ELSE 2 END;
END
$$;

-- The same as router.has_peer, which this schema's statements can be prepared without.
CREATE FUNCTION auth.has_peer(someone bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$ BEGIN RETURN router.has_peer(someone); END $$;

REVOKE ALL ON FUNCTION auth.may_keep(bigint[], text, bigint, bigint, bigint), auth.has_peer(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION auth.may_keep(bigint[], text, bigint, bigint, bigint), auth.has_peer(bigint) TO whisper_auth;
GRANT SELECT, UPDATE ON auth.stranger_bytes TO whisper_auth;

-- True until a sweep finds that a member, or the owner, has a peer. Whoever writes sets it again.
ALTER TABLE auth.profile_documents ADD COLUMN of_strangers boolean NOT NULL DEFAULT true;
CREATE INDEX profile_documents_strangers ON auth.profile_documents (profile_id) INCLUDE (size_bytes) WHERE of_strangers;
ALTER TABLE auth.contact_backups ADD COLUMN of_stranger boolean NOT NULL DEFAULT true;
CREATE INDEX contact_backups_strangers ON auth.contact_backups (whisper_id) INCLUDE (size_bytes) WHERE of_stranger;

-- When a member last did something with the profile, to a day.
ALTER TABLE auth.profiles ADD COLUMN touched_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX profiles_touched_at ON auth.profiles (touched_at);
