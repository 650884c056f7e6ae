-- Sweeps look at erasures that guests have asked for last: strangers make any number of them (contract §20.2).
CREATE OR REPLACE VIEW auth.erasures_unfinished AS
    SELECT erasure_id, whisper_id, guest_id, sent_mail = 'withdraw' AS withdraws, decided_at, done,
        by = 'guest' AS is_guests_own
    FROM auth.erasures WHERE finished_at IS NULL;
