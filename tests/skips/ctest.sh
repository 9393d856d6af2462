#!/bin/sh
# ctest.sh BUILD ARGUMENT…: runs the tests of BUILD with ctest. Fails if a test fails, or if one labelled host is skipped
# for a reason that may_skip.txt does not have.
set -eu
here=$(dirname "$0")
build=$1
shift
hosts=$(ctest --test-dir "$build" -N -L host | sed -n 's/^ *Test *#[0-9]*: //p') # now, since this empties ctest's log
rm -rf "$build/tests/cached_nvrtc/programs" # those of earlier sources too
status=0
ctest --test-dir "$build" --output-on-failure --no-tests=error "$@" || status=$?
echo "$hosts" | awk -f "$here/check.awk" - "$here/may_skip.txt" "$build/Testing/Temporary/LastTest.log" || status=1
exit $status
