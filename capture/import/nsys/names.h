#pragma once

// The strings of an export (table StringIds), looked up once each and interned in the capture's string table.

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "capture/api/api_class.h"
#include "capture/import/nsys/database.h"
#include "capture/reader.h"

namespace stallhound::capture::nsys {

// An API call's name, read once for all its calls.
struct ApiName {
  StringId api{};  // without version suffix
  ApiClass api_class = ApiClass::kOther;
  ApiLayer layer = ApiLayer::kRuntime;
};

// Not thread-safe; refers to both arguments. A damaged StringIds table gives missing names.
class Names {
 public:
  Names(Database& database, StringTable& strings) : database_(database), strings_(strings) {}
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  // The interned string of an id of StringIds; nullopt if the table has no such id.
  std::optional<StringId> Find(int64_t name_id);
  // The call of a nameId; a name that is missing is the API "unknown".
  ApiName Api(int64_t name_id);
  StringId Intern(std::string_view text) { return strings_.Intern(text); }
  std::string_view Text(StringId id) const { return strings_.Get(id); }
  int64_t missing_count() const { return missing_count_; }

 private:
  std::optional<std::string> Load(int64_t name_id);

  Database& database_;
  StringTable& strings_;
  std::optional<TextLookup> lookup_;
  bool is_loaded_ = false;  // StringIds has no key: all of it was read
  absl::flat_hash_map<int64_t, std::string> unkeyed_;
  absl::flat_hash_map<int64_t, std::optional<StringId>> found_;
  absl::flat_hash_map<int64_t, ApiName> apis_;
  int64_t last_api_id_ = 0;
  std::optional<ApiName> last_api_;
  int64_t missing_count_ = 0;
};

}  // namespace stallhound::capture::nsys
