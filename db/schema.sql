-- The mmtune database: what was tried, what it compiled to, and what won. This file creates a new database and is the
-- document of the format, version 10.
--
-- Header        PRAGMA application_id = 0x6d6d7475 ("mmtu"), PRAGMA user_version = the version of this file. Both are
--               set in the transaction that runs this file. A step between versions is one file of db/migrations/.
-- Journal       DELETE with synchronous = EXTRA: a committed row cost seconds of GPU time and must survive a power cut
--               (FULL does not sync the directory after the journal is gone, so the last commit could be undone).
--               Not WAL: it does not work over network file systems, needs a writable directory to be read, and
--               SQLite before 3.51.3 can corrupt a file when a checkpoint meets a writer that resets the log.
-- Writers       Every write is one BEGIN IMMEDIATE transaction, so that waiting for a lock cannot fail half-way.
-- Trust         Rows hold typed values only, never source text or compiler flags. Every row is validated when it is
--               read (templates/base/rules.h); a row with values that no mmtune writes counts as absent. Views, triggers and
--               virtual tables are refused.
-- Frozen        Names and enum numbers (mmtune/types.h, db/trial.h) are never changed or given a second meaning.
-- Units         *_us microseconds per call, *_ms milliseconds, *_bytes bytes, *_mhz MHz; times of day are seconds
--               since 1970, UTC; booleans are 0 or 1.
-- Hashes        32 hexadecimal digits are stored as the BLOB of 16 bytes that they stand for, other words as TEXT.

-- The GPUs that results hold for; equal cards share a row.
CREATE TABLE device (
  id                   INTEGER PRIMARY KEY,
  name                 TEXT NOT NULL,     -- as the driver says it: "NVIDIA H200"
  compute_capability   INTEGER NOT NULL,  -- 10 * major + minor
  sm_count             INTEGER NOT NULL,
  smem_per_block_optin INTEGER NOT NULL,  -- bytes
  UNIQUE (name, compute_capability, sm_count, smem_per_block_optin)
) STRICT;

-- C[m,n] = op(A)[m,k] * op(B)[k,n], row-major.
CREATE TABLE problem (
  id        INTEGER PRIMARY KEY,
  precision INTEGER NOT NULL,  -- enum Precision
  layout    INTEGER NOT NULL,  -- enum Layout
  m         INTEGER NOT NULL,
  n         INTEGER NOT NULL,
  k         INTEGER NOT NULL,
  align_a   INTEGER NOT NULL,  -- 1, 2, 4, 8 or 16 bytes: see struct Alignment
  align_b   INTEGER NOT NULL,
  align_c   INTEGER NOT NULL,
  invariant INTEGER NOT NULL DEFAULT 0,  -- 1: an element of C has the same bits for every size, position and batch
  UNIQUE (precision, layout, m, n, k, align_a, align_b, align_c, invariant)
) STRICT;

-- What produced a row; part of no key.
CREATE TABLE environment (
  id            INTEGER PRIMARY KEY,
  driver        TEXT NOT NULL,
  nvrtc         TEXT NOT NULL,
  mmtune_commit TEXT NOT NULL,
  device_uuid   TEXT NOT NULL,  -- provenance only
  UNIQUE (driver, nvrtc, mmtune_commit, device_uuid)
) STRICT;

-- What measurements mostly have in common.
CREATE TABLE conditions (
  id               INTEGER PRIMARY KEY,
  mode             TEXT NOT NULL,     -- "graph", "events", "model"
  memory_clock_mhz REAL NOT NULL,     -- mean while measuring; 0: unknown
  co_tenants       INTEGER NOT NULL,  -- most other processes seen on the GPU meanwhile; -1: unknown
  clock_limit_mhz  INTEGER NOT NULL,  -- the SM clock that the GPU was set to; 0: unknown
  power_limit_w    REAL NOT NULL,     -- in force; 0: unknown
  UNIQUE (mode, memory_clock_mhz, co_tenants, clock_limit_mhz, power_limit_w)
) STRICT;

