#include "capture/import/nsys/names.h"

#include <utility>

namespace stallhound::capture::nsys {
namespace {

constexpr char kTable[] = "StringIds";

ApiLayer LayerOf(std::string_view api) { return api.starts_with("cuda") ? ApiLayer::kRuntime : ApiLayer::kDriver; }

}  // namespace

std::optional<std::string> Names::Load(int64_t name_id) {
  if (database_.IsKey(kTable, "id")) {
    if (!lookup_) {
      absl::StatusOr<TextLookup> lookup = database_.SelectTexts(kTable, "id", "value");
      if (!lookup.ok()) return std::nullopt;
      lookup_.emplace(*std::move(lookup));
    }
    return lookup_->Find(name_id);
  }
  if (!is_loaded_) {
    is_loaded_ = true;
    absl::StatusOr<Rows> rows = database_.Select(kTable, {"id", "value"});
    while (rows.ok() && rows->Next()) {
      if (const std::optional<std::string_view> text = rows->MaybeText(1)) unkeyed_.emplace(rows->Int(0), *text);
    }
  }
  const auto it = unkeyed_.find(name_id);
  return it != unkeyed_.end() ? std::optional(it->second) : std::nullopt;
}

std::optional<StringId> Names::Find(int64_t name_id) {
  const auto [it, is_new] = found_.try_emplace(name_id);
  if (!is_new) return it->second;
  if (const std::optional<std::string> text = Load(name_id)) {
    it->second = strings_.Intern(*text);
  } else {
    ++missing_count_;
  }
  return it->second;
}

ApiName Names::Api(int64_t name_id) {
  if (last_api_ && last_api_id_ == name_id) return *last_api_;
  const auto [it, is_new] = apis_.try_emplace(name_id);
  if (is_new) {
    const std::optional<std::string> text = Load(name_id);
    if (!text) ++missing_count_;
    const std::string name = text.value_or("unknown");
    const std::string_view api = NormalizeApiName(name);
    it->second = {strings_.Intern(api), ClassifyApi(name), LayerOf(api)};
  }
  last_api_id_ = name_id;
  last_api_ = it->second;
  return it->second;
}

}  // namespace stallhound::capture::nsys
