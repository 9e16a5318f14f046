CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;

-- One sequence of offsets for all topics: a new event is always appended at the end of the file's tree.
CREATE TABLE IF NOT EXISTS event (
  offset INTEGER PRIMARY KEY AUTOINCREMENT,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  id TEXT NOT NULL,
  key TEXT NOT NULL,
  source TEXT NOT NULL,
  time REAL NOT NULL,
  traceparent TEXT NOT NULL,
  began TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  not_before REAL NOT NULL,
  error TEXT NOT NULL,
  payload BLOB NOT NULL,
  lineage TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS event_place ON event (topic, partition, offset);

-- Every event up to the watermark is finished, and those in `ahead` above it.
CREATE TABLE IF NOT EXISTS position (
  grp TEXT NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  watermark INTEGER NOT NULL,
  PRIMARY KEY (grp, topic, partition)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS ahead (
  grp TEXT NOT NULL,
  topic TEXT NOT NULL,
  partition INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  PRIMARY KEY (grp, topic, partition, offset)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS member (
  grp TEXT NOT NULL,
  name TEXT NOT NULL,
  expires REAL NOT NULL,
  PRIMARY KEY (grp, name)
) WITHOUT ROWID;
-- A lease covers its partition of every topic; each taking of it raises the epoch.
CREATE TABLE IF NOT EXISTS lease (
  grp TEXT NOT NULL,
  partition INTEGER NOT NULL,
  member TEXT,
  epoch INTEGER NOT NULL,
  PRIMARY KEY (grp, partition)
) WITHOUT ROWID;
