#!/usr/bin/env bash
# score_syncs.sh FOLDER: hunts every script of a corpus folder (scripts and expected.json; format: score_syncs.py), writes
# report.json and score.json to $OUT (else the current folder), prints the score and ends with 1 if a share of it is bad.
# Needs a GPU and what the scripts import.
# STALLHOUND names the binary (else the one of dist/, else PATH); JOBS how many scripts run at once.
set -euo pipefail
(($# == 1)) && [[ -e "$1/expected.json" ]] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
corpus=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
out=$(realpath -m "${OUT:-.}")
packaged=("$here"/../dist/stallhound-*/bin/stallhound)
stallhound=${STALLHOUND:-$([[ -x "${packaged[-1]}" ]] && echo "${packaged[-1]}" || command -v stallhound)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/json"
# These change what is counted.
unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF CUDA_LAUNCH_BLOCKING

hunt_one() {
  local script=$1 name code=0 folder
  name=$(basename "$script")
  folder=$work/$name.d
  mkdir -p "$folder"
  # Scripts without a range `measured` are measured between the waits around their second loop.
  local options=(--range measured) command=(python3 "$script")
  if ! grep -q 'range_push("measured")' "$script"; then
    options=(--window-api) command=(python3 "$here/score_syncs.py" run "$script")
  fi
  export STALLHOUND_HOME=$folder/home
  timeout 150 "$stallhound" hunt "${options[@]}" --format json --output "$work/json/$name.hunt.json" -- "${command[@]}" \
    >"$folder/log" 2>&1 </dev/null || code=$?
  [[ "${options[0]}" == --range ]] || options=()
  "$stallhound" counts "${options[@]}" --format json --output "$work/json/$name.counts.json" >>"$folder/log" 2>&1 || code=$?
  # Some scripts end with an error on purpose or lack their package here.
  if ((code != 0)); then
    echo "$name: ended with $code: $(tail -n 1 "$folder/log")"
  fi
}
export -f hunt_one
export here work stallhound corpus

python3 -c 'import json, sys; print("\0".join(e["file"] for e in json.load(open(sys.argv[1]))["files"]), end="")' \
  "$corpus/expected.json" | xargs -0 -P "${JOBS:-4}" -I{} bash -c 'hunt_one "$corpus/$1"' _ {}
python3 "$here/score_syncs.py" collect "$work/json" "$corpus/expected.json" >"$out/report.json"
echo "report: $out/report.json"
OUT=$out python3 "$here/score_syncs.py" score "$out/report.json" "$corpus/expected.json"
