-- The service shows the operators' figures as metrics, too.
GRANT SELECT ON attachments.statistics TO whisper_attachments;
