-- What reports keep is bounded for each reporter, and for all reporters without a peer together (contract §13b).

ALTER TABLE auth.reports
    -- True until a sweep finds that the reporter has a peer.
    ADD COLUMN of_stranger boolean NOT NULL DEFAULT true,
    -- Of evidence and note, and of the row itself about.
    ADD COLUMN size_bytes integer NOT NULL
        GENERATED ALWAYS AS (256 + coalesce(octet_length(evidence), 0) + coalesce(octet_length(note), 0)) STORED;
CREATE INDEX reports_strangers ON auth.reports (number) INCLUDE (size_bytes) WHERE of_stranger;

INSERT INTO auth.stranger_bytes VALUES ('evidence', 0, '-infinity');
