-- Reads all of the ledger, which takes minutes if it is large; nobody waits for it. So the next step need not read it.
ALTER TABLE router.ledger VALIDATE CONSTRAINT ledger_of_no_day;
