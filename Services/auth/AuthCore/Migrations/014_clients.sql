-- Kind of the program that has logged in (contract §4), by its own word. NULL: it has not said.

ALTER TABLE auth.devices ADD COLUMN client text;
-- Rows of before have none, so they need no look.
ALTER TABLE auth.devices ADD CONSTRAINT devices_client
    CHECK (client IN ('phone', 'tablet', 'desktop', 'web', 'terminal', 'daemon', 'bot')) NOT VALID;
