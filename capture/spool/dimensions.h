#pragma once

// The dimension tables of a capture of spools, and its ranges, windows and losses: what is small enough to hold.

#include <memory>
#include <vector>

#include "capture/reader.h"
#include "capture/sort/row_sorter.h"
#include "capture/spool/process_spool.h"
#include "capture/spool/row_builder.h"
#include "capture/spool/stack_rows.h"

namespace stallhound::capture::spool {

class Dimensions {
 public:
  explicit Dimensions(StringTable& strings) : strings_(strings), stacks_(strings) {}

  // Adds a process and returns its ids. `zero_ns`: its raw clock at the capture's time zero.
  ProcessIds Add(const ProcessSpool& spool, int64_t zero_ns);
  // A process whose spool could not be opened: what it holds is lost.
  void AddMissing();
  // The first error of an Add.
  const absl::Status& status() const { return status_; }
  absl::Status Emit(const TableSet& wanted, CaptureVisitor& visitor);

 private:
  void AddProcess(const ProcessSpool& spool, const ProcessIds& ids);
  void AddThreads(const ProcessSpool& spool, ProcessIds& ids);
  void AddShapes(const ProcessSpool& spool, ProcessIds& ids);
  void AddEnvironment(const ProcessSpool& spool, const ProcessIds& ids);
  void AddDevices(const Dictionary& dictionary, uint32_t process_id);
  void AddStreams(const ProcessSpool& spool, const ProcessIds& ids);
  void AddLosses(const ProcessSpool& spool, const ProcessIds& ids);
  void AddWindows(const ProcessSpool& spool, const ProcessIds& ids);
  absl::Status AddRanges(const ProcessSpool& spool, const ProcessIds& ids);

  StringTable& strings_;
  StackRows stacks_;
  ProcessBatch processes_;
  ThreadBatch threads_;
  EnvironmentBatch environment_;
  DeviceBatch devices_;
  StreamBatch streams_;
  KernelShapeBatch shapes_;
  GraphBatch graphs_;
  LossBatch losses_;
  WindowBatch windows_;
  RowSorter<RangeBatch> ranges_;
  absl::Status status_;
};

}  // namespace stallhound::capture::spool
