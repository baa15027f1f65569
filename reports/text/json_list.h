#pragma once

#include <string_view>

#include "base/json_writer.h"

namespace stallhound::reports {

// Writes "key": [item, ...]; an item is written by write(item).
template <typename Items, typename Write>
void List(JsonWriter& json, std::string_view key, const Items& items, Write&& write) {
  json.Key(key);
  json.BeginArray();
  for (const auto& item : items) write(item);
  json.EndArray();
}

}  // namespace stallhound::reports
