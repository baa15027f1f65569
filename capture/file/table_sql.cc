#include "capture/file/table_sql.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <type_traits>
#include <vector>

#include "capture/enum_names.h"

namespace stallhound::capture {
namespace {

struct ColumnSql {
  std::string name;
  std::string declaration;  // type and nullability
  std::string view;         // expression that shows the column as text
  bool is_optional;
};

template <typename Value>
std::string ViewExpression(const std::string& name) {
  if constexpr (std::is_same_v<Value, StringId>) {
    return fmt::format("(SELECT text FROM string WHERE string_id = t.\"{0}\") AS \"{0}\"", name);
  } else if constexpr (std::is_enum_v<Value>) {
    std::string cases;
    int value = 0;
    for (std::string_view text : EnumNames<Value>()) cases += fmt::format(" WHEN {} THEN '{}'", value++, text);
    return fmt::format("CASE t.\"{0}\"{1} END AS \"{0}\"", name, cases);
  } else {
    return fmt::format("t.\"{0}\" AS \"{0}\"", name);
  }
}

template <typename Value>
ColumnSql Column(const char* name, bool is_optional) {
  const char* type = std::is_same_v<Value, double> ? "REAL" : "INTEGER";
  return {name, fmt::format("\"{}\" {}{}", name, type, is_optional ? "" : " NOT NULL"), ViewExpression<Value>(name),
          is_optional};
}

template <typename T>
ColumnSql ColumnOf(const char* name, const T&) {
  return Column<T>(name, false);
}
template <typename T>
ColumnSql ColumnOf(const char* name, const std::optional<T>&) {
  return Column<T>(name, true);
}

template <typename Row>
std::vector<ColumnSql> Columns() {
  std::vector<ColumnSql> columns;
  const Row row;
  Row::ForEachColumn(row, [&](const char* name, const auto& value) { columns.push_back(ColumnOf(name, value)); });
  return columns;
}

std::vector<ColumnSql> ColumnsOfTable(std::string_view table) {
#define SH_COLUMNS_OF(Type, name, COLUMNS) \
  if (table == #name) return Columns<Type##Row>();
  SH_CAPTURE_TABLES(SH_COLUMNS_OF)
#undef SH_COLUMNS_OF
  return {};
}

std::string Join(const std::vector<ColumnSql>& columns, std::string ColumnSql::*part) {
  return absl::StrJoin(columns, ", ", [part](std::string* out, const ColumnSql& column) { out->append(column.*part); });
}

std::string CreateTableAndView(std::string_view table) {
  const auto columns = ColumnsOfTable(table);
  return fmt::format("CREATE TABLE \"{0}\" ({1});\nCREATE VIEW \"v_{0}\" AS SELECT {2} FROM \"{0}\" t;\n", table,
                     Join(columns, &ColumnSql::declaration), Join(columns, &ColumnSql::view));
}

}  // namespace

std::string CreateSchemaSql() {
  std::string sql =
      "CREATE TABLE capture_info (key TEXT PRIMARY KEY, value) WITHOUT ROWID;\n"
      "CREATE TABLE string (string_id INTEGER PRIMARY KEY, text TEXT NOT NULL);\n";
#define SH_CREATE(Type, table, COLUMNS) sql += CreateTableAndView(#table);
  SH_CAPTURE_TABLES(SH_CREATE)
#undef SH_CREATE
  return sql;
}

std::string InsertSql(std::string_view table) {
  const size_t count = ColumnsOfTable(table).size();
  std::string marks = "?";
  for (size_t i = 1; i < count; ++i) marks += ",?";
  return fmt::format("INSERT INTO \"{}\" VALUES ({})", table, marks);
}

std::string SelectSql(std::string_view table, const std::set<std::string>& stored) {
  std::vector<std::string> names;
  for (const ColumnSql& column : ColumnsOfTable(table)) {
    const bool is_absent = column.is_optional && !stored.contains(column.name);
    names.push_back(is_absent ? "NULL" : "\"" + column.name + "\"");
  }
  return fmt::format("SELECT {} FROM \"{}\" ORDER BY rowid", absl::StrJoin(names, ","), table);
}

}  // namespace stallhound::capture
