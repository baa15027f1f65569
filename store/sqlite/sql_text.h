#pragma once

// SQL made from the column names of store/sqlite/columns.h.

#include <cstddef>
#include <string>
#include <string_view>

namespace stallhound::store {

// "table.a, table.b" of "a, b".
std::string Qualified(std::string_view table, std::string_view names);

// "?, ?, ?".
std::string Parameters(size_t count);

// "INSERT INTO table (names) VALUES (?, ?)".
std::string InsertSql(std::string_view table, std::string_view names, size_t count);

// "SELECT table_id FROM table WHERE (names) = (?, ?)".
std::string FindIdSql(std::string_view table, std::string_view names, size_t count);

}  // namespace stallhound::store
