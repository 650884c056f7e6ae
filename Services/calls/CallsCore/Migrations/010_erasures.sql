-- Records of others lose the name of an erased identity and stay (contract §20.3).
-- A conversation's creator and a room's creator and host are passed on instead.
ALTER TABLE calls.streams ALTER COLUMN holder DROP NOT NULL;

-- An erasure finds a person without reading whole tables.
CREATE INDEX conversations_creator ON calls.conversations (creator);
CREATE INDEX conversations_last_holder ON calls.conversations (last_holder);
CREATE INDEX streams_holder ON calls.streams (holder);
CREATE INDEX listeners_listener ON calls.listeners (listener);
CREATE INDEX listeners_grant_from ON calls.listeners (grant_from) WHERE grant_from IS NOT NULL;
CREATE INDEX transcripts_identity ON calls.transcripts (identity);
CREATE INDEX transcript_shares_identity ON calls.transcript_shares (identity);
CREATE INDEX rooms_creator ON calls.rooms (creator);
CREATE INDEX room_barred_participant ON calls.room_barred (participant);
