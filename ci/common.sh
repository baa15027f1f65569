# Shared by the scripts of this folder: `source "$(dirname "$0")/common.sh"`. Leaves the shell in the repository's root.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -z "${HOME:-}" ]]; then
  HOME=$(getent passwd "$(id -u)" | cut -d: -f6)
  export HOME
fi
readonly STALLHOUND_CACHE="$HOME/.cache/stallhound"
readonly CUDA_ROOT="${CUDA_PATH:-/usr/local/cuda}"
readonly TORCH_ROOT="${STALLHOUND_TORCH:-$STALLHOUND_CACHE/torch/torch}"

say() { printf '[%s] %s\n' "$(basename "$0" .sh)" "$*"; }

# die WHAT WHY HINT
die() {
  printf '[%s] error: %s: %s\n  hint: %s\n' "$(basename "$0" .sh)" "$1" "$2" "$3" >&2
  exit 4
}

has_nvcc() { [[ -x "$CUDA_ROOT/bin/nvcc" ]]; }
has_torch() { [[ -d "$TORCH_ROOT/include" ]]; }
has_gpu() { [[ -e /dev/nvidiactl ]] && nvidia-smi -L >/dev/null 2>&1; }

# Targets this machine cannot build or run, as Bazel tag filters. The set-up installs LibTorch without the CUDA
# libraries that it loads at run time; those come with the toolkit.
tag_filters() {
  local tags=()
  has_nvcc || tags+=(-cuda -torch)
  has_torch || tags+=(-torch)
  (IFS=,; echo "${tags[*]:-}")
}

# Bazel's own options stay in .bazelrc; these depend on whether someone watches.
bazel_build() {
  local verb=$1 filters
  shift
  filters=$(tag_filters)
  bazel "$verb" --color=no --noshow_progress --build_tag_filters="$filters" --test_tag_filters="$filters" "$@"
}
