#!/usr/bin/env bash
# Builds the package: dist/stallhound-VERSION-linux-ARCH/, the same as .tar.gz, and the Python wheel. Prints the tarball's
# path.
source "$(dirname "$0")/common.sh"

ci/setup.sh >&2
say "building" >&2
bazel_build build //cli:stallhound //record/probe:stallhound_probe //record:libstallhound_record.so >&2
bin=$(bazel info bazel-bin 2>/dev/null)

version=$("$bin/cli/stallhound" --version | awk '{print $NF; exit}')
name="stallhound-$version-linux-$(uname -m)"
rm -rf "dist/$name" "dist/$name.tar.gz" dist/*.whl
mkdir -p dist
ci/package/assemble.sh "dist/$name" "$bin/cli/stallhound" "$bin/record/probe/stallhound_probe" \
  "$bin/record/libstallhound_record.so" >&2
# The same input gives the same bytes.
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime='2000-01-01 UTC' -C dist -c "$name" | gzip -n9 >"dist/$name.tar.gz"
say "wheel: $(python3 ci/package/wheel.py "dist/$name" python dist)" >&2
say "$(du -sh "dist/$name" | cut -f1) in dist/$name" >&2
echo "$PWD/dist/$name.tar.gz"
