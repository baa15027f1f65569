#include "base/units.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace stallhound {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kDurationUnits = {
    Unit{"ns", 1.0},   Unit{"us", 1e3},        Unit{"ms", 1e6},           Unit{"s", 1e9},
    Unit{"min", 60e9}, Unit{"h", 60.0 * 60e9}, Unit{"d", 24 * 60 * 60e9},
};

constexpr double kKibi = 1024.0;
constexpr std::array kByteUnits = {
    Unit{"B", 1.0},
    Unit{"KiB", kKibi},
    Unit{"MiB", kKibi* kKibi},
    Unit{"GiB", kKibi* kKibi* kKibi},
    Unit{"TiB", kKibi* kKibi* kKibi* kKibi},
    Unit{"K", kKibi},
    Unit{"M", kKibi* kKibi},
    Unit{"G", kKibi* kKibi* kKibi},
    Unit{"T", kKibi* kKibi* kKibi* kKibi},
    Unit{"kB", 1e3},
    Unit{"MB", 1e6},
    Unit{"GB", 1e9},
    Unit{"TB", 1e12},
};

std::string ThreeDigits(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  if (value >= 9.995) return fmt::format("{:.1f}", value);
  return fmt::format("{:.2f}", value);
}

std::string UnitNames(std::span<const Unit> units) {
  std::string names;
  for (const Unit& unit : units) absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(unit.name));
  return names;
}

// "1.5 GiB" -> 1.5 and the unit; nullopt if it is no number followed by letters.
struct Quantity {
  double value;
  std::string_view unit;
};
std::optional<Quantity> SplitQuantity(std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, digits);
  std::string_view unit = digits == std::string_view::npos ? std::string_view() : text.substr(digits);
  while (!unit.empty() && absl::ascii_isspace(unit.front())) unit.remove_prefix(1);
  Quantity result{0.0, unit};
  if (number.empty() || !absl::SimpleAtod(absl::string_view(number.data(), number.size()), &result.value)) {
    return std::nullopt;
  }
  return result;
}

absl::Status Unreadable(std::string_view what, std::string_view text, std::string_view cause) {
  return absl::InvalidArgumentError(fmt::format("reading the {} '{}': {}", what, text, cause));
}

}  // namespace

std::string FormatDuration(int64_t duration_ns) {
  const double ns = static_cast<double>(duration_ns);
  if (duration_ns < 0) return "-" + FormatDuration(duration_ns == INT64_MIN ? INT64_MAX : -duration_ns);
  if (duration_ns < 1000) return fmt::format("{} ns", duration_ns);
  if (ns < 999.5e3) return ThreeDigits(ns / 1e3) + " us";
  if (ns < 999.5e6) return ThreeDigits(ns / 1e6) + " ms";
  if (ns < 99.95e9) return ThreeDigits(ns / 1e9) + " s";
  const int64_t seconds = std::llround(ns / 1e9);
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  const int64_t minutes = std::llround(ns / 60e9);
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string FormatRoundedDuration(double duration_ns) {
  constexpr double kLimit = 0x1p63;
  if (!(std::abs(duration_ns) < kLimit)) return "out of range";
  return FormatDuration(std::llround(duration_ns));
}

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / kKibi;
  size_t unit = 1;
  while (value >= 1023.5 && unit < 4) {
    value /= kKibi;
    ++unit;
  }
  return fmt::format("{} {}", ThreeDigits(value), kByteUnits[unit].name);
}

std::string FormatCount(int64_t count) {
  const std::string digits = fmt::format("{}", count);
  const size_t sign_length = count < 0 ? 1 : 0;
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > sign_length && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string FormatPercent(double ratio) {
  const double percent = ratio * 100.0;
  return std::abs(percent) >= 99.95 ? fmt::format("{:.0f}%", percent) : fmt::format("{:.1f}%", percent);
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

absl::StatusOr<int64_t> ParseDuration(std::string_view text) {
  const std::optional<Quantity> quantity = SplitQuantity(text);
  if (!quantity) return Unreadable("duration", text, "not a number with a unit (such as 20ms or 1.5s)");
  if (quantity->unit.empty()) {
    if (quantity->value == 0.0) return 0;
    return Unreadable("duration", text, fmt::format("the unit is missing ({})", UnitNames(kDurationUnits)));
  }
  for (const Unit& unit : kDurationUnits) {
    if (unit.name != quantity->unit) continue;
    const double ns = std::round(quantity->value * unit.factor);
    if (ns >= static_cast<double>(std::numeric_limits<int64_t>::max())) {
      return Unreadable("duration", text, "longer than 292 years");
    }
    return static_cast<int64_t>(ns);
  }
  return Unreadable("duration", text,
                    fmt::format("'{}' is no unit of time ({})", quantity->unit, UnitNames(kDurationUnits)));
}

absl::StatusOr<uint64_t> ParseBytes(std::string_view text) {
  uint64_t whole = 0;
  if (absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &whole) && absl::ascii_isdigit(text.front())) {
    return whole;
  }
  const std::optional<Quantity> quantity = SplitQuantity(text);
  if (!quantity) return Unreadable("size", text, "not a number with a unit (such as 64MiB or 4GiB)");
  const std::string_view name = quantity->unit.empty() ? "B" : quantity->unit;
  for (const Unit& unit : kByteUnits) {
    if (unit.name != name) continue;
    const double bytes = std::round(quantity->value * unit.factor);
    if (bytes >= static_cast<double>(std::numeric_limits<uint64_t>::max())) {
      return Unreadable("size", text, "more than 64 bits of bytes");
    }
    return static_cast<uint64_t>(bytes);
  }
  return Unreadable("size", text, fmt::format("'{}' is no unit of size ({})", name, UnitNames(kByteUnits)));
}

}  // namespace stallhound
