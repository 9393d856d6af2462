-- Decisions of merged databases for problems that are decided otherwise here.
CREATE TABLE rival (
  device_id   INTEGER NOT NULL,
  problem_id  INTEGER NOT NULL,
  evidence    INTEGER NOT NULL,
  family      TEXT NOT NULL,
  config      TEXT NOT NULL,
  source_hash TEXT NOT NULL,
  median_us   REAL NOT NULL,
  search      TEXT NOT NULL,
  candidates  INTEGER NOT NULL,
  decided     TEXT NOT NULL,
  near_tie    INTEGER NOT NULL,
  PRIMARY KEY (device_id, problem_id, evidence, family, config, source_hash),
  FOREIGN KEY (device_id, problem_id, evidence, family, config, source_hash)
    REFERENCES trial (device_id, problem_id, evidence, family, config, source_hash)
) STRICT, WITHOUT ROWID;
