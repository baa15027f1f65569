#!/usr/bin/env bash
# Installs what building and testing needs, on Debian 12 (and Ubuntu 22.04 or newer), as root or with sudo. Safe to run
# again: what is there is left alone, and nothing is asked of the network when all of it is.
source "$(dirname "$0")/common.sh"

PACKAGES=(
  # Build: Bazel 4.2.3 with its rules, compilers, checks.
  bazel-bootstrap bazel-platforms bazel-rules-java bazel-rules-proto bazel-skylib
  g++ binutils git ca-certificates zstd xz-utils
  clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev libstdc++-12-dev
  python3 python3-pip
  # Libraries of the product.
  libabsl-dev libfmt-dev libcli11-dev libsimdjson-dev libboost-math-dev nlohmann-json3-dev libtomlplusplus-dev
  libpqxx-dev libdw-dev libelf-dev libbz2-dev liblzma-dev zlib1g-dev libzstd-dev libsqlite3-dev libjs-chart.js
  # Libraries of its tests and benchmarks.
  libgtest-dev libgmock-dev libbenchmark-dev
)

# Headers alone, for machines without the toolkit: record/ and its tests build everywhere.
HEADER_WHEELS=(
  'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-cuda-cupti==13.0.*' 'nvidia-nvtx==13.0.*'
  'nvidia-cuda-profiler-api==13.0.*'
)
HEADERS=(cuda.h cuda_runtime_api.h cupti.h nvtx3/nvToolsExt.h)
readonly HEADER_FOLDER="${STALLHOUND_CUDA_HEADERS:-$STALLHOUND_CACHE/cuda-headers/include}"

# LibTorch, and the libraries it loads beyond a toolkit with cuDNN and NCCL.
TORCH_WHEELS=(torch==2.11.0 nvidia-cusparselt-cu13==0.8.0 nvidia-nvshmem-cu13==3.4.5 nvidia-cufile==1.15.1.6)

as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

missing_packages() {
  local installed
  # dpkg-query fails when it knows none of a name.
  installed=$(dpkg-query -W -f='${db:Status-Abbrev}${Package}\n' "${PACKAGES[@]}" 2>/dev/null || true)
  installed=$(sed -n 's/^ii *//p' <<<"$installed")
  comm -23 <(printf '%s\n' "${PACKAGES[@]}" | sort -u) <(sort -u <<<"$installed")
}

install_packages() {
  local missing log
  command -v dpkg-query >/dev/null ||
    die "install Debian packages" "this system has no dpkg" "use Debian 12 or Ubuntu 22.04, or install by hand: ${PACKAGES[*]}"
  mapfile -t missing < <(missing_packages)
  if ((${#missing[@]} == 0)); then
    say "packages: all ${#PACKAGES[@]} are there"
    return
  fi
  [[ $(id -u) == 0 ]] || command -v sudo >/dev/null ||
    die "install Debian packages" "not root and no sudo" "as root: apt-get install ${missing[*]}"
  say "packages: installing ${missing[*]}"
  log=$(mktemp)
  # A foreign source that does not answer must not stop the set-up; a package that is missing will.
  as_root apt-get update >"$log" 2>&1 || say "apt-get update complained: $(grep -m1 '^[EW]:' "$log" || tail -n 1 "$log")"
  if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" \
    >"$log" 2>&1 </dev/null; then
    die "apt-get install ${missing[*]}" "$(grep '^E:' "$log" | head -n 3 | tr '\n' ' ')" \
      "the whole output is in $log; Debian 12's main section has all of these"
  fi
  rm -f "$log"
}

# The first python3 that has pip: a machine may have its own python3 in front of Debian's.
python_with_pip() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -m pip --version >/dev/null 2>&1; then
      echo "$python"
      return
    fi
  done
  die "find pip" "neither python3 nor /usr/bin/python3 has it" "apt-get install python3-pip"
}

# pip_into FOLDER WHEEL...: unpacks wheels into FOLDER, which appears only when whole.
pip_into() {
  local folder=$1 python log
  shift
  python=$(python_with_pip)
  log=$(mktemp)
  rm -rf "$folder.part"
  mkdir -p "$(dirname "$folder")"
  if ! "$python" -m pip install --no-deps --no-compile --no-cache-dir --only-binary=:all: --target "$folder.part" "$@" \
    >"$log" 2>&1 </dev/null; then
    rm -rf "$folder.part"
    die "pip install $*" "$(grep -m1 -i error "$log" || tail -n 1 "$log")" \
      "the whole output is in $log; a package index must be reachable (pip config list)"
  fi
  rm -rf "$folder" "$log"
  mv "$folder.part" "$folder"
}

has_headers() {
  local header
  for header in "${HEADERS[@]}"; do
    [[ -e "$1/$header" ]] || return 1
  done
}

install_cuda_headers() {
  if has_nvcc && has_headers "$CUDA_ROOT/include"; then
    say "CUDA: toolkit at $CUDA_ROOT"
    return
  elif has_headers "$HEADER_FOLDER"; then
    say "CUDA: no toolkit; headers at $HEADER_FOLDER"
    return
  fi
  say "CUDA: no toolkit at $CUDA_ROOT; unpacking its headers to $HEADER_FOLDER"
  local wheels="$STALLHOUND_CACHE/cuda-header-wheels"
  pip_into "$wheels" "${HEADER_WHEELS[@]}"
  mkdir -p "$HEADER_FOLDER"
  cp -r "$wheels"/nvidia/*/include/. "$HEADER_FOLDER/"
  rm -rf "$wheels"
  has_headers "$HEADER_FOLDER" ||
    die "unpack CUDA headers" "one of ${HEADERS[*]} is not in ${HEADER_WHEELS[*]}" "install the CUDA toolkit 12.4 or newer, or set STALLHOUND_CUDA_HEADERS"
}

install_torch() {
  if has_torch; then
    say "LibTorch: at $TORCH_ROOT"
    return
  elif [[ -n "${STALLHOUND_TORCH:-}" ]]; then
    die "find LibTorch" "STALLHOUND_TORCH=$STALLHOUND_TORCH has no include folder" "unset it, or point it at a torch package's folder"
  fi
  say "LibTorch: unpacking 2.11 (about 0.8 GB to fetch, 1.4 GB unpacked) to $(dirname "$TORCH_ROOT")"
  pip_into "$(dirname "$TORCH_ROOT")" "${TORCH_WHEELS[@]}"
  has_torch || die "unpack LibTorch" "no $TORCH_ROOT/include in ${TORCH_WHEELS[0]}" "remove $(dirname "$TORCH_ROOT") and try again"
}

start=$SECONDS
mkdir -p "$STALLHOUND_CACHE"
# Two set-ups at once would fight over apt and the folders.
exec 9>"$STALLHOUND_CACHE/setup.lock"
command -v flock >/dev/null && flock 9
install_packages
install_cuda_headers
install_torch
say "ready after $((SECONDS - start)) s"
