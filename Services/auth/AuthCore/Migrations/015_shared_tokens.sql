-- A phone may have several identities. They name one device and keep its push tokens side by side, so that each is woken.
-- A token that another device shows is taken from all of them.
CREATE INDEX devices_push_token ON auth.devices (push_token) WHERE push_token IS NOT NULL;
CREATE INDEX devices_voip_token ON auth.devices (voip_token) WHERE voip_token IS NOT NULL;
-- Last: this lock keeps readers out.
ALTER TABLE auth.devices DROP CONSTRAINT devices_push_token_key, DROP CONSTRAINT devices_voip_token_key;
