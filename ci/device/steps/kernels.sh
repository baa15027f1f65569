#!/usr/bin/env bash
# The tests of kernels/ on this machine's GPU: every layer against fp64.
set -uo pipefail
export REQUIRE_GPU=1

failed=0
tests=("$BUNDLE"/tests/*_test)
[[ -e "${tests[0]}" ]] || { echo "no tests in the bundle: it was made without nvcc or LibTorch"; exit 1; }
for test in "${tests[@]}"; do
  "$test" --gtest_brief=1 || { failed=1; echo "failed: $(basename "$test")"; }
done
((failed == 0)) && echo "all of ${#tests[@]} test programs passed"
exit "$failed"
