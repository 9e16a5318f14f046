-- The messages that webhooks are still to get: one for each run that ended and each URL.
CREATE TABLE webhooks (
  id TEXT NOT NULL PRIMARY KEY,
  url TEXT NOT NULL,
  -- JSON, the same at every attempt.
  body TEXT NOT NULL,
  -- Seconds since 1970: the end of the run, and the next attempt.
  since DOUBLE PRECISION NOT NULL,
  due DOUBLE PRECISION NOT NULL,
  attempts BIGINT NOT NULL
);
