#include "capture/import/kineto/kineto_event.h"

#include <string.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace stallhound::capture {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// True if the key is `name`; keys are followed by their closing quote.
template <size_t size>
bool Is(const char* key, const char (&name)[size]) {
  return memcmp(key, name, size - 1) == 0 && key[size - 1] == '"';
}

// Numbers with an exponent, which only re-written traces hold.
std::optional<double> ParseDouble(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::string_view StripQuotes(std::string_view token) {
  if (token.size() < 2 || token.front() != '"') return token;
  token.remove_prefix(1);
  if (token.back() == '"') token.remove_suffix(1);
  return token;
}

std::optional<int64_t> ParseMicroseconds(std::string_view token) {
  token = StripQuotes(token);
  const char* p = token.data();
  const char* const end = p + token.size();
  const bool negative = p != end && *p == '-';
  if (negative) ++p;
  if (p == end || !IsDigit(*p)) return std::nullopt;
  // 9e15 us are 285 years: what is larger does not fit in 64 bits of nanoseconds.
  constexpr int64_t kMaxUs = 9'000'000'000'000'000;
  int64_t us = 0;
  for (; p != end && IsDigit(*p); ++p) {
    us = us * 10 + (*p - '0');
    if (us > kMaxUs) return std::nullopt;
  }
  int64_t ns = us * 1000;
  if (p != end && *p == '.') {
    ++p;
    int64_t scale = 100;
    for (; p != end && IsDigit(*p) && scale > 0; ++p, scale /= 10) ns += (*p - '0') * scale;
    if (p != end && IsDigit(*p) && *p >= '5') ++ns;
    while (p != end && IsDigit(*p)) ++p;
  }
  if (p != end) {
    const std::optional<double> value = ParseDouble(token);
    if (!value || std::abs(*value) > static_cast<double>(kMaxUs)) return std::nullopt;
    return std::llround(*value * 1000);
  }
  return negative ? -ns : ns;
}

std::optional<uint64_t> ParseWrappingInteger(std::string_view token) {
  const std::string_view text = StripQuotes(token);
  const char* p = text.data();
  const char* const end = p + text.size();
  if (text.size() != token.size()) {
    while (p != end && !IsDigit(*p) && *p != '-') ++p;
  }
  const bool negative = p != end && *p == '-';
  if (negative) ++p;
  uint64_t value = 0;
  const auto [rest, error] = std::from_chars(p, end, value);
  if (error != std::errc()) return std::nullopt;
  if (rest != end && (*rest == '.' || *rest == 'e' || *rest == 'E')) {
    const std::optional<double> real = ParseDouble(std::string_view(p, static_cast<size_t>(end - p)));
    if (!real || *real < 0 || *real >= 18446744073709551616.0 || *real != std::floor(*real)) return std::nullopt;
    value = static_cast<uint64_t>(*real);
  } else if (rest != end) {
    return std::nullopt;
  }
  return negative ? uint64_t{0} - value : value;
}

void KinetoEvent::Clear() {
  phase = '\0';
  category = name = pid = tid = sync_kind = call_stack = meta_name = bare_token = std::string_view();
  start_ns.reset();
  duration_ns.reset();
  counter_value.reset();
  has_start = has_duration = has_grid = has_block = false;
  bare_count = 0;
  bad_value_count = 0;
  present_ = 0;
}

bool KinetoEvent::SetMember(const char* key, std::string_view token) {
  switch (key[0]) {
    case 'p':
      if (Is(key, "ph")) {
        phase = token.size() == 3 ? token[1] : '?';
        // Flows and asynchronous events hold nothing that is imported.
        return phase == 'X' || phase == 'M' || phase == 'i' || phase == 'I' || phase == 'C';
      }
      if (Is(key, "pid")) pid = token;
      return true;
    case 'c':
      if (Is(key, "cat")) category = StripQuotes(token);
      return true;
    case 'n':
      if (Is(key, "name")) name = StripQuotes(token);
      return true;
    case 't':
      if (Is(key, "tid")) tid = token;
      if (Is(key, "ts")) {
        has_start = true;
        start_ns = ParseMicroseconds(token);
        if (!start_ns && CheckScalar(token)) ++bad_value_count;
      }
      return true;
    case 'd':
      if (Is(key, "dur")) {
        has_duration = true;
        duration_ns = ParseMicroseconds(token);
        if (!duration_ns && CheckScalar(token)) ++bad_value_count;
      }
      return true;
    default:
      return true;
  }
}

void KinetoEvent::SetArg(const char* key, std::string_view token) {
  switch (key[0]) {
    case '"':
      if (const std::optional<double> value = ParseDouble(token); value && std::abs(*value) < 9e18) {
        counter_value = std::llround(*value);
      }
      return;
    case 'c':
      if (Is(key, "correlation")) return SetNumber(KinetoArg::kCorrelation, token);
      if (Is(key, "context")) return SetNumber(KinetoArg::kContext, token);
      if (Is(key, "cuda_sync_kind")) sync_kind = StripQuotes(token);
      return;
    case 's':
      if (Is(key, "stream")) return SetNumber(KinetoArg::kStream, token);
      if (Is(key, "shared memory")) return SetNumber(KinetoArg::kSharedMemory, token);
      return;
    case 'd':
    case 'f':
    case 't':
      if (Is(key, "device")) return SetNumber(KinetoArg::kDevice, token);
      if (Is(key, "fromDevice")) return SetNumber(KinetoArg::kFromDevice, token);
      if (Is(key, "toDevice")) return SetNumber(KinetoArg::kToDevice, token);
      return;
    case 'b':
      if (Is(key, "bytes")) return SetNumber(KinetoArg::kBytes, token);
      if (Is(key, "block")) return SetDimensions(token, &block, &has_block);
      if (Is(key, "blocks per SM")) CheckScalar(token);
      return;
    case 'g':
      if (Is(key, "grid")) return SetDimensions(token, &grid, &has_grid);
      if (Is(key, "graph id")) return SetNumber(KinetoArg::kGraphId, token);
      if (Is(key, "graph node id")) return SetNumber(KinetoArg::kGraphNodeId, token);
      return;
    case 'B':
    case 'r':
      if (Is(key, "Bytes")) return SetNumber(KinetoArg::kMemoryBytes, token);
      if (Is(key, "registers per thread")) return SetNumber(KinetoArg::kRegisters, token);
      return;
    case 'e':
      if (Is(key, "event_id")) return SetNumber(KinetoArg::kEventId, token);
      if (Is(key, "est. achieved occupancy %")) CheckScalar(token);
      return;
    case 'w':
      if (Is(key, "wait_on_cuda_event_id")) return SetNumber(KinetoArg::kWaitEventId, token);
      if (Is(key, "wait_on_cuda_event_record_corr_id")) return SetNumber(KinetoArg::kWaitRecordCorrelation, token);
      if (Is(key, "wait_on_stream")) return SetNumber(KinetoArg::kWaitStream, token);
      if (Is(key, "warps per SM")) CheckScalar(token);
      return;
    case 'C':
    case 'm':
    case 'n':
      if (Is(key, "Call stack")) call_stack = StripQuotes(token);
      if (Is(key, "memory bandwidth (GB/s)")) CheckScalar(token);
      if (Is(key, "name")) meta_name = StripQuotes(token);
      return;
    default:
      return;
  }
}

std::optional<uint32_t> KinetoEvent::FindId(KinetoArg arg) const {
  if (!Has(arg) || Get(arg) > std::numeric_limits<uint32_t>::max() - 1) return std::nullopt;
  return static_cast<uint32_t>(Get(arg));
}

bool KinetoEvent::CheckScalar(std::string_view token) {
  if (token.empty()) return false;
  const char first = token[0] == '-' && token.size() > 1 ? token[1] : token[0];
  if (IsDigit(first) || first == '"' || first == '[' || first == '{') return true;
  if (token == "null" || token == "true" || token == "false") return true;
  if (bare_count++ == 0) bare_token = token;
  return false;
}

void KinetoEvent::SetNumber(KinetoArg arg, std::string_view token) {
  const std::optional<uint64_t> value = ParseWrappingInteger(token);
  if (value) {
    present_ |= 1u << static_cast<int>(arg);
    args_[static_cast<size_t>(arg)] = *value;
  } else if (CheckScalar(token) && token != "null" && token != "\"\"") {
    ++bad_value_count;
  }
}

void KinetoEvent::SetDimensions(std::string_view token, std::array<int64_t, 3>* dimensions, bool* present) {
  size_t which = 0;
  const char* p = token.data();
  const char* const end = p + token.size();
  while (p != end && which < 3) {
    if (!IsDigit(*p)) {
      ++p;
      continue;
    }
    int64_t value = 0;
    const auto [rest, error] = std::from_chars(p, end, value);
    if (error != std::errc()) break;
    (*dimensions)[which++] = value;
    p = rest;
  }
  *present = which == 3;
  if (which != 3) ++bad_value_count;
}

}  // namespace stallhound::capture
