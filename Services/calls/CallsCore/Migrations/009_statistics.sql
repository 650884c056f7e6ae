-- Rooms too, in numbers for operators.
CREATE OR REPLACE VIEW calls.statistics AS
    SELECT (SELECT count(*) FROM calls.conversations) AS conversations,
        (SELECT count(*) FROM calls.streams WHERE state <> 'ended') AS streams,
        (SELECT count(*) FROM calls.listeners WHERE status = 'admitted') AS listeners,
        (SELECT coalesce(sum(lines), 0)::bigint FROM calls.transcripts) AS transcript_lines,
        (SELECT count(*) FROM calls.rooms) AS rooms;
