#!/usr/bin/env bash
# fuzz.sh [SECONDS [TARGET...]]: runs each *_fuzz target for so long (60 s) with libFuzzer, ASan and UBSan. Corpora grow in
# the user's cache folder; a crashing input is kept there and named.
source "$(dirname "$0")/common.sh"

ci/setup.sh
seconds=${1:-60}
shift || true
targets=("$@")
((${#targets[@]})) || mapfile -t targets < <(bazel query 'filter("_fuzz$", kind(cc_binary, //...))' 2>/dev/null)
((${#targets[@]})) || die "fuzz" "no target's name ends in _fuzz" "bazel query 'kind(cc_binary, //...)'"
bazel_build build --config=fuzz "${targets[@]}"

failed=0
for target in "${targets[@]}"; do
  name=${target#//}
  name=${name//[:\/]/_}
  corpus="$STALLHOUND_CACHE/fuzz/$name" found="$STALLHOUND_CACHE/fuzz-found/$name"
  mkdir -p "$corpus" "$found"
  say "$target for $seconds s"
  path=${target#//}
  # Small files written for the project, where a target has some.
  seeds="${path%%:*}/testdata/${path##*:}"
  [[ -d $seeds ]] || seeds=
  "$(bazel info --config=fuzz bazel-bin 2>/dev/null)/${path/://}" -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$found/" "$corpus" ${seeds:+"$seeds"} 2>&1 </dev/null | tail -n 25 || failed=1
done
((failed == 0)) || die "fuzz" "a target failed" "the inputs are in $STALLHOUND_CACHE/fuzz-found; start the binary with one as its argument"
