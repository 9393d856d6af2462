#!/bin/sh
# Repeats the measurements of five course documents on GPU 0 (docs/lab/2026-11-23-study-h200.md), with kernels that are
# tuned in the database DB first:
#   bench/study.sh PROGRAM FOLDER DB
# writes study_s0.csv to study_s4.csv, their charts (.svg) and the tables as they are printed (.txt) to the folder. Run again,
# it goes on where it was interrupted.
set -eu
program=$1 folder=$2 db=$3
tune() {
  "$program" tune --device 0 --db "$db" --effort quick -q "$@" > /dev/null
}
tune --sizes 1024,2048,4096,10000
tune --sizes 1024,8192 --precision int32
tune --sizes 512,2048 --precision fp64
for document in s0 s1 s2 s3 s4; do
  "$program" study "$document" --device 0 --db "$db" --longest 20s --output "$folder/study_$document.csv" \
    --svg "$folder/study_$document.svg" --force > "$folder/study_$document.txt"
done
