#!/usr/bin/env bash
# Writes .bundle/: what a GPU machine needs to run the recorder and its scripts, under 64 MiB. Copy it there and start
# its run.sh (ci/device/run.sh says what it does).
source "$(dirname "$0")/common.sh"

LIMIT_MIB=64

ci/setup.sh
tarball=$(ci/package.sh)
has_nvcc || say "no nvcc here: the bundle has no CUDA runtime example"
# A bundle is for a machine whose LibTorch is elsewhere: run.sh finds it.
mapfile -t examples < <(bazel query 'kind(cc_binary, //examples:*)' 2>/dev/null)
bazel_build build -k //examples/... || die "build the examples" "Bazel failed" "bazel build //examples/..."
benches=(//bench:bench //bench/testing:bench_extra_item //bench/testing:bench_slow_10 //bench/testing:bench_slow_2)
mapfile -t tests < <(bazel query 'kind(cc_test, //kernels/...)' 2>/dev/null)
if has_nvcc && has_torch; then
  bazel_build build "${tests[@]}" "${benches[@]}" || die "build kernels and bench" "Bazel failed" "bazel build //kernels/... //bench/..."
fi
bin=$(bazel info bazel-bin 2>/dev/null)

rm -rf .bundle
mkdir -p .bundle/examples .bundle/lib
tar -C .bundle -xf "$tarball"
mv .bundle/stallhound-* .bundle/stallhound
for example in "${examples[@]#//examples:}"; do
  [[ ! -x "$bin/examples/$example" ]] || strip --strip-debug -o ".bundle/examples/$example" "$bin/examples/$example"
done
# pack FOLDER TARGET...: their programs, with their lines, as a recording needs them; run.sh unpacks them.
pack() {
  local folder=$1 path
  mkdir -p "$folder"
  for path in "${@:2}"; do
    path=${path#//}
    path=$bin/${path/://}
    [[ ! -x "$path" ]] || cp -L "$path" "$folder/"
  done
}
pack .bundle/tests "${tests[@]}"
pack .bundle/bench "${benches[@]}"
[[ ! -x "$bin/bench/bench" ]] || ldd "$bin/bench/bench" | awk '/libbenchmark/ {print $3}' | xargs -I{} cp -L {} .bundle/lib/
find .bundle/tests .bundle/bench -type f -exec zstd -q --rm {} +
cp stallhound.toml .bundle/
cp examples/examples.txt examples/python/*.py .bundle/examples/
cp dist/*.whl .bundle/
cp -r ci/device/run.sh ci/device/describe.py ci/device/turns.py ci/device/steps ci/score_syncs.sh ci/score_syncs.py ci/score_twins.py .bundle/
mkdir .bundle/tools && cp -L "$(command -v zstd)" .bundle/tools/ # Ubuntu has the libraries, not always the program
git describe --always --dirty --exclude '*' >.bundle/commit || rm .bundle/commit # no repository: the commit is unknown
chmod -R u+w .bundle

mib=$(du -sm .bundle | cut -f1)
((mib < LIMIT_MIB)) || die "write .bundle" "it has $mib MiB, more than $LIMIT_MIB" "du -a .bundle | sort -n | tail"
say "$mib MiB in .bundle; on the GPU machine: .bundle/run.sh"