-- The parameters of kernel families. A family whose table changes gets another row.
CREATE TABLE family (
  id          INTEGER PRIMARY KEY,
  family_name TEXT NOT NULL,  -- "simt"
  parameters  TEXT NOT NULL,  -- their names in table order: "BM BN BK"
  UNIQUE (family_name, parameters)
) STRICT;

-- Configurations and what they rendered to, which trials of several problems share. One that is written again is found
-- by its source.
CREATE TABLE kernel (
  id          INTEGER PRIMARY KEY,
  family_id   INTEGER NOT NULL REFERENCES family (id),
  settings    ANY NOT NULL,  -- values of the parameters in their order, as BLOB: see settings_bytes() in db/tables.h
  source_hash ANY NOT NULL   -- of the rendered source and its device headers
) STRICT;

CREATE INDEX kernel_by_source ON kernel (source_hash);

-- Compiled programs by the hash of their machine code. The image stands last: reading a row without it stays cheap.
-- It is the ELF file, or that as an .xz file, or as a zlib stream (RFC 1950) where the first byte is 0x78. Programs that
-- lost have none once their problem is decided.
CREATE TABLE binary (
  hash              ANY PRIMARY KEY NOT NULL,
  target            TEXT NOT NULL,     -- "sm_90a"
  exact_target      INTEGER NOT NULL,  -- 0: compiled for another architecture than the GPU's
  registers         INTEGER NOT NULL,  -- per thread
  spill_bytes       INTEGER NOT NULL,  -- per thread
  stack_bytes       INTEGER NOT NULL,  -- per thread
  static_smem_bytes INTEGER NOT NULL,  -- per block
  compile_ms        REAL NOT NULL,
  cubin             BLOB               -- the image; NULL: compile again
) STRICT, WITHOUT ROWID;

-- What a rendered source compiled to, where the image is stored.
CREATE TABLE compiled (
  source_hash ANY NOT NULL,
  target      TEXT NOT NULL,
  binary_hash ANY NOT NULL REFERENCES binary (hash),
  nvrtc       TEXT NOT NULL DEFAULT '',  -- version of the compiler; '' if unknown
  PRIMARY KEY (source_hash, target)
) STRICT, WITHOUT ROWID;

-- Every candidate, failed ones too: that is what makes a repeated run free.
CREATE TABLE trial (
  id               INTEGER PRIMARY KEY,
  device_id        INTEGER NOT NULL REFERENCES device (id),
  problem_id       INTEGER NOT NULL REFERENCES problem (id),
  kernel_id        INTEGER NOT NULL REFERENCES kernel (id),
  evidence         INTEGER NOT NULL,  -- enum Evidence
  outcome          INTEGER NOT NULL,  -- enum Outcome
  note             TEXT NOT NULL,     -- why it failed, and the compiler's log
  binary_hash      ANY NOT NULL,      -- '' if nothing was compiled, or if it came from another user's database
  median_us        REAL NOT NULL,     -- over 0 if outcome is ok or too_slow
  q1_us            REAL NOT NULL,
  q3_us            REAL NOT NULL,
  min_us           REAL NOT NULL,
  samples          INTEGER NOT NULL,
  calls_per_sample INTEGER NOT NULL,
  sm_clock_mhz     REAL NOT NULL,     -- mean while measuring; 0: unknown
  throttle         INTEGER NOT NULL DEFAULT 0,  -- enum Throttle: bits of all that held the clocks down meanwhile
  disturbed        INTEGER NOT NULL DEFAULT 0,  -- samples that were throttled beyond the power cap or had company
  error_share      REAL NOT NULL,     -- of the allowed bound, at most 1 if outcome is ok; infinite stands for NaN
  deterministic    INTEGER NOT NULL,  -- two runs on the same operands gave the same bits
  occupancy        REAL NOT NULL,     -- 0 to 1
  smem_bytes       INTEGER NOT NULL,  -- per block, static and dynamic
  environment_id   INTEGER NOT NULL REFERENCES environment (id),
  conditions_id    INTEGER NOT NULL REFERENCES conditions (id),
  created          INTEGER NOT NULL,
  UNIQUE (device_id, problem_id, evidence, kernel_id)
) STRICT;

