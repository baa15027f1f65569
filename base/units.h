#pragma once

// Times, sizes and counts as people write and read them. Printing rounds and is for eyes; stored numbers stay exact.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stallhound {

// Three significant digits with the unit that fits: "0 ns", "431 ns", "12.3 us", "4.56 ms", "1.23 s"; from 100 s on
// "1 min 40 s", from an hour on "2 h 05 min". Negative values keep their sign.
std::string FormatDuration(int64_t duration_ns);

// The same of a computed time, rounded to whole ns. What int64 cannot hold (292 years), and NaN, is "out of range".
std::string FormatRoundedDuration(double duration_ns);

// "512 B", "4.00 KiB", "1.50 GiB": powers of 1024, three significant digits.
std::string FormatBytes(uint64_t bytes);

// Digits grouped by threes: "1,234,567".
std::string FormatCount(int64_t count);

// "3.1%" of a ratio of 0.031; one digit behind the point, none from 100% on.
std::string FormatPercent(double ratio);

// Reads a whole decimal int64; nullopt for anything else.
std::optional<int64_t> ParseInteger(std::string_view text);

// Reads "250", "20ms", "1.5 s", "2min", "1h" (units ns, us, ms, s, min, h, d) as ns. A number without a unit is an
// error unless it is 0, so that nobody has to guess. Errors: InvalidArgument for what does not parse, is negative or
// exceeds int64.
absl::StatusOr<int64_t> ParseDuration(std::string_view text);

// Reads "4096", "64KiB", "4GiB", "1.5 MiB" (B, KiB, MiB, GiB, TiB; K, M, G, T mean the same; kB, MB, GB, TB are powers
// of 1000) as bytes. A number alone is bytes. Errors: InvalidArgument as above.
absl::StatusOr<uint64_t> ParseBytes(std::string_view text);

}  // namespace stallhound
