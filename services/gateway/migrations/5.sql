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
ALTER TABLE runs DROP COLUMN standing;
DELETE FROM positions WHERE topic = 'run.standing';
