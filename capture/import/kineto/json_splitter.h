#pragma once

// Cuts a stream of Chrome trace JSON into the elements of its event list and the keys around it, without parsing them:
// {"key": value, ..., "traceEvents": [{...}, {...}], "key": value} or a bare [{...}, ...], whose end may be missing.
// Memory: one buffer that grows to kWindowBytes, more only for a single event larger than that (at most
// kMaxElementBytes).

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/import/import_source.h"

namespace stallhound::capture {

// Bytes after a text that may be read (not written): simdjson's padding and masks of 64 bytes.
inline constexpr size_t kJsonPadding = 64;

// One complete event of the list.
struct JsonElement {
  uint32_t offset = 0;  // in JsonPiece::text
  uint32_t size_bytes = 0;
};

struct JsonPiece {
  enum class Kind { kEvents, kKey, kEnd };
  Kind kind = Kind::kEnd;
  // kEvents: the bytes the elements lie in, from the first one on, one writable byte before and kJsonPadding after.
  // Valid until the next call of Next.
  char* text = nullptr;
  std::vector<JsonElement>* elements = nullptr;
  // kKey: a key beside the event list and its value as written; empty if longer than kMaxValueBytes.
  std::string key;
  std::string value;
};

struct SplitterStats {
  uint64_t bytes = 0;          // read from the stream
  int64_t forgiven_count = 0;  // events whose quoting had to be guessed, lists without an end
  int64_t skipped_count = 0;   // elements that are no objects, values too long to keep
  uint64_t tail_bytes = 0;     // behind the end of the document, from the first that is no white space on
  bool is_bare_list = false;
  bool has_events_key = false;
  bool truncated = false;   // the stream ended inside the document, or an event is longer than kMaxElementBytes
  absl::Status read_error;  // why the stream ended early, if it did
};

class JsonSplitter {
 public:
  static constexpr size_t kWindowBytes = 1 << 20;
  // Of the buffer at first: most traces in tests and archives of parts are small.
  static constexpr size_t kFirstWindowBytes = 16 << 10;
  static constexpr size_t kMaxElementBytes = 64 << 20;
  static constexpr size_t kMaxValueBytes = 8 << 20;
  // An event longer than this is scanned anew for broken quoting; sooner once one was found broken.
  static constexpr size_t kSuspiciousBytes = 4 << 20;
  static constexpr size_t kSuspiciousAgainBytes = 64 << 10;

  explicit JsonSplitter(std::unique_ptr<ByteStream> stream);

  // The next piece. Errors: InvalidArgument (the document is neither an object nor a list). What ends early, by a cut,
  // by an error of the stream or before an event that is too long, is an end: stats() says so.
  absl::StatusOr<JsonPiece> Next();
  const SplitterStats& stats() const { return stats_; }

 private:
  enum class State { kStart, kKeys, kEvents, kDone };

  // Reads on; moves the bytes from `keep` on to the front. False at the end of the stream.
  bool Refill(size_t keep);
  // The next byte that is not white space, without consuming it; '\0' at the end.
  char Peek();
  char Take();
  std::string TakeString(bool* complete);
  // Consumes a value of any kind; keeps its text in `value` up to kMaxValueBytes.
  bool TakeValue(std::string* value);
  bool TakeScalar(std::string* value);

  absl::StatusOr<JsonPiece> NextKey();
  JsonPiece NextEvents();
  // Scans the buffer for whole elements.
  void Scan();
  void ScanBlock(size_t block, size_t valid);
  // Guesses the end of the element at element_start_ byte by byte; false if it is not in the buffer.
  bool ScanTolerantly();
  void EndElement(size_t end);
  void ResetScan(size_t from);
  void EndOfList(size_t position);
  JsonPiece Finish();
  void CountTail();

  std::unique_ptr<ByteStream> stream_;
  std::vector<char> buffer_;
  size_t begin_ = 1;  // first byte not consumed; one byte before it is always writable
  size_t end_ = 1;    // end of the bytes read
  bool at_end_ = false;
  State state_ = State::kStart;
  SplitterStats stats_;

  // Event list: state of the scan at scan_.
  size_t scan_ = 1;
  uint64_t in_string_ = 0;  // all ones inside a string
  uint64_t escaped_ = 0;    // 1 if the byte at scan_ follows an odd number of backslashes
  int depth_ = 0;
  size_t element_start_ = 0;  // valid if depth_ > 0
  bool tolerant_ = false;     // the quoting of the element at element_start_ is broken
  size_t suspicious_bytes_ = kSuspiciousBytes;
  bool list_ended_ = false;
  std::vector<JsonElement> elements_;
  size_t window_start_ = 0;  // of elements_
};

}  // namespace stallhound::capture
