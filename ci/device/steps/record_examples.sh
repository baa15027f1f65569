#!/usr/bin/env bash
# Records each example as a fixture: $OUT/NAME.spool.zst, each under 1 MB, one per process with GPU work.
set -uo pipefail
EXAMPLES=$BUNDLE/examples
source "$(dirname "$0")/programs.sh"
failed=0

record() {
  local name=$1 folder spool size target
  shift
  folder=$(mktemp -d)
  CUDA_INJECTION64_PATH=$RECORDER NVTX_INJECTION64_PATH=$RECORDER STALLHOUND_SPOOL_DIR=$folder STALLHOUND_MODE=default \
    timeout 60 "$@" </dev/null || { echo "$name: ended with $?"; failed=1; }
  spool=$(find "$folder" -name '*.spool' -printf '%s %p\n' | sort -rn | head -n 1 | cut -d' ' -f2-)
  [[ -n "$spool" ]] || { echo "$name: no spool"; failed=1; return; }
  target=$OUT/$name.spool.zst
  zstd -19 -q -f "$spool" -o "$target"
  size=$(stat -c %s "$target")
  echo "$name: $size bytes, from $(stat -c %s "$spool")"
  ((size < 1000000)) || { echo "$name: over 1 MB"; failed=1; }
}

for_each_example record
exit "$failed"
