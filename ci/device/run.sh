#!/usr/bin/env bash
# On a GPU machine, from the bundle's folder: run.sh [STEP...], by default all. Results go to $OUT (else ./out): STEP.log,
# files of the step, one line per step in summary.txt as soon as it is known, and device.json, which says what was measured
# on. A step that hangs is stopped.
#
#   doctor examples overhead wait_latency sigkill tiny_tmpfs second_profiler deadlock fork_storm record_examples
#   record_kineto kernels bench python_package operators
#   detection       minutes; left out of the default
#   suite planted   minutes each; left out of the default
#   two_ranks       needs two GPUs; left out of the default
#   score_syncs score_twins   need CORPUS=FOLDER with scripts and expected.json; left out of the default without it
set -uo pipefail
cd "$(dirname "$0")"

export BUNDLE=$PWD OUT=${OUT:-$PWD/out}
export STALLHOUND=$BUNDLE/stallhound/bin/stallhound RECORDER=$BUNDLE/stallhound/lib/libstallhound_record.so
export STALLHOUND_HOME=${STALLHOUND_HOME:-$(mktemp -d)/captures} NO_COLOR=1
mkdir -p "$OUT"
PATH=$PATH:$BUNDLE/tools
find tests bench -name '*.zst' -exec sh -c 'zstd -dq --rm "$1" && chmod +x "${1%.zst}"' _ {} \; 2>/dev/null

# LibTorch and the CUDA libraries come from the Python environment's torch.
torch=$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))' 2>/dev/null)
if [[ -n "$torch" ]]; then
  LD_LIBRARY_PATH="$BUNDLE/lib:$torch/lib:$(ls -d "$(dirname "$torch")"/nvidia/*/lib 2>/dev/null | tr '\n' ':')${LD_LIBRARY_PATH:-}"
  export LD_LIBRARY_PATH
fi

python3 describe.py >"$OUT/device.json" || echo "run.sh: cannot say what this machine is" >&2

steps=("$@")
if ((${#steps[@]} == 0)); then
  steps=(doctor examples overhead wait_latency sigkill tiny_tmpfs second_profiler deadlock fork_storm record_examples record_kineto
    kernels bench python_package operators)
  [[ -z "${CORPUS:-}" ]] || steps+=(score_syncs score_twins)
fi

declare -A limits=([overhead]=180 [score_syncs]=420 [score_twins]=900 [detection]=420 [examples]=240 [record_examples]=300 [kernels]=300 [bench]=560 [python_package]=300 [operators]=300
  [suite]=590 [planted]=590)
failed=0
for step in "${steps[@]}"; do
  start=$SECONDS code=0
  # Python needs no fresh start of its own; a step is NAME.py or NAME.sh.
  if [[ -e "steps/$step.py" ]]; then command=(python3 "steps/$step.py"); else command=("steps/$step.sh"); fi
  timeout -k 10 "${limits[$step]:-120}" "${command[@]}" >"$OUT/$step.log" 2>&1 </dev/null || code=$?
  ((code == 0)) || failed=1
  printf '%s: %s after %d s: %s\n' "$step" "$([[ $code == 0 ]] && echo passed || echo "FAILED ($code)")" \
    $((SECONDS - start)) "$(tail -n 1 "$OUT/$step.log" | cut -c1-200)" | tee -a "$OUT/summary.txt"
done
exit "$failed"
