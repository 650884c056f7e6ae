-- Rooms: who has a seat, and what opens them. What is signalled is never here.

CREATE TABLE calls.rooms (
    room_id          uuid        PRIMARY KEY,
    -- Follows from the id: which process the room belongs to.
    share            smallint    NOT NULL,
    creator_is_guest boolean     NOT NULL,
    creator          uuid        NOT NULL,
    host_is_guest    boolean     NOT NULL,
    host             uuid        NOT NULL,
    participants_max smallint    NOT NULL,
    is_locked        boolean     NOT NULL,
    revision         bigint      NOT NULL,
    next_seat        integer     NOT NULL,
    was_accepted     boolean     NOT NULL,
    -- SHA-256 of the proof that the room's link gives. NULL: it has no link.
    link_verifier    bytea       CHECK (octet_length(link_verifier) = 32),
    created_at       timestamptz NOT NULL,
    -- When somebody was last known to be connected, and when the room ends if nobody is again.
    connected_at     timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX rooms_host ON calls.rooms (host, host_is_guest);
CREATE INDEX rooms_expire ON calls.rooms (expires_at);

CREATE TABLE calls.room_participants (
    room_id     uuid        NOT NULL REFERENCES calls.rooms ON DELETE CASCADE,
    -- A guest's id, or in its low half that of an identity.
    is_guest    boolean     NOT NULL,
    participant uuid        NOT NULL,
    seat        integer     NOT NULL,
    via         text        NOT NULL CHECK (via IN ('creator', 'code', 'link')),
    joined_code text,
    sign_key    bytea       NOT NULL CHECK (octet_length(sign_key) = 32),
    enc_key     bytea       NOT NULL CHECK (octet_length(enc_key) = 32),
    joined_at   timestamptz NOT NULL,
    -- Where it is connected. NULL: it is away.
    node        bigint,
    connection  bigint,
    away_since  timestamptz,
    -- It leaves all its rooms. The owner of this one has not heard yet.
    is_leaving  boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (room_id, is_guest, participant)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX room_participants_who ON calls.room_participants (participant, is_guest);
CREATE INDEX room_participants_here ON calls.room_participants (room_id) WHERE node IS NOT NULL;
CREATE INDEX room_participants_leaving ON calls.room_participants (room_id) WHERE is_leaving;

-- Those who were removed, with the code of that time: another code lets them in again.
CREATE TABLE calls.room_barred (
    room_id     uuid    NOT NULL REFERENCES calls.rooms ON DELETE CASCADE,
    is_guest    boolean NOT NULL,
    participant uuid    NOT NULL,
    code        text    NOT NULL,
    PRIMARY KEY (room_id, is_guest, participant)
);

-- A code is somebody's until a day after it was retired.
CREATE TABLE calls.room_codes (
    code       text        PRIMARY KEY,
    -- NULL: the room is over.
    room_id    uuid        REFERENCES calls.rooms ON DELETE SET NULL,
    pin_salt   bytea,
    pin_hash   bytea       CHECK (octet_length(pin_hash) = 32),
    wrong_pins smallint    NOT NULL DEFAULT 0,
    expires_at timestamptz NOT NULL,
    retired_at timestamptz
);

CREATE UNIQUE INDEX room_codes_open ON calls.room_codes (room_id) WHERE retired_at IS NULL;
CREATE INDEX room_codes_room ON calls.room_codes (room_id);
CREATE INDEX room_codes_retired ON calls.room_codes (retired_at);

-- Joins with wrong codes or pins of the last minutes. Lost after a crash, nothing but the count begins anew.
CREATE UNLOGGED TABLE calls.room_misses (
    missed_at timestamptz NOT NULL,
    -- Names an address among others.
    origin    bigint      NOT NULL
);

CREATE INDEX room_misses_at ON calls.room_misses (missed_at);

GRANT SELECT, INSERT, UPDATE, DELETE
    ON calls.rooms, calls.room_participants, calls.room_barred, calls.room_codes, calls.room_misses TO whisper_calls;
