#!/usr/bin/env bash
# Hunts each example program: text and HTML reports to $OUT/examples.
set -uo pipefail
EXAMPLES=$BUNDLE/examples
source "$(dirname "$0")/programs.sh"
mkdir -p "$OUT/examples"
failed=0 count=0

hunt() {
  local name=$1 code=0
  shift
  timeout 60 "$STALLHOUND" hunt --html "$OUT/examples/$name.html" -- "$@" >"$OUT/examples/$name.txt" 2>&1 </dev/null || code=$?
  echo "$name: exit code $code"
  ((code == 0)) && count=$((count + 1)) || failed=1
}

for_each_example hunt
cat "$OUT"/examples/*.txt
echo "$count examples recorded"
exit "$failed"
