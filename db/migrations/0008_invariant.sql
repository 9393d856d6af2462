-- Problems whose results must have the same bits for every size are problems of their own. A constraint of uniqueness
-- cannot be altered, so that the table is made anew; nothing else changes, and references to its rows stay.
CREATE TEMP TABLE problem_before AS SELECT * FROM main.problem;
DROP TABLE main.problem;
CREATE TABLE problem (
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
INSERT INTO main.problem (id, precision, layout, m, n, k, align_a, align_b, align_c)
  SELECT id, precision, layout, m, n, k, align_a, align_b, align_c FROM problem_before;
DROP TABLE temp.problem_before;
