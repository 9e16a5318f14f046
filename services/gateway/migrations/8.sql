-- Who takes part in a project of annotation or of teaching, since when, and as whom the results name them.
CREATE TABLE participants (
  project TEXT NOT NULL,
  -- Empty for somebody who is forgotten.
  person TEXT NOT NULL,
  pseudonym TEXT NOT NULL,
  -- They have agreed to the project's terms by then. Seconds since 1970.
  joined DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (project, pseudonym)
);
CREATE INDEX participants_by_person ON participants (project, person);
INSERT INTO participants SELECT project, annotator, pseudonym, consented FROM annotators;
INSERT INTO participants SELECT project, teacher, pseudonym, 0 FROM teachers;
DROP TABLE annotators;
DROP TABLE teachers;
-- The number of the seat's problem in its project: one that a teacher leaves gets further seats.
ALTER TABLE seats ADD COLUMN problem BIGINT NOT NULL DEFAULT 0;
UPDATE seats SET problem = place;
