#pragma once

// Rows of the capture schema from the event records of one process.

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>

#include "capture/reader.h"
#include "capture/spool/process_spool.h"
#include "capture/spool/time_difference.h"

namespace stallhound::capture::spool {

// Ids of one process in the whole capture.
struct ProcessIds {
  uint32_t process_id = 0;
  int64_t zero_ns = 0;                              // CLOCK_MONOTONIC_RAW at the capture's time zero
  absl::flat_hash_map<uint32_t, uint32_t> threads;  // from the spool's ids to the capture's
  absl::flat_hash_map<uint32_t, uint32_t> shapes;
  absl::flat_hash_map<uint32_t, uint32_t> stacks;
  uint32_t unknown_thread = 0;  // for records of threads that the spool does not name
  uint32_t unknown_shape = 0;   // for kernels of shapes that the spool does not hold
};

class RowBuilder {
 public:
  // References outlive this.
  RowBuilder(const ProcessSpool& spool, const ProcessIds& ids, StringTable& strings)
      : spool_(spool), ids_(ids), strings_(strings) {}

  // The row of a record of the type that its table has; false if the record is damaged.
  bool Build(const RecordHeader* record, HostCallRow& row);
  bool Build(const RecordHeader* record, KernelRow& row);
  bool Build(const RecordHeader* record, CopyRow& row);
  bool Build(const RecordHeader* record, MemsetRow& row);
  bool Build(const RecordHeader* record, SyncRow& row);
  bool Build(const RecordHeader* record, CudaEventRow& row);
  bool Build(const RecordHeader* record, OverheadRow& row);

  uint32_t ThreadOf(uint32_t thread_index) const;
  int64_t Time(int64_t raw_ns) const { return TimeDifference(raw_ns, ids_.zero_ns); }

 private:
  struct Api {
    StringId name{};
    ApiClass api_class = ApiClass::kOther;
  };
  const Api& ApiOf(const HostCallRecord& call);
  template <typename Record, typename Row>
  void BuildWork(const Record& record, Row& row) const;

  const ProcessSpool& spool_;
  const ProcessIds& ids_;
  StringTable& strings_;
  absl::flat_hash_map<uint64_t, Api> apis_;
};

}  // namespace stallhound::capture::spool
