-- What the measurements of a run have in common is a row of its own, and the values of parameters are bytes. Clocks and
-- compile times are rounded, as they are written now: whole numbers take less, and make fewer conditions. Images may be
-- .xz files from now on, which `mmtune db prune --code` makes of older ones. mmtune_stored_settings() is a function of
-- db/migration_functions.cpp.
CREATE TABLE conditions (
  id               INTEGER PRIMARY KEY,
  mode             TEXT NOT NULL,
  memory_clock_mhz REAL NOT NULL,
  co_tenants       INTEGER NOT NULL,
  clock_limit_mhz  INTEGER NOT NULL,
  power_limit_w    REAL NOT NULL,
  UNIQUE (mode, memory_clock_mhz, co_tenants, clock_limit_mhz, power_limit_w)
) STRICT;
INSERT INTO main.conditions (mode, memory_clock_mhz, co_tenants, clock_limit_mhz, power_limit_w)
  SELECT DISTINCT mode, round(memory_clock_mhz), co_tenants, clock_limit_mhz, power_limit_w FROM main.trial
  ORDER BY 1, 2, 3, 4, 5;
UPDATE main.binary SET compile_ms = round(compile_ms);

CREATE TEMP TABLE kernel_before AS SELECT * FROM main.kernel;
DROP TABLE main.kernel;
CREATE TABLE kernel (
  id          INTEGER PRIMARY KEY,
  family_id   INTEGER NOT NULL REFERENCES family (id),
  settings    ANY NOT NULL,
  source_hash ANY NOT NULL
) STRICT;
INSERT INTO main.kernel (id, family_id, settings, source_hash)
  SELECT id, family_id, mmtune_stored_settings(settings), source_hash FROM kernel_before ORDER BY id;
DROP TABLE temp.kernel_before;
CREATE INDEX kernel_by_source ON kernel (source_hash);

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
  sm_clock_mhz     REAL NOT NULL,
  throttle         INTEGER NOT NULL DEFAULT 0,
  disturbed        INTEGER NOT NULL DEFAULT 0,
  error_share      REAL NOT NULL,
  deterministic    INTEGER NOT NULL,
  occupancy        REAL NOT NULL,
  smem_bytes       INTEGER NOT NULL,
  environment_id   INTEGER NOT NULL REFERENCES environment (id),
  conditions_id    INTEGER NOT NULL REFERENCES conditions (id),
  created          INTEGER NOT NULL,
  UNIQUE (device_id, problem_id, evidence, kernel_id)
) STRICT;
INSERT INTO main.trial (id, device_id, problem_id, kernel_id, evidence, outcome, note, binary_hash, median_us, q1_us,
                        q3_us, min_us, samples, calls_per_sample, sm_clock_mhz, throttle, disturbed, error_share,
                        deterministic, occupancy, smem_bytes, environment_id, conditions_id, created)
  SELECT t.id, device_id, problem_id, kernel_id, evidence, outcome, note, binary_hash, median_us, q1_us,
         q3_us, min_us, samples, calls_per_sample, round(sm_clock_mhz), throttle, disturbed, error_share,
         deterministic, occupancy, smem_bytes, environment_id, c.id, created
  FROM trial_before t
  JOIN main.conditions c ON c.mode = t.mode AND c.memory_clock_mhz = round(t.memory_clock_mhz)
    AND c.co_tenants = t.co_tenants AND c.clock_limit_mhz = t.clock_limit_mhz AND c.power_limit_w = t.power_limit_w
  ORDER BY t.id;
DROP TABLE trial_before;
CREATE INDEX trial_by_kernel ON trial (kernel_id, device_id);
