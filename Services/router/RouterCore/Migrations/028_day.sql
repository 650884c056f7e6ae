-- Days since 1970, in UTC, as before. Postgres puts the text of a function into the statement that calls it only if nothing in the
-- text may change more often than the function says. `extract` of a timestamptz may, so each statement of a batch parsed and planned
-- this function several times. Nothing in this text may.
CREATE OR REPLACE FUNCTION router.day(at timestamptz) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT (at AT TIME ZONE 'UTC')::date - date '1970-01-01' $$;