CREATE INDEX trial_by_kernel ON trial (kernel_id, device_id);

-- Launches that are running on a GPU now, and those that ended their worker or the machine. A row is written before the
-- launch, in the transaction of the trial before, and removed by the launch's own trial unless that is crashed or
-- timed_out. Rows that are left of another boot crashed the machine. One such row is a kill. Several were a race, in which
-- no candidate can be blamed; they get killed = 2. Rows are not merged.
CREATE TABLE attempt (
  id             INTEGER PRIMARY KEY,
  device_id      INTEGER NOT NULL REFERENCES device (id),
  problem_id     INTEGER NOT NULL REFERENCES problem (id),
  kernel_id      INTEGER NOT NULL REFERENCES kernel (id),
  environment_id INTEGER NOT NULL REFERENCES environment (id),
  boot           TEXT NOT NULL,     -- of the machine: Linux's boot_id
  killed         INTEGER NOT NULL,  -- 0: running; 1: ended its worker or the machine; 2: in a race when the machine crashed
  started        INTEGER NOT NULL
) STRICT;

-- Sources whose compiler gave no answer: it was too late, or its process was ended, for which the host may be to blame.
-- After two runs that tried they are compiled again only with a larger limit. Rows are not merged.
CREATE TABLE lost_compile (
  source_hash ANY NOT NULL,
  target      TEXT NOT NULL,
  nvrtc       TEXT NOT NULL,     -- version of the compiler
  family      TEXT NOT NULL,
  config      TEXT NOT NULL,
  outcome     INTEGER NOT NULL,  -- enum Outcome: timed_out or crashed
  losses      INTEGER NOT NULL,  -- runs that tried
  limit_ms    REAL NOT NULL,     -- the longest that the compiler was given
  last        INTEGER NOT NULL,
  PRIMARY KEY (source_hash, target, nvrtc)
) STRICT, WITHOUT ROWID;

-- The decision per problem and GPU, one for measured and one for predicted times. It is served while its trial is ok:
-- a fault found later, here or in a merged database, withdraws it until the problem is tuned again.
CREATE TABLE winner (
  device_id   INTEGER NOT NULL,
  problem_id  INTEGER NOT NULL,
  evidence    INTEGER NOT NULL,
  kernel_id   INTEGER NOT NULL,
  median_us   REAL NOT NULL,     -- of the trial when it won
  search      TEXT NOT NULL,     -- hash of what was searched
  candidates  INTEGER NOT NULL,  -- trials behind the decision
  decided     INTEGER NOT NULL,
  cublas_ratio REAL NOT NULL DEFAULT 0,  -- how many times as long cuBLAS took, by `mmtune bench`; 0: not compared
  PRIMARY KEY (device_id, problem_id, evidence),
  FOREIGN KEY (device_id, problem_id, evidence, kernel_id)
    REFERENCES trial (device_id, problem_id, evidence, kernel_id)
) STRICT, WITHOUT ROWID;

-- Decisions of merged databases for problems that are decided otherwise here: db/settle.h says how one of them and the
-- winner is chosen. Columns as those of winner. Rows go when the problem is decided anew.
CREATE TABLE rival (
  device_id   INTEGER NOT NULL,
  problem_id  INTEGER NOT NULL,
  evidence    INTEGER NOT NULL,
  kernel_id   INTEGER NOT NULL,
  median_us   REAL NOT NULL,
  search      TEXT NOT NULL,
  candidates  INTEGER NOT NULL,
  decided     INTEGER NOT NULL,
  cublas_ratio REAL NOT NULL DEFAULT 0,
  near_tie    INTEGER NOT NULL,  -- the samples leave open whether it is as fast as the winner: to be raced
  PRIMARY KEY (device_id, problem_id, evidence, kernel_id),
  FOREIGN KEY (device_id, problem_id, evidence, kernel_id)
    REFERENCES trial (device_id, problem_id, evidence, kernel_id)
) STRICT, WITHOUT ROWID;
