-- What attachments holds about one identity, for its export (contract §20.5).
CREATE FUNCTION attachments.held_about(someone bigint, entries bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'files', (SELECT coalesce(jsonb_agg(jsonb_build_object('objectKey', object_key, 'contentType', content_type,
                'sizeBytes', size_bytes, 'createdAt', auth.milliseconds(created_at),
                'uploadedAt', auth.milliseconds(uploaded_at)) ORDER BY number), '[]')
            FROM (SELECT * FROM attachments.attachments WHERE uploader = someone ORDER BY number DESC LIMIT entries) AS mine),
        'filesReceived', (SELECT coalesce(jsonb_agg(jsonb_build_object('messageId', message_id,
                'linkedAt', auth.milliseconds(linked_at), 'acknowledgedAt', auth.milliseconds(acknowledged_at),
                'fetchedAt', auth.milliseconds(fetched_at))), '[]')
            FROM (SELECT * FROM attachments.links WHERE recipient = someone LIMIT entries) AS mine)));
END
$$;

REVOKE ALL ON FUNCTION attachments.held_about(bigint, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION attachments.held_about(bigint, bigint) TO whisper_auth;
