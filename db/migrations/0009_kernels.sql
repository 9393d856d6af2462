-- What trials, decisions and launches have in common, a configuration and its source, is a row of its own: the texts
-- were most of a file. Hashes are stored as bytes, times of day as numbers. mmtune_hash(), mmtune_parameters() and
-- mmtune_settings() are functions of db/migration_functions.cpp. Every text gets a row, also one that no mmtune writes,
-- and what is no time becomes a number that is none.
CREATE TABLE family (
  id          INTEGER PRIMARY KEY,
  family_name TEXT NOT NULL,
  parameters  TEXT NOT NULL,
  UNIQUE (family_name, parameters)
) STRICT;
CREATE TABLE kernel (
  id          INTEGER PRIMARY KEY,
  family_id   INTEGER NOT NULL REFERENCES family (id),
  settings    TEXT NOT NULL,
  source_hash ANY NOT NULL
) STRICT;
CREATE INDEX kernel_by_source ON kernel (source_hash);
CREATE TEMP TABLE named AS
  SELECT row_number() OVER (ORDER BY family, config, source_hash) AS id, family, config, source_hash,
         mmtune_parameters(config) AS parameters
  FROM (SELECT family, config, source_hash FROM main.trial UNION SELECT family, config, source_hash FROM main.attempt
        UNION SELECT family, config, source_hash FROM main.winner
        UNION SELECT family, config, source_hash FROM main.rival);
CREATE UNIQUE INDEX temp.named_by_texts ON named (source_hash, family, config);
INSERT INTO main.family (family_name, parameters) SELECT DISTINCT family, parameters FROM temp.named ORDER BY 1, 2;
INSERT INTO main.kernel (id, family_id, settings, source_hash)
  SELECT n.id, f.id, mmtune_settings(n.config), mmtune_hash(n.source_hash)
  FROM temp.named n JOIN main.family f ON f.family_name = n.family AND f.parameters = n.parameters ORDER BY n.id;

CREATE TABLE binary_before AS SELECT * FROM main.binary;
DROP TABLE main.binary;
CREATE TABLE binary (
  hash              ANY PRIMARY KEY NOT NULL,
  target            TEXT NOT NULL,
  exact_target      INTEGER NOT NULL,
  registers         INTEGER NOT NULL,
  spill_bytes       INTEGER NOT NULL,
  stack_bytes       INTEGER NOT NULL,
  static_smem_bytes INTEGER NOT NULL,
  compile_ms        REAL NOT NULL,
  cubin             BLOB
) STRICT, WITHOUT ROWID;
INSERT INTO main.binary (hash, target, exact_target, registers, spill_bytes, stack_bytes, static_smem_bytes, compile_ms,
                         cubin)
  SELECT mmtune_hash(hash), target, exact_target, registers, spill_bytes, stack_bytes, static_smem_bytes, compile_ms,
         cubin
  FROM binary_before ORDER BY 1;
DROP TABLE binary_before;

CREATE TEMP TABLE compiled_before AS SELECT * FROM main.compiled;
DROP TABLE main.compiled;
CREATE TABLE compiled (
  source_hash ANY NOT NULL,
  target      TEXT NOT NULL,
  binary_hash ANY NOT NULL REFERENCES binary (hash),
  nvrtc       TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (source_hash, target)
) STRICT, WITHOUT ROWID;
INSERT INTO main.compiled (source_hash, target, binary_hash, nvrtc)
  SELECT mmtune_hash(source_hash), target, mmtune_hash(binary_hash), nvrtc FROM compiled_before;
DROP TABLE temp.compiled_before;

CREATE TABLE trial_before AS SELECT * FROM main.trial;
DROP TABLE main.trial;
CREATE TABLE trial (
  id               INTEGER PRIMARY KEY,
  device_id        INTEGER NOT NULL REFERENCES device (id),
  problem_id       INTEGER NOT NULL REFERENCES problem (id),
  kernel_id        INTEGER NOT NULL REFERENCES kernel (id),
  evidence         INTEGER NOT NULL,
  outcome          INTEGER NOT NULL,
  note             TEXT NOT NULL,
  binary_hash      ANY NOT NULL,
  median_us        REAL NOT NULL,
  q1_us            REAL NOT NULL,
  q3_us            REAL NOT NULL,
  min_us           REAL NOT NULL,
  samples          INTEGER NOT NULL,
  calls_per_sample INTEGER NOT NULL,
  mode             TEXT NOT NULL,
  sm_clock_mhz     REAL NOT NULL,
  memory_clock_mhz REAL NOT NULL DEFAULT 0,
  throttle         INTEGER NOT NULL DEFAULT 0,
  co_tenants       INTEGER NOT NULL DEFAULT -1,
  disturbed        INTEGER NOT NULL DEFAULT 0,
  clock_limit_mhz  INTEGER NOT NULL DEFAULT 0,
  power_limit_w    REAL NOT NULL DEFAULT 0,
  error_share      REAL NOT NULL,
  deterministic    INTEGER NOT NULL,
  occupancy        REAL NOT NULL,
  smem_bytes       INTEGER NOT NULL,
  environment_id   INTEGER NOT NULL REFERENCES environment (id),
  created          INTEGER NOT NULL,
  UNIQUE (device_id, problem_id, evidence, kernel_id)
) STRICT;
INSERT INTO main.trial (id, device_id, problem_id, kernel_id, evidence, outcome, note, binary_hash, median_us, q1_us,
                        q3_us, min_us, samples, calls_per_sample, mode, sm_clock_mhz, memory_clock_mhz, throttle,
                        co_tenants, disturbed, clock_limit_mhz, power_limit_w, error_share, deterministic, occupancy,
                        smem_bytes, environment_id, created)
  SELECT t.id, device_id, problem_id, n.id, evidence, outcome, note, mmtune_hash(binary_hash), median_us, q1_us,
         q3_us, min_us, samples, calls_per_sample, mode, sm_clock_mhz, memory_clock_mhz, throttle,
         co_tenants, disturbed, clock_limit_mhz, power_limit_w, error_share, deterministic, occupancy,
         smem_bytes, environment_id, coalesce(CAST(strftime('%s', created) AS INTEGER), -1)
  FROM trial_before t JOIN temp.named n USING (source_hash, family, config) ORDER BY t.id;
