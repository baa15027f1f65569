#!/usr/bin/env bash
# What hunts call recoverable against the fixed twins of $CORPUS: $OUT/twins.json, and the recordings, $OUT/twins.tar.zst.
set -uo pipefail
spools=$(mktemp -d)/twins
JOBS=${JOBS:-$(nvidia-smi -L | wc -l)} python3 "$BUNDLE/score_twins.py" record "$CORPUS" "$spools"
tar -C "$spools" -I 'zstd -12 -T0' -cf "$OUT/twins.tar.zst" .
exec python3 "$BUNDLE/score_twins.py" score "$CORPUS" "$spools"
