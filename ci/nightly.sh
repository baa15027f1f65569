#!/usr/bin/env bash
# The main job: builds, records the example programs and reports on them. With a GPU all examples run; without one those
# that need NVTX alone do, and recordings made on a GPU (examples/recorded) stand for the others.
source "$(dirname "$0")/common.sh"

ci/setup.sh
say "building"
tarball=$(ci/package.sh)
package=${tarball%.tar.gz}
bazel_build build //examples/... </dev/null
bin=$(bazel info bazel-bin 2>/dev/null)

reports="$PWD/.stallhound/nightly/$(date -u +%Y-%m-%dT%H%M%SZ)"
EXAMPLES=$(mktemp -d)
trap 'rm -rf "$EXAMPLES"' EXIT
mkdir -p "$reports"
cp examples/examples.txt examples/python/*.py "$EXAMPLES/"
find "$bin/examples" -maxdepth 1 -type f -executable ! -name '*.params' -exec ln -s {} "$EXAMPLES/" \;
export NO_COLOR=1 STALLHOUND_HOME="$PWD/.stallhound"
source ci/device/steps/programs.sh

# report NAME HUNT_ARGUMENTS...: one hunt, its JSON and its page; a failure shows up in the report.
report() {
  local name=$1
  shift
  say "$name"
  timeout 120 "$package/bin/stallhound" hunt --json "$reports/$name.json" --html "$reports/$name.html" "$@" \
    >"$reports/$name.log" 2>&1 </dev/null || say "$name: ended with $?: $(tail -n 1 "$reports/$name.log")"
}

record_example() {
  local name=$1
  shift
  report "$name" -- "$@"
}
for_each_example record_example

if has_gpu; then
  device="Recorded on this machine: $(nvidia-smi --query-gpu=name --format=csv,noheader | sort | uniq -c | sed 's/^ *//' | paste -sd,)."
else
  shopt -s nullglob
  for recorded in examples/recorded/*.spool.zst; do
    name=$(basename "$recorded" .spool.zst)
    zstd -dqf "$recorded" -o "$EXAMPLES/$name.spool"
    report "$name-recorded" --from "$EXAMPLES/$name.spool"
  done
  device="No GPU here: NVTX was recorded live, programs named -recorded come from recordings made on a GPU."
fi

code=0
python3 ci/nightly_report.py "$reports" "$device" || code=$?
cat "$reports/index.md"
say "report: $reports/index.html"
has_gpu || say "With a GPU the CUDA, PyTorch, JAX and CuPy examples would run too, and their sync points, stalls and idle times would be those of this machine."
exit "$code"
