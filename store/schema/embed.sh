#!/usr/bin/env bash
# embed.sh FILE.sql...: prints a C++ source that holds the files, which are named NNNN_what.sql, in the given order.
set -euo pipefail

cat <<'HEAD'
#include "store/schema/migrations.h"

namespace stallhound::store {
namespace {

constexpr Migration kMigrations[] = {
HEAD
for file in "$@"; do
  name=$(basename "$file")
  sum=$(sha256sum "$file")
  printf '    {%d, "%s", "%s", R"stallhound-sql(' "$((10#${name%%_*}))" "$name" "${sum%% *}"
  cat "$file"
  printf ')stallhound-sql"},\n'
done
cat <<'TAIL'
};

}  // namespace

std::span<const Migration> Migrations() { return kMigrations; }

}  // namespace stallhound::store
TAIL
