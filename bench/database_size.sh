#!/bin/sh
# The size of a database that is tuned from nothing, and after pruning machine code:
#   bench/database_size.sh FOLDER [MMTUNE [OPTIONS OF TUNE]]
# Prints sizes,trials,mb_before,mb_after: `mb_before` is the most that the file had while it was tuned, `mb_after` what
# it has after `mmtune db prune --code --yes`, in 1e6 bytes. Leaves size.db, and what was said on stderr as size.txt, in
# the folder.
set -eu
folder=$1
mmtune=${2:-build/mmtune}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- --device 0 --sizes 128..6144:128 # 48 sizes
mkdir -p "$folder"
rm -f "$folder/size.db"
export MMTUNE_DB="$folder/size.db"
bytes() {
  stat -c %s "$MMTUNE_DB" 2> /dev/null || echo 0
}
megabytes() {
  awk "BEGIN { printf \"%.3f\", $1 / 1e6 }"
}
"$mmtune" tune "$@" > /dev/null 2> "$folder/size.txt" &
tuning=$!
most=0
while kill -0 $tuning 2> /dev/null; do
  now=$(bytes)
  [ "$now" -le "$most" ] || most=$now
  sleep 0.2
done
wait $tuning
counts=$("$mmtune" db check --format csv | tail -n 1) # trials,binaries,winners,faults
"$mmtune" db prune --code --yes > /dev/null
echo sizes,trials,mb_before,mb_after
echo "$(echo "$counts" | cut -d, -f3),$(echo "$counts" | cut -d, -f1),$(megabytes "$most"),$(megabytes "$(bytes)")"
