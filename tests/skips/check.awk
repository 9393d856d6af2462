# Reads the names of the tests labelled host, may_skip.txt and ctest's log. Says why tests were skipped, which ctest writes
# to its log only, and fails if a host test was for a reason that may_skip.txt does not have. Host tests say that they are
# skipped, since ctest's log is silent about those that do it by an exit code.

FNR == 1 { ++file }
file == 1 { is_host[$0] = 1; next }
file == 2 { if ($0 != "" && $0 !~ /^#/) allowed[$0] = 1; next }

/^[0-9]+\/[0-9]+ Testing: / { name = $0; sub(/^[^:]*: /, "", name); reason = "it gives no reason" }
/: Skipped$/ { getline reason }
/^SKIPPED: / { reason = $0; sub(/^SKIPPED: /, "", reason) }
/^Skip regular expression found in output/ {
  ++counts[reason]
  if (name in is_host && !may_skip(reason)) {
    printf "%s must not be skipped: %s\n", name, reason
    failed = 1
  }
}

function may_skip(reason, part) {
  for (part in allowed) if (index(reason, part)) return 1
  return 0
}

END {
  for (reason in counts) printf "%d skipped: %s\n", counts[reason], reason
  if (failed) print "Make these tests run, or see tests/skips/may_skip.txt."
  exit failed
}
