#!/usr/bin/env bash
# The package works from another folder, with an empty environment and nothing of the build in reach.
set -euo pipefail

fail() { echo "FAIL: $*" >&2; exit 1; }

work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/package.XXXXXX")
trap 'rm -rf "$work"' EXIT
ci/package/assemble.sh "$work/built" cli/stallhound record/probe/stallhound_probe record/libstallhound_record.so
mkdir "$work/elsewhere"
mv "$work/built" "$work/elsewhere/stallhound with a space"
package="$work/elsewhere/stallhound with a space"
cp examples/operators "$work/program"
cd "$work"

# run EXPECTED_CODES COMMAND...: output to $work/output
run() {
  local expected=$1 code=0
  shift
  env -i HOME="$work" "$@" >"$work/output" 2>&1 || code=$?
  [[ " $expected " == *" $code "* ]] || fail "$* ended with $code, not $expected: $(cat "$work/output")"
}

contains() { grep -qF -- "$1" "$work/output" || fail "no '$1' in: $(cat "$work/output")"; }

while read -r library; do
  [[ "$library" != *"not found"* ]] || fail "bin/stallhound lacks $library"
done < <(env -i ldd "$package/bin/stallhound")
[[ -s "$package/share/licenses/stallhound.txt" && -s "$package/README" ]] || fail "licence or README is missing"

run 0 "$package/bin/stallhound" --version
run 0 "$package/bin/stallhound" --help
contains hunt
# 4: no GPU here. Either way it says what it found of the recorder.
run "0 4" "$package/bin/stallhound" doctor
contains recorder
run 0 "$package/bin/stallhound" hunt -- "$work/program"
contains "operators: 5 steps"
run 0 "$package/bin/stallhound" captures
contains program
run 0 bash --norc -c 'source "$1"; complete -p stallhound' bash "$package/share/bash-completion/completions/stallhound"
contains "complete -F _stallhound stallhound"
for script in zsh/site-functions/_stallhound fish/vendor_completions.d/stallhound.fish; do
  grep -q "^# Completion of stallhound" "$package/share/$script" || fail "share/$script holds no completion"
done
echo "the package works from another folder"
