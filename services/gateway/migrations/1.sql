-- Everything that the gateway knows of its runs, as its topics tell. A later version adds a file and never changes this one.
CREATE TABLE positions (
  topic TEXT NOT NULL,
  partition BIGINT NOT NULL,
  -- The topic of this name that was read: one that is made anew has another identity.
  identity TEXT NOT NULL,
  next_offset BIGINT NOT NULL,
  PRIMARY KEY (topic, partition)
);
CREATE TABLE runs (
  run TEXT NOT NULL PRIMARY KEY,
  -- Serialised: the latest RunChanged, the RunProgress that conversations add up to, the RunStanding, the RunStored.
  changed {bytes},
  progress {bytes},
  standing {bytes},
  stored {bytes},
  unfit BIGINT NOT NULL,
  flagged_accepted BIGINT NOT NULL,
  flagged_rejected BIGINT NOT NULL
);
CREATE TABLE finished (
  place {place},
  run TEXT NOT NULL,
  id TEXT NOT NULL,
  -- 1 if it is accepted, and 2 more if it has flags.
  kind SMALLINT NOT NULL,
  ordinal BIGINT NOT NULL,
  -- Topic and question, casefolded.
  words TEXT NOT NULL,
  -- The rules that it breaks, each between line ends.
  rules TEXT NOT NULL,
  -- A serialised FinishedConversation, and the Origin of the whole of it.
  shown {bytes} NOT NULL,
  origin {bytes} NOT NULL
);
CREATE UNIQUE INDEX finished_once ON finished (run, id);
CREATE INDEX finished_by_kind ON finished (run, kind, place);
-- The problems of a run that need no further conversation, as stretches.
CREATE TABLE settled (
  run TEXT NOT NULL,
  first BIGINT NOT NULL,
  past BIGINT NOT NULL,
  PRIMARY KEY (run, first)
);
-- The problems of a run whose enrichment is counted.
CREATE TABLE enriched (
  run TEXT NOT NULL,
  problem TEXT NOT NULL,
  PRIMARY KEY (run, problem)
);
