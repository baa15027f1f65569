#!/usr/bin/env bash
# Every test, with its own set-up: Bazel tests, then the checks of ci/checks. Ends with `N passed, N failed, N skipped`.
# Extra arguments go to Bazel: ci/test.sh --config=sanitize
source "$(dirname "$0")/common.sh"

ci/setup.sh

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

say "building and testing"
# The verdict is in the events: a run whose events are missing or incomplete counts as failed.
bazel_code=0
bazel_build test //... -k --build_event_json_file="$results/events.json" "$@" </dev/null || bazel_code=$?

say "checking the tree"
python3 ci/checks/run.py --junit "$results/checks.xml" || true

# In CI nobody comes back for the server.
[[ "${CI:-}" != true ]] || bazel shutdown

code=0
python3 ci/count_tests.py "$results/events.json" "$results/checks.xml" >"$results/summary" || code=$?
# 3: a test failed, 1: something did not build; 4: no test found. All but 0 fail the run even if no case says so.
if ((code == 0 && bazel_code != 0)); then
  say "Bazel ended with exit code $bazel_code"
  code=1
fi
cat "$results/summary"
exit "$code"
