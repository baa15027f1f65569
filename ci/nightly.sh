#!/usr/bin/env bash
# The main job: builds, records the example programs and reports on them, measures the benchmarks of stallhound.toml and
# judges them against the baseline. With a GPU all examples and benchmarks run; without one those examples that need NVTX
# alone do, recordings made on a GPU (examples/recorded) stand for the others, and benchmarks run on the CPU.
source "$(dirname "$0")/common.sh"

ci/setup.sh
say "building"
tarball=$(ci/package.sh)
stallhound=${tarball%.tar.gz}/bin/stallhound
bazel_build build //examples/... //bench </dev/null
bin=$(bazel info bazel-bin 2>/dev/null)

STALLHOUND_HOME=$(realpath -m "${STALLHOUND_HOME:-.stallhound}")
export NO_COLOR=1 STALLHOUND_HOME
reports="$STALLHOUND_HOME/nightly/$(date -u +%Y-%m-%dT%H%M%SZ)"
EXAMPLES=$(mktemp -d)
trap 'rm -rf "$EXAMPLES"' EXIT
mkdir -p "$reports"
cp examples/examples.txt examples/python/*.py "$EXAMPLES/"
find "$bin/examples" -maxdepth 1 -type f -executable ! -name '*.params' -exec ln -s {} "$EXAMPLES/" \;
source ci/device/steps/programs.sh

hunt() { timeout 120 "$stallhound" hunt "$@" </dev/null; }

# pages NAME RECORDING: the JSON and the page of what was recorded, of its steady steps where they are marked; a failure
# shows up in the report.
pages() {
  local range=(--range measured)
  hunt "${range[@]}" --format json --output "$reports/$1.json" --from "$2" 2>/dev/null || range=()
  hunt "${range[@]}" --format json --output "$reports/$1.json" --from "$2" &&
    hunt "${range[@]}" --format html --output "$reports/$1.html" --from "$2"
}

record_example() {
  local name=$1 log="$reports/$1.log" capture
  shift
  say "$name"
  hunt --format text --output "$reports/$name.txt" -- "$@" >"$log" 2>&1 || say "$name: ended with $?: $(tail -n 1 "$log")"
  capture=$(sed -n 's/^stallhound: capture: //p' "$log")
  [[ -n "$capture" ]] && pages "$name" "$capture" >>"$log" 2>&1 || say "$name: no report, see $log"
}
for_each_example record_example

if has_gpu; then
  device="Recorded on this machine: $(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | sed 's/^ *//' | paste -sd,)."
else
  shopt -s nullglob
  for recorded in examples/recorded/*.spool.zst examples/recorded/*/; do
    name=$(basename "$recorded" .spool.zst)
    mkdir "$EXAMPLES/$name.spool"
    find "$recorded" -name '*.zst' -exec zstd -dq --output-dir-flat "$EXAMPLES/$name.spool" {} +
    say "$name-recorded"
    pages "$name-recorded" "$EXAMPLES/$name.spool" >"$reports/$name-recorded.log" 2>&1 || say "$name-recorded: no report"
  done
  device="No GPU here: NVTX was recorded live, programs named -recorded come from recordings made on a GPU."
fi

code=0
python3 ci/nightly_report.py "$reports" "$device" || code=$?
cat "$reports/index.md"
say "examples: $reports/index.html"
has_gpu || say "With a GPU the CUDA, PyTorch, JAX and CuPy examples would run too, and their sync points, stalls and idle times would be those of this machine."

# Last, because it ends with the report's path and the gate's verdict.
if [[ -z "$(tag_filters)" ]]; then
  say "measuring"
  "$stallhound" nightly </dev/null || code=$?
else
  say "no benchmarks: they need nvcc and LibTorch, which this machine lacks"
fi
exit "$code"
