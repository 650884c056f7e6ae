-- What is held about one identity, for the person and for operators (contract §20.5): facts and times. Each schema gives its part by a
-- function of this name. Lists end at so many entries. Nothing that others have said is in it, and what is sealed is not.

-- Otherwise each export would read all reports.
CREATE INDEX reports_reporter ON auth.reports (reporter, number);
CREATE INDEX reports_target ON auth.reports (target);

CREATE FUNCTION auth.milliseconds(at timestamptz) RETURNS bigint
    LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$ SELECT floor(extract(epoch FROM at) * 1000)::bigint $$;

-- Base64 without the line ends of encode().
CREATE FUNCTION auth.base64(bytes bytea) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT translate(encode(bytes, 'base64'), E'\n', '') $$;

CREATE FUNCTION auth.held_about(someone bigint, entries bigint) RETURNS jsonb
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
        'exportedAt', auth.milliseconds(now()), 'whisperId', auth.whisper_id_text(whisper_id),
        'createdAt', auth.milliseconds(created_at),
        'signPublicKey', auth.base64(sign_key), 'encPublicKey', auth.base64(enc_key),
        'devices', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'deviceId', device_id, 'platform', platform, 'client', client,
                'hasPushToken', push_token IS NOT NULL, 'hasVoipToken', voip_token IS NOT NULL,
                'updatedAt', auth.milliseconds(updated_at))), '[]')
            FROM (SELECT * FROM auth.devices WHERE whisper_id = someone LIMIT entries) AS mine),
        'sessions', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'deviceId', device_id, 'platform', platform,
                'endsAt', auth.milliseconds(least(expires_at, dies_at)))), '[]')
            FROM (SELECT * FROM auth.sessions WHERE whisper_id = someone ORDER BY expires_at DESC LIMIT entries) AS mine),
        'ban', (SELECT jsonb_build_object('reason', reason, 'createdAt', auth.milliseconds(created_at),
                'expiresAt', auth.milliseconds(expires_at))
            FROM auth.bans WHERE whisper_id = someone),
        'backup', (SELECT jsonb_build_object('sizeBytes', size_bytes, 'updatedAt', auth.milliseconds(updated_at),
                'nonce', auth.base64(nonce), 'ciphertext', auth.base64(ciphertext))
            FROM auth.contact_backups WHERE whisper_id = someone),
        'profiles', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'profileId', profile_id, 'joinedAt', auth.milliseconds(joined_at),
                'documents', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                        'name', name, 'sizeBytes', size_bytes, 'updatedAt', auth.milliseconds(updated_at))), '[]')
                    FROM auth.profile_documents d WHERE d.profile_id = mine.profile_id))), '[]')
            FROM (SELECT * FROM auth.profile_members WHERE whisper_id = someone LIMIT entries) AS mine),
        'reportsMade', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'reportId', id, 'target', auth.whisper_id_text(target), 'reason', reason, 'note', note,
                'isReviewed', status <> 'open', 'createdAt', auth.milliseconds(created_at)) ORDER BY number), '[]')
            FROM (SELECT * FROM auth.reports WHERE reporter = someone ORDER BY number DESC LIMIT entries) AS mine),
        'reportsAbout', (SELECT count(*) FROM auth.reports WHERE target = someone)))
    FROM auth.identities WHERE whisper_id = someone
$$;

REVOKE ALL ON FUNCTION auth.held_about(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION auth.held_about(bigint, bigint) TO whisper_auth;
