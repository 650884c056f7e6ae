-- What is counted before a stream begins, and what ends without anybody having it in memory.

CREATE INDEX streams_open_of_holder ON calls.streams (holder) WHERE state <> 'ended';
CREATE INDEX streams_paused ON calls.streams (changed_at) WHERE state = 'paused';

-- Of those who were removed from a room, the newest are known.
ALTER TABLE calls.room_barred ADD COLUMN barred_at timestamptz NOT NULL DEFAULT now();
