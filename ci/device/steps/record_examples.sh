#!/usr/bin/env bash
# Records each example as a fixture: $OUT/NAME.spool.zst, and some in mode light as NAME-light.spool.zst, each under 1 MB.
set -uo pipefail
EXAMPLES=$BUNDLE/examples
source "$(dirname "$0")/programs.sh"
failed=0

record() {
  record_in default "$@"
  case $1 in cuda-runtime | cuda-driver | pytorch) record_in light "$1-light" "${@:2}" ;; esac
}

# record_in MODE NAME COMMAND...: the process with the largest spool.
record_in() {
  local mode=$1 name=$2 folder spool size target
  shift 2
  folder=$(mktemp -d)
  CUDA_INJECTION64_PATH=$RECORDER NVTX_INJECTION64_PATH=$RECORDER STALLHOUND_SPOOL_DIR=$folder STALLHOUND_MODE=$mode \
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
