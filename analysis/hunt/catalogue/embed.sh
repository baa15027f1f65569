#!/usr/bin/env bash
# embed.sh FILE.txt...: prints a C++ source that holds the entries, named by their files, in the given order.
set -euo pipefail

cat <<'HEAD'
#include "analysis/hunt/catalogue/catalogue.h"

namespace stallhound::analysis {
namespace {

constexpr EntryText kTexts[] = {
HEAD
for file in "$@"; do
  printf '    {"%s", R"stallhound-entry(' "$(basename "$file" .txt)"
  cat "$file"
  printf ')stallhound-entry"},\n'
done
cat <<'TAIL'
};

}  // namespace

absl::Span<const EntryText> BuiltInTexts() { return kTexts; }

}  // namespace stallhound::analysis
TAIL
