#!/usr/bin/env bash
# Hunts the corpus in $CORPUS and scores it.
exec "$BUNDLE/score_syncs.sh" "$CORPUS"
