-- Of conversations that have finished, what a list shows: a cache of conversation.collected, thrown away at the end.
CREATE TABLE finished (
  place INTEGER PRIMARY KEY AUTOINCREMENT,
  run TEXT NOT NULL,
  id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  accepted INTEGER NOT NULL,
  -- Whether nothing more is to be done for its problem.
  settles INTEGER NOT NULL,
  flagged INTEGER NOT NULL,
  -- Topic and question, casefolded.
  words TEXT NOT NULL,
  -- The rules that it breaks, each between line ends.
  rules TEXT NOT NULL,
  -- A serialised FinishedConversation, and the Origin of the whole of it.
  shown BLOB NOT NULL,
  origin BLOB NOT NULL
);
CREATE UNIQUE INDEX finished_once ON finished (run, id);
-- Ends with the place, as every index: the latest of a run are found first.
CREATE INDEX finished_of_run ON finished (run);
