#pragma once

// One way to read a recording, whoever made it. The spool (capture/spool/), the capture file (capture/file/) and every
// foreign format (capture/import/) implement CaptureReader; every analysis takes one.

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <bitset>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/schema.h"

namespace stallhound::capture {

// Interns strings: equal strings have equal ids. Not thread-safe. Views stay valid as long as the table.
class StringTable {
 public:
  StringId Intern(std::string_view text);
  std::string_view Get(StringId id) const;
  // The id of `text`, if it was interned.
  std::optional<StringId> Find(std::string_view text) const;
  size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> strings_;
  absl::flat_hash_map<std::string_view, StringId> ids_;
};

using TableSet = std::bitset<static_cast<size_t>(Table::kCount)>;
inline TableSet Tables(std::initializer_list<Table> tables) {
  TableSet set;
  for (Table table : tables) set.set(static_cast<size_t>(table));
  return set;
}
inline TableSet AllTables() { return TableSet().set(); }

// What is known of a recording before its events are read.
struct CaptureInfo {
  std::string uuid;    // of the recording; derived from the content for foreign files
  std::string format;  // "spool", "capture", "kineto", "nsys", ...
  std::string format_version;
  std::string producer;  // "stallhound 0.1.0", "nsys 2025.3.1", ...; no host or user name
  std::string mode;      // "light", "default", "full"; empty for foreign files, and where processes differ
  // Wall clock (CLOCK_REALTIME, ns) of the capture's time zero, if known.
  std::optional<int64_t> epoch_ns;
  int64_t end_ns = 0;  // last instant of any event
  // Tables that every process of this recording can hold. A table outside it is *not recorded*: its absence says
  // nothing, and rows in it are those of some processes only, to be shown but not counted.
  TableSet recorded = AllTables();
  // Sentences for the reader of a report: what this kind of recording cannot answer.
  std::vector<std::string> notes;
};

// Receives batches; override what you need. Rows of one table come in order (schema.h); dimension tables come before
// event tables. A batch is valid during the call only. An error ends the read and is returned from it.
class CaptureVisitor {
 public:
  virtual ~CaptureVisitor() = default;
#define SH_VISITOR_METHOD(Type, table, COLUMNS) \
  virtual absl::Status On(const Type##Batch&) { return absl::OkStatus(); }
  SH_CAPTURE_TABLES(SH_VISITOR_METHOD)
#undef SH_VISITOR_METHOD
};

class CaptureReader {
 public:
  virtual ~CaptureReader() = default;
  virtual const CaptureInfo& info() const = 0;
  // Complete once Read has returned; ids in batches are always resolvable.
  virtual const StringTable& strings() const = 0;
  // Streams the wanted tables; may be called again. Memory does not grow with the number of events beyond what the
  // implementation's header states. Errors: DataLoss (file damaged), Internal.
  virtual absl::Status Read(const TableSet& wanted, CaptureVisitor& visitor) = 0;
};

inline constexpr size_t kBatchRows = 8192;

}  // namespace stallhound::capture
