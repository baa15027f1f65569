#pragma once

// For tests: raw activity records as a given version of CUPTI writes them.

#include <cstdint>
#include <cstring>
#include <string>

#include "capture/spool/activity_layout.h"

namespace stallhound::record {

// One record, all fields zero but those set. Usage: RawRecord(layout.kernel.bytes, kActivityConcurrentKernel)
//   .Set<uint64_t>(layout.kernel.start, 100). Fields that this version lacks are left out.
class RawRecord {
 public:
  RawRecord(uint16_t bytes, uint32_t kind) : bytes_(bytes, '\0') { memcpy(bytes_.data(), &kind, sizeof(kind)); }

  template <typename T>
  RawRecord& Set(uint16_t offset, T value) {
    if (offset != capture::spool::kAbsent) memcpy(bytes_.data() + offset, &value, sizeof(value));
    return *this;
  }
  uint32_t kind() const {
    uint32_t kind;
    memcpy(&kind, bytes_.data(), sizeof(kind));
    return kind;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct RawInterval {
  int64_t start_ns;
  int64_t end_ns;
};

RawRecord RawKernel(const capture::spool::ActivityLayout& layout, const char* name, uint32_t correlation,
                    uint64_t start_ns, uint64_t end_ns);
RawRecord RawCopy(const capture::spool::ActivityLayout& layout, uint32_t correlation, uint64_t start_ns,
                  uint64_t end_ns, uint64_t bytes);
RawRecord RawMemset(const capture::spool::ActivityLayout& layout, uint32_t correlation, uint64_t start_ns,
                    uint64_t end_ns);
// `kind`: runtime or driver.
RawRecord RawCall(const capture::spool::ActivityLayout& layout, uint32_t kind, uint32_t cbid, uint32_t correlation,
                  RawInterval interval);
RawRecord RawSync(const capture::spool::ActivityLayout& layout, uint32_t type, uint32_t correlation, uint64_t start_ns,
                  uint64_t end_ns);
RawRecord RawCudaEvent(const capture::spool::ActivityLayout& layout, uint32_t correlation, uint32_t event);
RawRecord RawOverhead(const capture::spool::ActivityLayout& layout, uint32_t kind, uint64_t start_ns, uint64_t end_ns);
RawRecord RawStream(const capture::spool::ActivityLayout& layout, uint32_t context, uint32_t stream);
RawRecord RawContext(const capture::spool::ActivityLayout& layout, uint32_t context, uint32_t device);

}  // namespace stallhound::record
