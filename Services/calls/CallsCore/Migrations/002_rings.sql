-- Whose phone rings is busy for third callers, and may call out all the same. So being called has a place of its own beside
-- calls.lines, which from now on calling out and talking hold.
CREATE TABLE calls.rings (
    identity      bigint      PRIMARY KEY,
    wake_id       uuid        NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX rings_call ON calls.rings (wake_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON calls.rings TO whisper_calls;
