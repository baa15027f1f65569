#pragma once

// SQL made from the column lists of capture/schema.h.

#include <set>
#include <string>
#include <string_view>

#include "capture/schema.h"

namespace stallhound::capture {

// Grows with every change of the schema that an older reader would misread.
inline constexpr int kCaptureSchemaVersion = 2;  // 2: copies may have no end_ns
// PRAGMA application_id of a capture file: "SHcp".
inline constexpr int kCaptureApplicationId = 0x53486370;

// CREATE TABLE and CREATE VIEW statements of the whole file. Tables hold integers for strings and enumerations; the
// view v_<table> shows them as text.
std::string CreateSchemaSql();
// INSERT of one row, parameters in column order.
std::string InsertSql(std::string_view table);
// SELECT of all columns in column order and the order the rows were written in. Optional columns that are not among
// `stored`, because the file is older than they are, are NULL.
std::string SelectSql(std::string_view table, const std::set<std::string>& stored);

}  // namespace stallhound::capture
