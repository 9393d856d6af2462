#!/bin/sh
# The size of a database that is tuned from nothing, and after pruning machine code:
#   bench/database_size.sh FOLDER [MMTUNE [DEVICE [SIZES [PRECISION [BUDGET]]]]]
# Prints sizes,trials,mb_before,mb_after: `mb_before` is the file when the run has ended, `mb_after` after
# `mmtune db prune --code --yes`, in 1e6 bytes. Leaves size.db, and what was said on stderr as size.txt, in the folder.
set -eu
folder=$1
mmtune=${2:-build/mmtune}
device=${3:-0}
sizes=${4:-128..6144:128} # 48 sizes
precision=${5:-fp32}
budget=${6:-}
mkdir -p "$folder"
rm -f "$folder/size.db"
export MMTUNE_DB="$folder/size.db"
megabytes() {
  wc -c < "$MMTUNE_DB" | awk '{ printf "%.3f", $1 / 1e6 }'
}
"$mmtune" tune --device "$device" --precision "$precision" --sizes "$sizes" ${budget:+--budget "$budget"} \
  > /dev/null 2> "$folder/size.txt"
before=$(megabytes)
counts=$("$mmtune" db check --format csv | tail -n 1) # trials,binaries,winners,faults
"$mmtune" db prune --code --yes > /dev/null
echo sizes,trials,mb_before,mb_after
echo "$(echo "$counts" | cut -d, -f3),$(echo "$counts" | cut -d, -f1),$before,$(megabytes)"
