-- Doors (contract §20.6, §20.9): the day on which an identity was last seen, and invitations that people make.

-- Of the newest login or renewal of a session. Identities of before get today, so that nobody is old at once. The default is for
-- registrations, also by processes of the release before.
ALTER TABLE auth.identities ADD COLUMN seen_on date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date;
CREATE INDEX identities_seen_on ON auth.identities (seen_on);

-- At most one row: the setting INACTIVE_DAYS, since when processes have counted by it without a break, and when one last has.
CREATE TABLE auth.inactivity (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    days bigint NOT NULL,
    since timestamptz NOT NULL,
    counted_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON auth.inactivity TO whisper_auth;

ALTER TABLE auth.erasures DROP CONSTRAINT erasures_by_check,
    ADD CONSTRAINT erasures_by_check CHECK (by IN ('person', 'operator', 'retention'));

-- The inviter is NULL unless INVITATIONS_KEEP says otherwise.
ALTER TABLE auth.invitations ADD COLUMN by_identity boolean NOT NULL DEFAULT false,
    ADD COLUMN inviter bigint, ADD CHECK (inviter IS NULL OR by_identity);
CREATE INDEX invitations_inviter ON auth.invitations (inviter, number) WHERE inviter IS NOT NULL;

-- As before, with the day, the class of rates and the invitations.
CREATE OR REPLACE FUNCTION auth.held_about(someone bigint, entries bigint) RETURNS jsonb
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
        'exportedAt', auth.milliseconds(now()), 'whisperId', auth.whisper_id_text(whisper_id),
        'createdAt', auth.milliseconds(created_at), 'seenOn', to_char(seen_on, 'YYYY-MM-DD'),
        'signPublicKey', auth.base64(sign_key), 'encPublicKey', auth.base64(enc_key), 'rateClass', rate_class,
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
        'invitations', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'createdAt', auth.milliseconds(created_at), 'expiresAt', auth.milliseconds(expires_at),
                'revokedAt', auth.milliseconds(revoked_at), 'isUsed', uses_left = 0) ORDER BY number), '[]')
            FROM (SELECT * FROM auth.invitations WHERE inviter = someone ORDER BY number DESC LIMIT entries) AS mine),
        'reportsMade', (SELECT coalesce(jsonb_agg(jsonb_build_object(
                'reportId', id, 'target', auth.whisper_id_text(target), 'reason', reason, 'note', note,
                'isReviewed', status <> 'open', 'createdAt', auth.milliseconds(created_at)) ORDER BY number), '[]')
            FROM (SELECT * FROM auth.reports WHERE reporter = someone ORDER BY number DESC LIMIT entries) AS mine),
        'reportsAbout', (SELECT count(*) FROM auth.reports WHERE target = someone)))
    FROM auth.identities WHERE whisper_id = someone
$$;
