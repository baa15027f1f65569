#include "store/sqlite/sql_text.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include <vector>

namespace stallhound::store {

std::string Qualified(std::string_view table, std::string_view names) {
  const std::string next = fmt::format(", {}.", table);
  return fmt::format("{}.{}", table, absl::StrReplaceAll(std::string(names), {{", ", next}}));
}

std::string Parameters(size_t count) { return absl::StrJoin(std::vector<std::string>(count, "?"), ", "); }

std::string InsertSql(std::string_view table, std::string_view names, size_t count) {
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", table, names, Parameters(count));
}

std::string FindIdSql(std::string_view table, std::string_view names, size_t count) {
  return fmt::format("SELECT {0}_id FROM {0} WHERE ({1}) = ({2})", table, names, Parameters(count));
}

}  // namespace stallhound::store
