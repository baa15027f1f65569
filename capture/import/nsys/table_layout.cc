#include "capture/import/nsys/table_layout.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace stallhound::capture::nsys {
namespace {

// Such columns store whole numbers as integers, and give them as real numbers.
bool IsReal(const Column& column) {
  const std::string type = absl::AsciiStrToUpper(column.type);
  for (const std::string_view part : {"REAL", "FLOA", "DOUB"}) {
    if (type.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

const Column* TableSchema::Find(std::string_view column) const {
  const auto it = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == column; });
  return it != columns.end() ? &*it : nullptr;
}

bool TableSchema::IsKey(std::string_view column) const {
  const Column* const found = Find(column);
  const auto keys = std::count_if(columns.begin(), columns.end(), [](const Column& c) { return c.is_in_primary_key; });
  return found != nullptr && found->is_in_primary_key && keys == 1 && absl::EqualsIgnoreCase(found->type, "INTEGER");
}

std::string RowFilter::Sql() const {
  if (pattern != nullptr) return fmt::format("\"{}\" LIKE '{}'", column, pattern);
  return fmt::format("\"{}\" IN ({})", column, fmt::join(values, ", "));
}

std::optional<TableLayout> LayoutOf(const TableSchema& table, std::span<const char* const> columns,
                                    const RowFilter& filter) {
  if (table.has_generated_columns || filter.pattern != nullptr) return std::nullopt;
  TableLayout layout = {.root_page = table.root_page, .cell_count = columns.size(), .filter_values = filter.values};
  for (size_t cell = 0; cell < columns.size(); ++cell) {
    const std::string_view name = columns[cell];
    if (filter.column != nullptr && filter.column == name) layout.filter_cell = cell;
    const Column* const column = table.Find(name);
    if (column != nullptr) {
      if (table.IsKey(name) || IsReal(*column)) return std::nullopt;
      layout.stored.push_back({static_cast<size_t>(column - table.columns.data()), cell});
    } else if (name == kRowid) {
      layout.rowid_cell = cell;
    }
  }
  if (filter.column != nullptr && !layout.filter_cell) return std::nullopt;
  std::sort(layout.stored.begin(), layout.stored.end(), [](const auto& a, const auto& b) { return a.place < b.place; });
  const auto twice = std::adjacent_find(layout.stored.begin(), layout.stored.end(),
                                        [](const auto& a, const auto& b) { return a.place == b.place; });
  return twice == layout.stored.end() ? std::optional(layout) : std::nullopt;
}

}  // namespace stallhound::capture::nsys
