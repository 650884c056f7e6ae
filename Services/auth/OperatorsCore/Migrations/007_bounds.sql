-- What one can make others keep: reports are counted, and go.

-- The evidence is signed by the target, and the router's ledger knew the message. What was stored before held fields that nobody
-- has signed: it does not count.
ALTER TABLE auth.reports ADD COLUMN evidence_verified boolean NOT NULL DEFAULT false;

-- Open reports of one reporter.
CREATE INDEX reports_open ON auth.reports (reporter) WHERE status = 'open';
-- Whose evidence is to go, and which are to go themselves.
CREATE INDEX reports_evidence ON auth.reports (reviewed_at) WHERE evidence IS NOT NULL AND reviewed_at IS NOT NULL;
CREATE INDEX reports_reviewed_at ON auth.reports (reviewed_at) WHERE reviewed_at IS NOT NULL;
