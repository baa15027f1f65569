#pragma once

// The SQL files of this folder, built into the program.

#include <span>
#include <string_view>

namespace stallhound::store {

// One step of the schema. Views live as long as the program.
struct Migration {
  int version = 0;          // 1, 2, ... without a gap
  std::string_view name;    // "0001_history.sql"
  std::string_view sha256;  // of the file, hexadecimal
  std::string_view sql;
};

// All, in order; never empty.
std::span<const Migration> Migrations();

}  // namespace stallhound::store
