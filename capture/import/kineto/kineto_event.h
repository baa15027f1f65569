#pragma once

// One event of a Kineto trace with the arguments that the importer reads. Texts are as written in the file (escapes
// not resolved) and live as long as the text they were parsed from.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stallhound::capture {

// Arguments of events, named as Kineto writes them.
enum class KinetoArg : uint8_t {
  kCorrelation,
  kStream,
  kDevice,
  kContext,
  kBytes,
  kMemoryBytes,  // "Bytes": of an allocator event
  kRegisters,
  kSharedMemory,
  kGraphId,
  kGraphNodeId,
  kEventId,
  kWaitEventId,
  kWaitRecordCorrelation,
  kWaitStream,
  kToDevice,
  kFromDevice,
  kCount,
};

class KinetoEvent {
 public:
  void Clear();
  // Takes a member of the event, or of its "args", as `key` (the text after its opening quote; at least 64 bytes are
  // readable) and `token` (the value as written). False if the member settles that the event is not read at all.
  bool SetMember(const char* key, std::string_view token);
  void SetArg(const char* key, std::string_view token);

  char phase = '\0';
  std::string_view category;
  std::string_view name;
  std::string_view pid;  // tokens: numbers or strings
  std::string_view tid;
  std::optional<int64_t> start_ns;  // as written, microseconds made nanoseconds; not yet on the capture's axis
  std::optional<int64_t> duration_ns;
  bool has_start = false;  // the member is there, readable or not
  bool has_duration = false;
  std::string_view sync_kind;
  std::string_view call_stack;
  std::string_view meta_name;  // args.name of metadata events
  bool has_grid = false;
  bool has_block = false;
  std::optional<int64_t> counter_value;  // of hardware counters, whose argument has the empty string for a name
  std::array<int64_t, 3> grid{};
  std::array<int64_t, 3> block{};
  // The first value that is no JSON and was taken for unknown: N/A, inf, NaN.
  std::string_view bare_token;
  int bare_count = 0;
  int bad_value_count = 0;

  bool Has(KinetoArg arg) const { return present_ >> static_cast<int>(arg) & 1; }
  uint64_t Get(KinetoArg arg) const { return args_[static_cast<size_t>(arg)]; }
  std::optional<uint64_t> Find(KinetoArg arg) const { return Has(arg) ? std::optional(Get(arg)) : std::nullopt; }
  // An id of 32 bits; nullopt if absent, negative or too large.
  std::optional<uint32_t> FindId(KinetoArg arg) const;

 private:
  void SetNumber(KinetoArg arg, std::string_view token);
  void SetDimensions(std::string_view token, std::array<int64_t, 3>* dimensions, bool* present);
  // False for tokens such as N/A, which it counts.
  bool CheckScalar(std::string_view token);

  uint32_t present_ = 0;
  std::array<uint64_t, static_cast<size_t>(KinetoArg::kCount)> args_;
};

// "12.345" (microseconds) -> 12345 ns, exactly: decimals are read as integers, further digits are rounded. Quotes
// around the number are allowed. nullopt: no number, or beyond 64 bits.
std::optional<int64_t> ParseMicroseconds(std::string_view token);

// A non-negative integer, possibly written as a float or in quotes; negative values wrap as in 64 bits (-1 is the
// exporter's "none"). "stream 7" is 7.
std::optional<uint64_t> ParseWrappingInteger(std::string_view token);

// The token without quotes, if it has them.
std::string_view StripQuotes(std::string_view token);

}  // namespace stallhound::capture
