-- What annotators are asked: a scheme and its items, and how many annotators judge each.
CREATE TABLE annotation_projects (
  id TEXT NOT NULL PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  -- JSON.
  scheme TEXT NOT NULL,
  per_item BIGINT NOT NULL,
  consent TEXT NOT NULL,
  -- Seconds since 1970.
  created DOUBLE PRECISION NOT NULL
);
CREATE TABLE annotation_items (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  place BIGINT NOT NULL,
  -- What annotators see, as JSON.
  shown TEXT NOT NULL,
  -- The right values as JSON, of an item that tests annotators; else empty.
  gold TEXT NOT NULL,
  PRIMARY KEY (project, item)
);
-- Who may annotate, since when, and as whom the results name them.
CREATE TABLE annotators (
  project TEXT NOT NULL,
  annotator TEXT NOT NULL,
  pseudonym TEXT NOT NULL,
  consented DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (project, annotator)
);
-- An item that an annotator has before them, until the time at which others may have it.
CREATE TABLE annotation_leases (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  annotator TEXT NOT NULL,
  until DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (project, item, annotator)
);
CREATE TABLE annotations (
  project TEXT NOT NULL,
  item TEXT NOT NULL,
  annotator TEXT NOT NULL,
  round TEXT NOT NULL,
  -- JSON, by question.
  given TEXT NOT NULL,
  seconds DOUBLE PRECISION NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  PRIMARY KEY (project, item, annotator, round)
);
CREATE INDEX annotations_by_annotator ON annotations (project, annotator, at);
