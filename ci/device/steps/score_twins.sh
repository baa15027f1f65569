#!/usr/bin/env bash
# What hunts call recoverable against the fixed twins of $CORPUS: $OUT/twins.json.
exec python3 "$BUNDLE/score_twins.py" "$CORPUS" 2
