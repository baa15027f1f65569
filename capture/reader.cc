#include "capture/reader.h"

#include <cassert>

namespace stallhound::capture {

StringId StringTable::Intern(std::string_view text) {
  if (auto it = ids_.find(text); it != ids_.end()) return it->second;
  const auto id = static_cast<StringId>(strings_.size());
  ids_.emplace(strings_.emplace_back(text), id);
  return id;
}

std::string_view StringTable::Get(StringId id) const {
  assert(static_cast<size_t>(id) < strings_.size());
  return strings_[static_cast<size_t>(id)];
}

std::optional<StringId> StringTable::Find(std::string_view text) const {
  const auto it = ids_.find(text);
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

}  // namespace stallhound::capture
