-- One gateway at a time counts events and drives runs.
CREATE TABLE lease (
  holder TEXT NOT NULL,
  -- Seconds since 1970 by the database's clock.
  until DOUBLE PRECISION NOT NULL
);
INSERT INTO lease VALUES ('', 0);
-- Grows with each transaction, so that a gateway reads only what changed since it last looked.
ALTER TABLE runs ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;
-- 1 until run.changed has the latest change.
ALTER TABLE runs ADD COLUMN owed SMALLINT NOT NULL DEFAULT 0;
CREATE INDEX runs_by_revision ON runs (revision);
