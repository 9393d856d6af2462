-- How a decision's kernel does beside cuBLAS, where `mmtune bench` measured it.
ALTER TABLE winner ADD COLUMN cublas_ratio REAL NOT NULL DEFAULT 0;
ALTER TABLE rival ADD COLUMN cublas_ratio REAL NOT NULL DEFAULT 0;
