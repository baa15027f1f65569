#include "capture/import/nsys/row_block.h"

#include <algorithm>

namespace stallhound::capture::nsys {

void RowBlock::Clear() {
  row_count = 0;
  texts.clear();
  code = SQLITE_ROW;
}

void RowBlock::AddRow(std::span<sqlite3_value* const> values) {
  const size_t first_cell = row_count * values.size();
  if (cells.size() < first_cell + values.size()) {
    cells.resize(std::max(2 * first_cell, values.size()));
    kinds.resize(cells.size());
  }
  int64_t* cell = cells.data() + first_cell;
  CellKind* kind = kinds.data() + first_cell;
  for (sqlite3_value* value : values) {
    const int type = sqlite3_value_type(value);
    *kind = CellKind::kNull;
    if (type == SQLITE_INTEGER) {
      *kind = CellKind::kInteger;
      *cell = sqlite3_value_int64(value);
    } else if (type == SQLITE_TEXT) {
      if (const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value))) {
        const auto bytes = static_cast<size_t>(sqlite3_value_bytes(value));
        *kind = CellKind::kText;
        *cell = static_cast<int64_t>(texts.size() << 32 | bytes);
        texts.append(text, bytes);
      }
    }
    ++cell;
    ++kind;
  }
  ++row_count;
}

void RowBlock::Fill(sqlite3_stmt* statement, size_t max_rows) {
  Clear();
  std::vector<sqlite3_value*> values(static_cast<size_t>(sqlite3_column_count(statement)));
  while (row_count < max_rows && texts.size() <= kMaxTextBytes) {
    code = sqlite3_step(statement);
    if (code != SQLITE_ROW) break;
    for (size_t i = 0; i < values.size(); ++i) values[i] = sqlite3_column_value(statement, static_cast<int>(i));
    AddRow(values);
  }
  if (code != SQLITE_ROW && code != SQLITE_DONE) error = sqlite3_errmsg(sqlite3_db_handle(statement));
}

}  // namespace stallhound::capture::nsys
