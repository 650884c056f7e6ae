-- For the router, which accepts a message only with its sender's own key: the key that a Job brings proves nothing about whose it is.
CREATE OR REPLACE VIEW auth.mail_identities AS
    SELECT whisper_id, epoch, is_banned, sign_key FROM auth.identities;
