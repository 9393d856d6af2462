#!/bin/sh
# shard.sh LOCAL RESULT [cover] OPTION…: runs `mmtune tune OPTION…`, or `mmtune cover OPTION…`, with the database LOCAL on a
# disk of this node, and copies it to RESULT, which other nodes see, when it is done or SIGTERM interrupts it. Begins with
# what is in both, so that the same command goes on after a kill, here or on another node. RESULT is whole or absent at any
# time.
set -eu
if [ $# -lt 2 ]; then
  echo "shard.sh: LOCAL and RESULT: missing; write shard.sh LOCAL RESULT [cover] OPTION…" >&2
  exit 2
fi
local=$1 result=$2
shift 2
verb=tune
[ "${1-}" != cover ] || { verb=cover && shift; }

[ ! -e "$result" ] || mmtune db merge --db "$local" "$result" > /dev/null

tuner=
stopped=
trap 'stopped=yes; [ -z "$tuner" ] || kill -TERM "$tuner"' TERM INT
mmtune "$verb" --db "$local" "$@" &
tuner=$!
status=0
wait "$tuner" || status=$?
if [ -n "$stopped" ]; then # the signal ended the waiting and not yet the tuner
  status=0
  wait "$tuner" || status=$?
fi
trap '' TERM INT

rm -f "$result.new"
mmtune db export --db "$local" "$result.new"
mv "$result.new" "$result"
rm -f "$local"
exit "$status"
