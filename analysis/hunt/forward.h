#pragma once

// The operator whose backward a point lies in. PyTorch gives each autograd node the sequence number that the operator
// which made it bore (torch/csrc/autograd/function.h; torch.autograd.profiler.emit_nvtx describes the pairing): several
// operators of a thread in a row may bear one number, and the last of them made the node.

#include <absl/status/status.h>

#include <memory>
#include <vector>

#include "analysis/hunt/directory.h"
#include "analysis/hunt/sync_points.h"
#include "capture/reader.h"

namespace stallhound::analysis {

// A visitor of one read of the ranges. Memory: 56 bytes a point, and 24 an operator with the number of a node.
class ForwardFinder : public capture::CaptureVisitor {
 public:
  // Both outlive this.
  ForwardFinder(const Directory& directory, std::vector<SyncPoint>& points);
  ~ForwardFinder() override;

  // False: no operators were recorded, or every point has a user frame of its own; the read may be left out.
  bool has_candidates() const { return nodes_ != nullptr; }
  absl::Status On(const capture::RangeBatch& batch) override;
  // Once, after the read: sets SyncPoint::forward of the points that lie in a range of an autograd node and have no
  // user frame of their own. Reads the ranges again if there is such a point. Errors: those of the reader.
  absl::Status Finish(capture::CaptureReader& reader);

 private:
  class NodeReader;

  std::vector<SyncPoint>& points_;
  std::unique_ptr<NodeReader> nodes_;
};

// Both reads.
absl::Status FindForwards(capture::CaptureReader& reader, const Directory& directory, std::vector<SyncPoint>& points);

}  // namespace stallhound::analysis
