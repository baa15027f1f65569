#!/usr/bin/env bash
# The suite of stallhound.toml on this GPU, RUNS times (2) with ROUNDS rounds each (8): the first becomes the baseline,
# unless there is one, and the others, the same program, must pass. $OUT/suite.tar.zst: the history and the captures.
set -uo pipefail
cd "$BUNDLE"

failed=0
for ((run = 0; run < ${RUNS:-2}; ++run)); do
  start=$SECONDS
  "$STALLHOUND" bench --binary bench/bench --rounds "${ROUNDS:-8}" | tail -n 3 || failed=1
  echo "measured in $((SECONDS - start)) s"
  if "$STALLHOUND" baseline show >/dev/null 2>&1; then
    "$STALLHOUND" gate || { failed=1; echo "the same program did not pass"; }
  else
    "$STALLHOUND" baseline set "$("$STALLHOUND" query --format csv 'SELECT uuid FROM history.run' | tail -n 1)" || failed=1
  fi
done

tar -C "$STALLHOUND_HOME" -I 'zstd -12' -cf "$OUT/suite.tar.zst" --exclude=builds .
exit "$failed"
