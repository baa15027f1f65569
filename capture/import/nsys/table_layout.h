#pragma once

// Where a table keeps its values in the file, and which of them are wanted.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stallhound::capture::nsys {

inline constexpr char kRowid[] = "rowid";

struct Column {
  std::string name;
  std::string type;  // as declared
  bool is_in_primary_key = false;
};

struct TableSchema {
  uint32_t root_page = 0;
  std::vector<Column> columns;
  bool has_generated_columns = false;  // they are not in `columns`

  const Column* Find(std::string_view column) const;
  // True if `column` is another name of the rowid.
  bool IsKey(std::string_view column) const;
};

// Only rows whose `column` holds one of `values`, or a text like `pattern` (SQL's LIKE; no quotes in it) if that is
// set. All rows if `column` is null.
struct RowFilter {
  const char* column = nullptr;
  std::span<const int64_t> values;
  const char* pattern = nullptr;

  std::string Sql() const;  // a condition
};

struct TableLayout {
  struct Stored {
    size_t place = 0;  // in a record
    size_t cell = 0;   // of the row made of it
  };

  uint32_t root_page = 0;
  size_t cell_count = 0;
  std::vector<Stored> stored;  // by place
  std::optional<size_t> rowid_cell;
  std::optional<size_t> filter_cell;
  std::span<const int64_t> filter_values;
};

// Of `columns` those that the table has not are stored nowhere. nullopt: values are not stored as they are to be read,
// a column is asked for twice, or the filter needs SQL.
std::optional<TableLayout> LayoutOf(const TableSchema& table, std::span<const char* const> columns,
                                    const RowFilter& filter);

}  // namespace stallhound::capture::nsys
