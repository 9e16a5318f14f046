-- A row for each place of a run, of which an event changes one. The topic is read again from its beginning.
CREATE TABLE under_way (
  run TEXT NOT NULL,
  place BIGINT NOT NULL,
  -- The problem that has a conversation under way there; NULL if the place is free.
  ordinal BIGINT,
  revision BIGINT NOT NULL,
  PRIMARY KEY (run, place)
);
CREATE INDEX under_way_by_revision ON under_way (revision);
CREATE INDEX settled_by_past ON settled (run, past);
-- The last day, counted from 1970, on which conversations of the run were counted, and its progress before that.
ALTER TABLE runs ADD COLUMN day BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN before {bytes};
ALTER TABLE runs DROP COLUMN standing;
DELETE FROM positions WHERE topic = 'run.standing';
