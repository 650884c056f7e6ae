-- The audit log has an end (contract §20.9). The service still changes no event: it may ask for the removal of those that are old, up to a
-- bound, and never of the last 30 days. Numbers grow with time, so the lowest ones are the oldest.
CREATE FUNCTION auth.forget_old_events(older timestamptz, rows_max bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM auth.audit_events WHERE number IN (
        SELECT number FROM (SELECT number, at FROM auth.audit_events ORDER BY number LIMIT rows_max) AS oldest
        WHERE at < least(older, now() - interval '30 days'));
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END
$$;

REVOKE ALL ON FUNCTION auth.forget_old_events(timestamptz, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION auth.forget_old_events(timestamptz, bigint) TO whisper_auth;
