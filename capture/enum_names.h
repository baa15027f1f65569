#pragma once

// The text of the schema's enumerations, for views, reports and exports. Index = value.

#include <absl/types/span.h>

#include <string_view>

#include "capture/schema.h"

namespace stallhound::capture {

// All texts of an enumeration of the schema, kebab-case, in value order.
template <typename Enum>
absl::Span<const std::string_view> EnumNames();

template <>
absl::Span<const std::string_view> EnumNames<ApiClass>();
template <>
absl::Span<const std::string_view> EnumNames<ApiLayer>();
template <>
absl::Span<const std::string_view> EnumNames<MemoryKind>();
template <>
absl::Span<const std::string_view> EnumNames<CopyDirection>();
template <>
absl::Span<const std::string_view> EnumNames<SyncType>();
template <>
absl::Span<const std::string_view> EnumNames<StreamFlag>();
template <>
absl::Span<const std::string_view> EnumNames<RangeKind>();
template <>
absl::Span<const std::string_view> EnumNames<FrameKind>();
template <>
absl::Span<const std::string_view> EnumNames<OverheadKind>();
template <>
absl::Span<const std::string_view> EnumNames<LossCounter>();

// The text of one value; "invalid" for a value outside the enumeration (a damaged file).
template <typename Enum>
std::string_view EnumName(Enum value) {
  const auto names = EnumNames<Enum>();
  const auto index = static_cast<size_t>(value);
  return index < names.size() ? names[index] : "invalid";
}

}  // namespace stallhound::capture
