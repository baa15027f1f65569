#pragma once

// Writes stacks to the process's spool.

#include "capture/spool/writer.h"
#include "record/stacks/stack_sink.h"

namespace stallhound::record {

class SpoolStackSink final : public StackSink {
 public:
  // `writer` must outlive this.
  explicit SpoolStackSink(capture::spool::SpoolWriter& writer) : writer_(writer) {}

  uint32_t AddString(const char* text, uint32_t bytes) override { return writer_.InternString({text, bytes}); }
  uint32_t AddPythonCode(const PythonCode& code) override;
  uint32_t AddStack(const Stack& stack) override;
  // Opens the spool: the first stack may be the first event.
  uint64_t Generation() override { return writer_.EnsureOpen() ? writer_.generation() : 0; }
  void CountLoss(capture::LossCounter counter) override { writer_.CountLoss(counter); }

 private:
  capture::spool::SpoolWriter& writer_;
};

}  // namespace stallhound::record