DROP TABLE trial_before;
CREATE INDEX trial_by_kernel ON trial (kernel_id, device_id);

CREATE TEMP TABLE attempt_before AS SELECT * FROM main.attempt;
DROP TABLE main.attempt;
CREATE TABLE attempt (
  id             INTEGER PRIMARY KEY,
  device_id      INTEGER NOT NULL REFERENCES device (id),
  problem_id     INTEGER NOT NULL REFERENCES problem (id),
  kernel_id      INTEGER NOT NULL REFERENCES kernel (id),
  environment_id INTEGER NOT NULL REFERENCES environment (id),
  boot           TEXT NOT NULL,
  killed         INTEGER NOT NULL,
  started        INTEGER NOT NULL
) STRICT;
INSERT INTO main.attempt (id, device_id, problem_id, kernel_id, environment_id, boot, killed, started)
  SELECT a.id, device_id, problem_id, n.id, environment_id, boot, killed,
         coalesce(CAST(strftime('%s', started) AS INTEGER), -1)
  FROM attempt_before a JOIN temp.named n USING (source_hash, family, config);
DROP TABLE temp.attempt_before;

CREATE TEMP TABLE lost_compile_before AS SELECT * FROM main.lost_compile;
DROP TABLE main.lost_compile;
CREATE TABLE lost_compile (
  source_hash ANY NOT NULL,
  target      TEXT NOT NULL,
  nvrtc       TEXT NOT NULL,
  family      TEXT NOT NULL,
  config      TEXT NOT NULL,
  outcome     INTEGER NOT NULL,
  losses      INTEGER NOT NULL,
  limit_ms    REAL NOT NULL,
  last        INTEGER NOT NULL,
  PRIMARY KEY (source_hash, target, nvrtc)
) STRICT, WITHOUT ROWID;
INSERT INTO main.lost_compile (source_hash, target, nvrtc, family, config, outcome, losses, limit_ms, last)
  SELECT mmtune_hash(source_hash), target, nvrtc, family, config, outcome, losses, limit_ms,
         coalesce(CAST(strftime('%s', last) AS INTEGER), -1)
  FROM lost_compile_before;
DROP TABLE temp.lost_compile_before;

CREATE TEMP TABLE winner_before AS SELECT * FROM main.winner;
DROP TABLE main.winner;
CREATE TABLE winner (
  device_id    INTEGER NOT NULL,
  problem_id   INTEGER NOT NULL,
  evidence     INTEGER NOT NULL,
  kernel_id    INTEGER NOT NULL,
  median_us    REAL NOT NULL,
  search       TEXT NOT NULL,
  candidates   INTEGER NOT NULL,
  decided      INTEGER NOT NULL,
  cublas_ratio REAL NOT NULL DEFAULT 0,
  PRIMARY KEY (device_id, problem_id, evidence),
  FOREIGN KEY (device_id, problem_id, evidence, kernel_id)
    REFERENCES trial (device_id, problem_id, evidence, kernel_id)
) STRICT, WITHOUT ROWID;
INSERT INTO main.winner (device_id, problem_id, evidence, kernel_id, median_us, search, candidates, decided,
                         cublas_ratio)
  SELECT device_id, problem_id, evidence, n.id, median_us, search, candidates,
         coalesce(CAST(strftime('%s', decided) AS INTEGER), -1), cublas_ratio
  FROM winner_before w JOIN temp.named n USING (source_hash, family, config);
DROP TABLE temp.winner_before;

CREATE TEMP TABLE rival_before AS SELECT * FROM main.rival;
DROP TABLE main.rival;
CREATE TABLE rival (
  device_id    INTEGER NOT NULL,
  problem_id   INTEGER NOT NULL,
  evidence     INTEGER NOT NULL,
  kernel_id    INTEGER NOT NULL,
  median_us    REAL NOT NULL,
  search       TEXT NOT NULL,
  candidates   INTEGER NOT NULL,
  decided      INTEGER NOT NULL,
  cublas_ratio REAL NOT NULL DEFAULT 0,
  near_tie     INTEGER NOT NULL,
  PRIMARY KEY (device_id, problem_id, evidence, kernel_id),
  FOREIGN KEY (device_id, problem_id, evidence, kernel_id)
    REFERENCES trial (device_id, problem_id, evidence, kernel_id)
) STRICT, WITHOUT ROWID;
INSERT INTO main.rival (device_id, problem_id, evidence, kernel_id, median_us, search, candidates, decided,
                        cublas_ratio, near_tie)
  SELECT device_id, problem_id, evidence, n.id, median_us, search, candidates,
         coalesce(CAST(strftime('%s', decided) AS INTEGER), -1), cublas_ratio, near_tie
  FROM rival_before r JOIN temp.named n USING (source_hash, family, config);
DROP TABLE temp.rival_before;
DROP TABLE temp.named;
