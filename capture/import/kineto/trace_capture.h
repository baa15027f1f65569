#pragma once

// A joined Kineto trace as a recording.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "capture/import/importer.h"
#include "capture/import/kineto/trace_join.h"

namespace stallhound::capture {

// `head` and `byte_count` are of the trace's text: its id follows from them.
class TraceCapture : public ImportedCapture {
 public:
  TraceCapture(std::unique_ptr<JoinedTrace> trace, std::string_view head, uint64_t byte_count, bool is_bare_list);

  const CaptureInfo& info() const override { return info_; }
  const StringTable& strings() const override { return trace_->strings; }
  absl::Status Read(const TableSet& wanted, CaptureVisitor& visitor) override;
  void AddFacts(ImportCounts& counts) const override;

 private:
  void FillInfo(std::string_view head, uint64_t byte_count);
  void AddNotes();
  void FillTables();
  absl::Status ReadDimensions(const TableSet& wanted, CaptureVisitor& visitor);

  std::unique_ptr<JoinedTrace> trace_;
  CaptureInfo info_;
  std::vector<EnvironmentRow> environment_;
  std::vector<DeviceRow> devices_;
  std::vector<LossRow> losses_;
  bool is_bare_list_;
};

}  // namespace stallhound::capture
