-- The conditions under which a time was measured, unknown for older rows, and the compiler of what a source compiled to.
ALTER TABLE trial ADD COLUMN memory_clock_mhz REAL NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN throttle INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN co_tenants INTEGER NOT NULL DEFAULT -1;
ALTER TABLE trial ADD COLUMN disturbed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN clock_limit_mhz INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN power_limit_w REAL NOT NULL DEFAULT 0;
ALTER TABLE compiled ADD COLUMN nvrtc TEXT NOT NULL DEFAULT '';
UPDATE compiled SET nvrtc = coalesce(
  (SELECT e.nvrtc FROM trial t JOIN environment e ON e.id = t.environment_id
   WHERE t.binary_hash = compiled.binary_hash AND t.binary_hash <> '' AND t.source_hash = compiled.source_hash
   ORDER BY t.created DESC LIMIT 1), '');
