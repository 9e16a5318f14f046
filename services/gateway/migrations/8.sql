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
-- How many annotators have judged the item.
ALTER TABLE annotation_items ADD COLUMN times BIGINT NOT NULL DEFAULT 0;
UPDATE annotation_items SET times = (SELECT count(*) FROM annotations said WHERE said.project = annotation_items.project
  AND said.item = annotation_items.item AND said.round = 'annotation');
-- A lease ends with the annotation.
UPDATE annotation_leases SET until = 0 WHERE EXISTS (SELECT 1 FROM annotations said WHERE said.round = 'annotation'
  AND said.project = annotation_leases.project AND said.item = annotation_leases.item
  AND said.annotator = annotation_leases.annotator);
CREATE INDEX annotation_items_by_times ON annotation_items (project, times, place);
CREATE INDEX annotation_items_by_gold ON annotation_items (project, gold, place);
CREATE INDEX annotation_leases_by_annotator ON annotation_leases (project, annotator, until);
CREATE INDEX annotation_leases_by_until ON annotation_leases (project, until);
