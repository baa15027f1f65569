#!/usr/bin/env bash
# Times every pair on this GPU: $OUT/bench.json and its samples. BENCH_FILTER narrows it down, BENCH_FLAGS are more flags.
set -uo pipefail
[[ -x "$BUNDLE/bench/bench" ]] || { echo "no bench in the bundle: it was made without nvcc or LibTorch"; exit 1; }
read -ra flags <<<"${BENCH_FLAGS:-}"
exec "$BUNDLE/bench/bench" --benchmark_filter="${BENCH_FILTER:-.}" --benchmark_out="$OUT/bench.json" --stallhound_device=cuda "${flags[@]}"
