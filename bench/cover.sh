#!/bin/sh
# Covers extents between 48 and 8192 and audits that on sizes that were not tuned:
#   bench/cover.sh FOLDER [MMTUNE [BUDGET [SAMPLES [COUNT [TUNED [SEED [PRECISION [LAYOUT]]]]]]]]
# fp32 NN by default.
# Takes the budget and about 1 s for each of COUNT sizes and 6 s for each of TUNED. Leaves cover.db, cover.csv and
# audit.csv in the folder, and beside them as .txt what was said on stderr; prints the summaries.
set -eu
folder=$1
mmtune=${2:-build/mmtune}
budget=${3:-5m}
samples=${4:-}
count=${5:-120}
tuned=${6:-10}
seed=${7:-2}
precision=${8:-fp32}
layout=${9:-nn}
mkdir -p "$folder"
export MMTUNE_DB="$folder/cover.db"
"$mmtune" cover --device 0 --precision "$precision" --layout "$layout" --sizes 48..8192 --budget "$budget" \
  ${samples:+--samples "$samples"} --format csv > "$folder/cover.csv" 2> "$folder/cover.txt"
status=0
"$mmtune" audit --device 0 --precision "$precision" --layout "$layout" --sizes 48..8192 --count "$count" --seed "$seed" \
  --tuned "$tuned" --effort quick --format csv > "$folder/audit.csv" 2> "$folder/audit.txt" || status=$?
grep '^mmtune: ' "$folder/cover.txt" "$folder/audit.txt" | sed 's/^.*mmtune: //'
exit $status
