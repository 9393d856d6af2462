#!/bin/sh
# test.sh FOLDER: tests ctest.sh on projects of one test in that folder.
set -eu
here=$(dirname "$0")
work=$1
mkdir -p "$work"

# expect STATUS LABEL OUTPUT REASON: what becomes of a test that is skipped with this output.
expect() {
  cat > "$work/CTestTestfile.cmake" << END
add_test(pretended echo "$3")
set_tests_properties(pretended PROPERTIES LABELS $2 SKIP_REGULAR_EXPRESSION "SKIPPED")
END
  status=0
  said=$("$here/ctest.sh" "$work") || status=$?
  case "$status $said" in
    "$1 "*"1 skipped: $4"*) ;;
    *) echo "$2 '$3': status $status instead of $1, or no word about '$4':" && echo "$said" && exit 1 ;;
  esac
}

expect 0 host 'SKIPPED: only root can give a file away' 'only root can give a file away'
expect 1 host 'SKIPPED: no compiler' 'no compiler'
expect 1 host_thorough 'SKIPPED: no compiler' 'no compiler'
expect 0 gpu 'SKIPPED: no GPU' 'no GPU'
expect 0 host 'a_test.cpp:7: Skipped\nothers cannot run it, or so\n[  SKIPPED ] A.Test' 'others cannot run it, or so'
expect 1 host 'a_test.cpp:7: Skipped\nno library\n[  SKIPPED ] A.Test' 'no library'
expect 1 host '[  SKIPPED ] A.Test' 'it gives no reason'

: > "$work/CTestTestfile.cmake"
if "$here/ctest.sh" "$work" > /dev/null 2>&1; then
  echo "nothing was run, and nothing said" && exit 1
fi
