#!/usr/bin/env bash
# A 1 MiB tmpfs as the spool's folder: the program ends as without a recorder, and the report says what was lost.
set -euo pipefail
program=(python3 "$BUNDLE/examples/train.py")
folder=$(mktemp -d)
mount -t tmpfs -o size=1m tmpfs "$folder"
trap 'umount "$folder"' EXIT

expected=$("${program[@]}")
code=0
actual=$(CUDA_INJECTION64_PATH=$RECORDER NVTX_INJECTION64_PATH=$RECORDER STALLHOUND_MODE=full STALLHOUND_SPOOL_DIR=$folder \
  "${program[@]}") || code=$?
echo "bare:     $expected"
echo "recorded: $actual (exit code $code)"
df -k "$folder" | tail -n 1
ls -la "$folder"
"$STALLHOUND" hunt --from "$folder" | tail -n 40 || echo "the report ended with $?"
# The loss is a floating-point sum that can differ in its last digits from run to run: compare the words before it.
[[ $code == 0 && "${actual%%,*}" == "${expected%%,*}" ]] || exit 1
echo "the program was not harmed"
