-- The ledger is about to be kept in daily parts. Its rows until now are of no day, -1: this release and the one before add to
-- them while they run side by side. Neither the column nor the unproven rule reads or writes any of the rows.
ALTER TABLE router.ledger ADD COLUMN day integer NOT NULL DEFAULT -1;
ALTER TABLE router.ledger ADD CONSTRAINT ledger_of_no_day CHECK (day = -1) NOT VALID;
