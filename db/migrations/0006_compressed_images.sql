-- Images may be compressed from now on, which those that are stored are not: `mmtune db prune --code` compresses them.
SELECT 1;
