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
"$STALLHOUND" hunt --from "$folder" --format json --output "$OUT/tiny_tmpfs.json"
losses=$(python3 -c 'import json, sys; print([loss["id"] for loss in json.load(open(sys.argv[1]))["losses"]])' "$OUT/tiny_tmpfs.json")
echo "losses: $losses"
# The loss is a floating-point sum that can differ in its last digits from run to run: compare the words before it.
[[ $code == 0 && "${actual%%,*}" == "${expected%%,*}" && "$losses" != "[]" ]] || exit 1
echo "the program was not harmed; losses: $losses"
