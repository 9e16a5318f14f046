-- Problems to be taught by people: which, by which recipe's student, and how many dialogues are wanted.
CREATE TABLE teaching_projects (
  id TEXT NOT NULL PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  recipe TEXT NOT NULL,
  -- JSON: a bank's name, or a list of questions with solutions.
  problems TEXT NOT NULL,
  wanted BIGINT NOT NULL,
  -- Seconds since 1970.
  created DOUBLE PRECISION NOT NULL
);
-- Who teaches, and as whom the dialogues name them.
CREATE TABLE teachers (
  project TEXT NOT NULL,
  teacher TEXT NOT NULL,
  pseudonym TEXT NOT NULL,
  PRIMARY KEY (project, teacher)
);
-- One teacher's dialogue about one problem.
CREATE TABLE seats (
  id TEXT NOT NULL PRIMARY KEY,
  project TEXT NOT NULL,
  place BIGINT NOT NULL,
  teacher TEXT NOT NULL,
  state TEXT NOT NULL,
  -- A change is kept only if nobody else has changed the seat since it was read.
  revision BIGINT NOT NULL,
  conversation {bytes} NOT NULL,
  changed DOUBLE PRECISION NOT NULL,
  UNIQUE (project, place)
);
CREATE INDEX seats_by_teacher ON seats (project, teacher, state);
