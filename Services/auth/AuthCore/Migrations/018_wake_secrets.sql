-- With the secret of an identity on its device each push has a tag by which the app knows the identity (contract §4). Providers learn nothing.

ALTER TABLE auth.devices ADD COLUMN wake_secret bytea;
-- Rows of before have none, so they need no look.
ALTER TABLE auth.devices ADD CONSTRAINT devices_wake_secret CHECK (octet_length(wake_secret) = 16) NOT VALID;

-- A push token may be several identities': a later push of one must not take the place of another's.
CREATE OR REPLACE VIEW auth.push_tokens AS
    SELECT whisper_id, platform, push_token, voip_token, wake_secret, EXISTS (
        SELECT FROM auth.devices AS sharer
        WHERE sharer.push_token = devices.push_token AND sharer.whisper_id <> devices.whisper_id) AS is_shared
    FROM auth.devices WHERE push_token IS NOT NULL OR voip_token IS NOT NULL;
