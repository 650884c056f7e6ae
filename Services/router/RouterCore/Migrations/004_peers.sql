-- Who has written to whom, each message counted once a day: the peers of presence and typing.

CREATE TABLE router.peers (
    identity      bigint      NOT NULL,
    -- Whom the identity wrote to.
    peer          bigint      NOT NULL,
    last_sent_at  timestamptz NOT NULL,
    PRIMARY KEY (identity, peer)
);

-- The most recent of one identity, without reading all.
CREATE INDEX peers_recent ON router.peers (identity, last_sent_at);
-- What is to be forgotten.
CREATE INDEX peers_last_sent_at ON router.peers (last_sent_at);

GRANT SELECT, INSERT, UPDATE, DELETE ON router.peers TO whisper_router;
