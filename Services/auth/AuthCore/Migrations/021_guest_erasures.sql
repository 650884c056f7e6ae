-- Guests are erased as identities are (contract §20.2, §20.5).
ALTER TABLE auth.erasures
    -- NULL for an identity, and once each part is done.
    ADD COLUMN guest_id uuid UNIQUE,
    DROP CONSTRAINT erasures_check,
    DROP CONSTRAINT erasures_by_check,
    ADD CONSTRAINT erasures_check CHECK (
        num_nonnulls(whisper_id, guest_id) = CASE WHEN finished_at IS NULL THEN 1 ELSE 0 END),
    -- `guest`: it has asked by itself. Anybody may be many guests, so such a row goes when it is done.
    ADD CONSTRAINT erasures_by_check CHECK (by IN ('person', 'operator', 'retention', 'guest'));

-- `erasures_open` stays as processes of the release before read it.
CREATE VIEW auth.erasures_unfinished AS
    SELECT erasure_id, whisper_id, guest_id, sent_mail = 'withdraw' AS withdraws, decided_at, done
    FROM auth.erasures WHERE finished_at IS NULL;

CREATE OR REPLACE FUNCTION auth.finish_erasure(erasure uuid, part text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE auth.erasures SET done = array_append(done, part),
        whisper_id = CASE WHEN array_append(done, part) @> auth.erasure_parts() THEN NULL ELSE whisper_id END,
        guest_id = CASE WHEN array_append(done, part) @> auth.erasure_parts() THEN NULL ELSE guest_id END,
        finished_at = CASE WHEN array_append(done, part) @> auth.erasure_parts() THEN now() END
    WHERE erasure_id = erasure AND part = ANY (auth.erasure_parts()) AND NOT part = ANY (done)
$$;

CREATE OR REPLACE FUNCTION auth.forget_in_audit(erasure uuid, in_notes boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    person text := (SELECT coalesce(auth.whisper_id_text(whisper_id), 'gst-' || replace(guest_id::text, '-', ''))
        FROM auth.erasures WHERE erasure_id = erasure);
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

GRANT SELECT ON auth.erasures_unfinished TO whisper_auth, whisper_router, whisper_calls, whisper_push, whisper_attachments;

-- What auth holds about one guest, for its export (contract §20.5).
CREATE FUNCTION auth.held_about_guest(someone uuid) RETURNS jsonb
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
        'exportedAt', auth.milliseconds(now()), 'guestId', 'gst-' || replace(guest_id::text, '-', ''),
        'signPublicKey', auth.base64(sign_key), 'encPublicKey', auth.base64(enc_key),
        'seenAt', auth.milliseconds(seen_at), 'tokenEndsAt', auth.milliseconds(expires_at),
        'ban', (SELECT jsonb_build_object('reason', reason, 'createdAt', auth.milliseconds(created_at),
                'expiresAt', auth.milliseconds(expires_at))
            FROM auth.guest_bans WHERE guest_id = someone)))
    FROM auth.guests WHERE guest_id = someone
$$;

REVOKE ALL ON FUNCTION auth.held_about_guest(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION auth.held_about_guest(uuid) TO whisper_auth;
