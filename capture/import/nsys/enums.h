#pragma once

// What the numbers of an export mean. Nsight numbers memory kinds, copies, streams and overheads in its own way and not
// always the same way; each file says how in its ENUM_ tables.

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "capture/import/nsys/database.h"
#include "capture/types.h"

namespace stallhound::capture::nsys {

// Direction of a copy; unified-memory migrations are copies that no call asked for.
struct CopyOperation {
  CopyDirection direction = CopyDirection::kUnknown;
  bool is_migration = false;
};

class Enums {
 public:
  static absl::StatusOr<Enums> Read(Database& database);

  // nullopt: the file does not say (no ENUM table, or a number that is not in it).
  std::optional<MemoryKind> Memory(std::optional<int64_t> code) const;
  // Files without the ENUM table use the numbering that no version has changed.
  CopyOperation Copy(int64_t code) const;
  StreamFlag Stream(int64_t code) const;
  bool has_memory_kinds() const { return !memory_.empty(); }

 private:
  absl::flat_hash_map<int64_t, MemoryKind> memory_;
  absl::flat_hash_map<int64_t, CopyOperation> copy_;
  absl::flat_hash_map<int64_t, StreamFlag> stream_;
};

// By the text of the record: the numbers are neither CUPTI's nor stable.
OverheadKind OverheadByName(std::string_view name);

}  // namespace stallhound::capture::nsys
