-- Sources whose compiler gave no answer. What was lost before is tried again.
CREATE TABLE lost_compile (
  source_hash TEXT NOT NULL,
  target      TEXT NOT NULL,
  nvrtc       TEXT NOT NULL,
  family      TEXT NOT NULL,
  config      TEXT NOT NULL,
  outcome     INTEGER NOT NULL,
  losses      INTEGER NOT NULL,
  limit_ms    REAL NOT NULL,
  last        TEXT NOT NULL,
  PRIMARY KEY (source_hash, target, nvrtc)
) STRICT, WITHOUT ROWID;
