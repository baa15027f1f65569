#pragma once

// CUPTI's overhead records of what the driver did, by what it was.

#include <vector>

#include "capture/reader.h"

namespace stallhound::analysis {

struct Overheads : public capture::CaptureVisitor {
  absl::Status On(const capture::OverheadBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      switch (batch.kind[i]) {
        case capture::OverheadKind::kCommandBufferFull:
          queue_full.push_back(batch.Get(i));
          break;
        case capture::OverheadKind::kModuleLoading:
        case capture::OverheadKind::kLazyFunctionLoading:
          loading.push_back(batch.Get(i));
          break;
        default:
          break;
      }
    }
    return absl::OkStatus();
  }

  std::vector<capture::OverheadRow> queue_full;  // times in which a launch waited for room
  std::vector<capture::OverheadRow> loading;     // of code
};

}  // namespace stallhound::analysis
