#!/usr/bin/env bash
# assemble.sh FOLDER STALLHOUND PROBE RECORDER: puts built files together as one relocatable folder. FOLDER must be new.
# What it copies besides: shared libraries that a plain Linux lacks, and the licences of everything linked in.
set -euo pipefail
(($# == 4)) || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
folder=$1 stallhound=$2 probe=$3 recorder=$4
here=$(dirname "$0")

# What every glibc Linux with a C++ runtime has. The rest is carried.
readonly SYSTEM_LIBRARIES='linux-vdso|ld-linux|libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s'

# Debian packages whose code is inside the binaries.
readonly LINKED_PACKAGES=(
  libabsl-dev libfmt-dev libcli11-dev libsimdjson-dev nlohmann-json3-dev libdw-dev libbz2-dev liblzma-dev zlib1g-dev
  libzstd-dev libsqlite3-dev
)

[[ ! -e "$folder" ]] || { echo "assemble: $folder exists" >&2; exit 2; }
mkdir -p "$folder"/{bin,lib,share/licenses}
strip --strip-debug -o "$folder/bin/stallhound" "$stallhound"
strip --strip-debug -o "$folder/bin/stallhound_probe" "$probe"
strip --strip-debug -o "$folder/lib/libstallhound_record.so" "$recorder"
mkdir "$folder/share/operators"
cp -L "$here/../../python/startup/sitecustomize.py" "$folder/share/operators/sitecustomize.py"
chmod 644 "$folder/share/operators/sitecustomize.py"
chmod 755 "$folder"/bin/* "$folder/lib/libstallhound_record.so"

ldd "$stallhound" | awk '$2 == "=>" {print $1, $3}' | grep -vE "^($SYSTEM_LIBRARIES)[.-]" | while read -r name path; do
  cp -L "$path" "$folder/lib/$name"
  chmod 644 "$folder/lib/$name"
done

# complete SHELL FILE: where the shell looks below a folder of XDG_DATA_DIRS, or of fpath.
complete() {
  mkdir -p "$(dirname "$folder/share/$2")"
  "$stallhound" completion "$1" >"$folder/share/$2"
}
complete bash bash-completion/completions/stallhound
complete zsh zsh/site-functions/_stallhound
complete fish fish/vendor_completions.d/stallhound.fish

cp "$here/../../LICENSE" "$folder/share/licenses/stallhound.txt"
for package in "${LINKED_PACKAGES[@]}"; do
  copyright="/usr/share/doc/$package/copyright"
  [[ -e "$copyright" ]] || { echo "assemble: no $copyright, so its licence cannot be carried" >&2; continue; }
  cp -L "$copyright" "$folder/share/licenses/$package.txt"
done
cp "$here/README.txt" "$folder/README"
