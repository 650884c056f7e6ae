-- What the calls service reads of auth, besides sessions: who can be called.

GRANT SELECT ON auth.mail_identities TO whisper_calls;
