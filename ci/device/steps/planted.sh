#!/usr/bin/env bash
# Regressions planted in one case of the suite (bench/testing): does the gate find each, and nothing else? After `suite`,
# whose history and baseline it uses. Leaves $OUT/planted-*.json and $OUT/planted.tar.zst, the history and the captures.
set -uo pipefail
cd "$BUNDLE"

changed=layer_norm/optimized/fp32/1200000x512/forward
failed=0

# judged NAME CODE: the report in JSON is of a run that regressed in the changed case alone.
judged() {
  echo "$1: exit code $2"
  python3 - "$OUT/planted-$1.json" "$changed" <<'PYTHON' || failed=1
import json, sys
verdicts = json.load(open(sys.argv[1], encoding="utf-8"))["verdicts"]
regressed = {(v["benchmark"], v["metric"]) for v in verdicts if v["answer"] == "regressed"}
print("  regressed:", *sorted(regressed))
sys.exit(not regressed or any(benchmark != sys.argv[2] for benchmark, _ in regressed))
PYTHON
  [[ "$2" == 1 ]] || failed=1
}

"$STALLHOUND" bench --binary bench/bench_extra_item || failed=1
"$STALLHOUND" gate
"$STALLHOUND" gate --format json --output "$OUT/planted-extra-item.json"
judged extra-item $?
for slow in 10 2; do
  "$STALLHOUND" ab bench/bench "bench/bench_slow_$slow" --format json --output "$OUT/planted-slow-$slow.json"
  judged "slow-$slow" $?
done
tar -C "$STALLHOUND_HOME" -I 'zstd -12' -cf "$OUT/planted.tar.zst" --exclude=builds .
exit "$failed"
