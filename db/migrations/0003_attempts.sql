-- Launches that are running, or that ended their worker or the machine.
CREATE TABLE attempt (
  id             INTEGER PRIMARY KEY,
  device_id      INTEGER NOT NULL REFERENCES device (id),
  problem_id     INTEGER NOT NULL REFERENCES problem (id),
  family         TEXT NOT NULL,
  config         TEXT NOT NULL,
  source_hash    TEXT NOT NULL,
  environment_id INTEGER NOT NULL REFERENCES environment (id),
  boot           TEXT NOT NULL,
  killed         INTEGER NOT NULL,
  started        TEXT NOT NULL
) STRICT;
