#pragma once

// Writes which ELF files are mapped where, so that native addresses get their symbols after the run.

#include <cstddef>
#include <cstdint>

#include "capture/spool/writer.h"

namespace stallhound::record {

class ModuleRecorder {
 public:
  // `writer` must outlive this.
  explicit ModuleRecorder(capture::spool::SpoolWriter& writer) : writer_(writer) {}

  // Writes the modules that were mapped since the last call; next to nothing if there were none. For the recorder's own
  // thread, as often as it flushes, and at the end: it takes the loader's list lock.
  void Refresh();

 private:
  static constexpr size_t kMaxModules = 8192;

  friend struct ModuleVisit;
  // Remembers the module; false if it was known.
  bool Remember(uint64_t key);

  capture::spool::SpoolWriter& writer_;
  uint64_t generation_ = 0;  // of the spool the modules were written to
  unsigned long long seen_adds_ = 0;
  size_t known_count_ = 0;
  uint64_t known_[kMaxModules] = {};  // hash set
};

}  // namespace stallhound::record
