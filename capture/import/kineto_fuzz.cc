// Any bytes as the text of a Kineto trace: must end in an error or in rows in order of time.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "capture/import/kineto/string_stream.h"
#include "capture/import/kineto/trace_reader.h"

namespace stallhound::capture {
namespace {

class OrderChecker : public CaptureVisitor {
 public:
  absl::Status On(const KernelBatch& batch) override { return Check(batch.start_ns, &kernel_ns_); }
  absl::Status On(const RangeBatch& batch) override { return Check(batch.start_ns, &range_ns_); }
  absl::Status On(const HostCallBatch& batch) override { return Check(batch.start_ns, &call_ns_); }

 private:
  static absl::Status Check(const std::vector<int64_t>& times_ns, int64_t* last_ns) {
    for (const int64_t time_ns : times_ns) {
      if (time_ns < *last_ns) abort();
      *last_ns = time_ns;
    }
    return absl::OkStatus();
  }
  int64_t kernel_ns_ = INT64_MIN, range_ns_ = INT64_MIN, call_ns_ = INT64_MIN;
};

}  // namespace
}  // namespace stallhound::capture

// The last byte chooses how the text arrives.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stallhound::capture;
  const uint8_t choice = size == 0 ? 0 : data[size - 1];
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t piece_bytes = choice % 2 == 0 ? SIZE_MAX : 1 + choice;
  auto capture = OpenTrace(std::make_unique<StringStream>(text, piece_bytes), {"fuzz", text, choice % 4 < 2});
  if (!capture.ok()) return 0;
  OrderChecker checker;
  if (!(*capture)->Read(AllTables(), checker).ok()) abort();
  const auto counts = CountCapture(**capture, (*capture)->count_rules());
  if (!counts.ok()) abort();
  stallhound::capture::ImportCounts facts = *counts;
  (*capture)->AddFacts(facts);
  (void)ToJson(facts);
  return 0;
}
