-- Erasures (contract §20.4). What stays of an erased identity is a day, and digests that only its own keys or id fit.

-- Three rows for each erased identity: SHA-256 of its id, and of either key. Nobody registers what fits a mark.
CREATE TABLE auth.tombstones (
    mark bytea PRIMARY KEY CHECK (octet_length(mark) = 32),
    -- Days since 1970, in UTC.
    day integer NOT NULL
);

CREATE TABLE auth.erasures (
    erasure_id uuid PRIMARY KEY,
    -- The order of lists, and the name in the audit log.
    number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    -- NULL once each part is done: then nothing here names a person.
    whisper_id bigint UNIQUE,
    sent_mail text NOT NULL CHECK (sent_mail IN ('keep', 'withdraw')),
    by text NOT NULL CHECK (by IN ('person', 'operator')),
    decided_at timestamptz NOT NULL,
    -- The parts in which nothing names the person any more.
    done text[] NOT NULL DEFAULT '{}',
    finished_at timestamptz,
    CHECK ((whisper_id IS NULL) = (finished_at IS NOT NULL))
);
CREATE INDEX erasures_decided_at ON auth.erasures (decided_at);

-- A part is what one owner erases. Several may be of one service. The ledger waits for its walk, up to a day.
CREATE FUNCTION auth.erasure_parts() RETURNS text[] LANGUAGE sql IMMUTABLE AS
    $$ SELECT ARRAY['auth', 'router', 'ledger', 'calls', 'live', 'rooms', 'push', 'attachments'] $$;

-- For each service: whom it has yet to erase.
CREATE VIEW auth.erasures_open AS
    SELECT erasure_id, whisper_id, sent_mail = 'withdraw' AS withdraws, decided_at, done
    FROM auth.erasures WHERE whisper_id IS NOT NULL;

-- A part is done. The statement that enters the last one empties the id. Doing it twice changes nothing.
CREATE FUNCTION auth.finish_erasure(erasure uuid, part text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE auth.erasures SET done = array_append(done, part),
        whisper_id = CASE WHEN array_append(done, part) @> auth.erasure_parts() THEN NULL ELSE whisper_id END,
        finished_at = CASE WHEN array_append(done, part) @> auth.erasure_parts() THEN now() END
    WHERE erasure_id = erasure AND part = ANY (auth.erasure_parts()) AND NOT part = ANY (done)
$$;

-- The only way to change the audit log: while an erasure is open, events about the person become events about nobody.
CREATE FUNCTION auth.forget_in_audit(erasure uuid, in_notes boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    person text := (SELECT auth.whisper_id_text(whisper_id) FROM auth.erasures WHERE erasure_id = erasure);
    changed bigint;
    more bigint := 0;
BEGIN
    UPDATE auth.audit_events SET target = 'erased', note = NULL WHERE target = person;
    GET DIAGNOSTICS changed = ROW_COUNT;
    -- Reads the whole log.
    IF in_notes THEN
        UPDATE auth.audit_events SET note = NULL WHERE position(person IN note) > 0;
        GET DIAGNOSTICS more = ROW_COUNT;
    END IF;
    RETURN changed + more;
END
$$;

REVOKE ALL ON FUNCTION auth.finish_erasure(uuid, text), auth.forget_in_audit(uuid, boolean) FROM PUBLIC;
GRANT SELECT, INSERT ON auth.tombstones TO whisper_auth;
GRANT SELECT, INSERT, UPDATE, DELETE ON auth.erasures TO whisper_auth;
GRANT EXECUTE ON FUNCTION auth.forget_in_audit(uuid, boolean) TO whisper_auth;
GRANT SELECT ON auth.erasures_open TO whisper_auth, whisper_router, whisper_calls, whisper_push, whisper_attachments;
GRANT EXECUTE ON FUNCTION auth.finish_erasure(uuid, text)
    TO whisper_auth, whisper_router, whisper_calls, whisper_push, whisper_attachments;
-- A wake-up about an erased identity makes no row.
GRANT SELECT ON auth.mail_identities TO whisper_push;

-- A report by an erased identity stays without its name.
ALTER TABLE auth.reports ALTER COLUMN reporter DROP NOT NULL;
