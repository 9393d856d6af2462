-- Problems whose results must have the same bits for every size are problems of their own. A constraint of uniqueness
-- cannot be altered, so that the table is made anew; nothing else changes, and references to it stay.
CREATE TABLE problem_7 (
  id        INTEGER PRIMARY KEY,
  precision INTEGER NOT NULL,
  layout    INTEGER NOT NULL,
  m         INTEGER NOT NULL,
  n         INTEGER NOT NULL,
  k         INTEGER NOT NULL,
  align_a   INTEGER NOT NULL,
  align_b   INTEGER NOT NULL,
  align_c   INTEGER NOT NULL,
  invariant INTEGER NOT NULL DEFAULT 0,
  UNIQUE (precision, layout, m, n, k, align_a, align_b, align_c, invariant)
) STRICT;
INSERT INTO problem_7 (id, precision, layout, m, n, k, align_a, align_b, align_c)
  SELECT id, precision, layout, m, n, k, align_a, align_b, align_c FROM problem;
DROP TABLE problem;
ALTER TABLE problem_7 RENAME TO problem;
