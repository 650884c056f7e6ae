-- For operators: how many files of one identity are stored, and their bytes. Counts the first 100,000.
CREATE FUNCTION attachments.counts_of(someone bigint, OUT files bigint, OUT file_bytes bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(*), coalesce(sum(size_bytes), 0)::bigint
    FROM (SELECT size_bytes FROM attachments.attachments
        WHERE uploader = someone AND uploaded_at IS NOT NULL AND state < 3 LIMIT 100000) AS stored
$$;

REVOKE ALL ON FUNCTION attachments.counts_of(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION attachments.counts_of(bigint) TO whisper_auth;
