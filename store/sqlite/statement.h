#pragma once

// A prepared statement that takes and gives C++ values in the order of its parameters and columns: integers, doubles,
// booleans, strings, the enumerations of store/run.h as their texts, and std::optional of these as NULL.

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/sqlite/sqlite.h"
#include "base/status_macros.h"
#include "store/run.h"
#include "store/sqlite/database.h"

namespace stallhound::store {

// Bound as a BLOB; read it as a string.
struct Blob {
  std::string_view bytes;
};

class Statement {
 public:
  // `database` must outlive the statement.
  static absl::StatusOr<Statement> Prepare(const Database& database, const std::string& sql);

  // Starts anew with these values. Errors: InvalidArgument for a double that is not finite.
  template <typename Tuple>
  absl::Status Bind(const Tuple& values) {
    sqlite3_reset(statement_.get());
    int parameter = 0;
    bool is_finite = true;
    std::apply([&](const auto&... value) { ((is_finite &= BindOne(++parameter, value)), ...); }, values);
    if (is_finite) return absl::OkStatus();
    return absl::InvalidArgumentError(fmt::format("{}: a number is infinite or not a number", sql()));
  }

  // True: a row is there. False: done, and the statement holds no lock.
  absl::StatusOr<bool> Step();

  // Binds, and reads the only row, if there is one; then the statement holds no lock.
  template <typename Tuple, typename... Values>
  absl::StatusOr<bool> ReadFirst(const Tuple& values, std::tuple<Values&...> row) {
    SH_RETURN_IF_ERROR(Bind(values));
    SH_ASSIGN_OR_RETURN(const bool found, Step());
    const absl::Status status = found ? Read(row) : absl::OkStatus();
    sqlite3_reset(statement_.get());
    if (!status.ok()) return status;
    return found;
  }

  // Binds, and calls read() for each row, which it may Read.
  template <typename Tuple, typename ReadRow>
  absl::Status ForEachRow(const Tuple& values, ReadRow read) {
    SH_RETURN_IF_ERROR(Bind(values));
    while (true) {
      SH_ASSIGN_OR_RETURN(const bool found, Step());
      if (!found) return absl::OkStatus();
      SH_RETURN_IF_ERROR(read());
    }
  }

  // The row's columns, from the first on. Errors: DataLoss for a text that is none of its enumeration.
  template <typename... Values>
  absl::Status Read(std::tuple<Values&...> values) {
    int column = 0;
    bool is_known = true;
    std::apply([&](auto&... value) { ((is_known &= ReadOne(column++, value)), ...); }, values);
    if (is_known) return absl::OkStatus();
    return absl::DataLossError(
        fmt::format("reading {}: a name that this version does not know ({})", database_->path(), sql()));
  }

 private:
  Statement(const Database& database, SqliteStatement statement)
      : database_(&database), statement_(std::move(statement)) {}

  std::string_view sql() const { return sqlite3_sql(statement_.get()); }

  template <typename T>
  bool BindOne(int parameter, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return BindOne(parameter, Text(value));
    } else if constexpr (std::is_same_v<T, Blob>) {
      sqlite3_bind_blob64(statement_.get(), parameter, value.bytes.data(), value.bytes.size(), SQLITE_TRANSIENT);
    } else if constexpr (std::is_floating_point_v<T>) {
      sqlite3_bind_double(statement_.get(), parameter, value);
      return std::isfinite(value);
    } else if constexpr (std::is_integral_v<T>) {
      sqlite3_bind_int64(statement_.get(), parameter, static_cast<int64_t>(value));
    } else {
      const std::string_view text = value;
      sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    return true;
  }
  template <typename T>
  bool BindOne(int parameter, const std::optional<T>& value) {
    if (value.has_value()) return BindOne(parameter, *value);
    sqlite3_bind_null(statement_.get(), parameter);
    return true;
  }

  template <typename T>
  bool ReadOne(int column, T& value) {
    if constexpr (std::is_enum_v<T>) {
      std::string text;
      ReadOne(column, text);
      return FromText(text, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      value = sqlite3_column_double(statement_.get(), column);
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(sqlite3_column_int64(statement_.get(), column));
    } else {
      // The text first: asking for it may convert the value and change its size.
      const unsigned char* text = sqlite3_column_text(statement_.get(), column);
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
      value.assign(reinterpret_cast<const char*>(text), text == nullptr ? 0 : size);
    }
    return true;
  }
  template <typename T>
  bool ReadOne(int column, std::optional<T>& value) {
    value.reset();
    if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return true;
    return ReadOne(column, value.emplace());
  }

  const Database* database_;
  SqliteStatement statement_;
};

}  // namespace stallhound::store
