#!/bin/sh
# Tunes and races the sets of bench/sizes for the types of tensor cores, one precision and set after the other:
#   bench/tensor_table.sh FOLDER [MMTUNE [BUDGET [ROUNDS [BLOCK...]]]]
# A block is PRECISION:LAYOUT:SET, as bf16:nn:square; all are the default. BUDGET is each block's for tuning, 24s by
# default; about 15 minutes in all. The folder gets tensor_vs_cublas.csv, one file of all blocks with the ratios to
# cuBLAS, tensor_trials.csv.xz, every candidate that was tried, and tensor_table.txt, what was said on stderr with each
# set's mean; prints the means.
set -eu
folder=$1
mmtune=${2:-build/mmtune}
budget=${3:-24s}
rounds=${4:-15}
if [ $# -gt 4 ]; then shift 4; else set --; fi
if [ $# = 0 ]; then
  for precision in bf16 fp16 tf32 fp64; do
    for set in square between odd skinny; do set -- "$@" "$precision:nn:$set"; done
    set -- "$@" "$precision:all:layouts"
  done
  for precision in int8 e4m3_bf16; do # cuBLAS takes only the layout nt of these
    for set in square between odd skinny layouts; do set -- "$@" "$precision:nt:$set"; done
  done
fi
sizes=$(dirname "$0")/sizes
mkdir -p "$folder"
export MMTUNE_DB="$folder/tensor_table.db"
table=$folder/tensor_vs_cublas.csv
log=$folder/tensor_table.txt
: > "$table"
: > "$log"
# run VERB OPTION...: for the problems of the block.
run() {
  verb=$1
  shift
  "$mmtune" "$verb" --device 0 --precision "$precision" --layout "$layout" --sizes "@$sizes/$set.txt" "$@" 2>> "$log"
}
first_line=1 # where the next table begins: one header is enough
for block in "$@"; do
  precision=${block%%:*}
  set=${block##*:}
  layout=${block#*:}
  layout=${layout%:*}
  began=$(date +%s)
  # Some sizes may have no winner within the budget: the others are raced, and the log says which.
  run tune --budget "$budget" >> "$log" || true
  run bench --vs cublas --rounds "$rounds" --format csv | tail -n +$first_line >> "$table"
  first_line=2
  echo "$block took $(($(date +%s) - began)) s" >> "$log"
done
"$mmtune" show --trials --format csv | xz > "$folder/tensor_trials.csv.xz"
grep -e ' took ' -e 'geometric mean' "$log"
