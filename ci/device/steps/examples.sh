#!/usr/bin/env bash
# Hunts each example program: text and HTML reports to $OUT/examples.
set -uo pipefail
EXAMPLES=$BUNDLE/examples
source "$(dirname "$0")/programs.sh"
mkdir -p "$OUT/examples"
failed=0 count=0

hunt() {
  local name=$1 code=0 out="$OUT/examples/$1" range=() capture
  shift
  # Where a framework has NVTX, its steady steps lie in this range.
  grep -q measured "${@: -1}" && range=(--range measured)
  timeout 60 "$STALLHOUND" hunt "${range[@]}" --output "$out.txt" -- "$@" >"$out.log" 2>&1 </dev/null || code=$?
  capture=$(sed -n 's/^stallhound: capture: //p' "$out.log")
  "$STALLHOUND" hunt "${range[@]}" --format html --output "$out.html" --from "$capture" >>"$out.log" 2>&1 || code=70
  echo "$name: exit code $code"
  ((code == 0)) && count=$((count + 1)) || failed=1
}

for_each_example hunt
cat "$OUT"/examples/*.log "$OUT"/examples/*.txt
echo "$count examples recorded"
exit "$failed"
