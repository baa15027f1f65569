#pragma once

// What is known of a recording before its events are read: from the spools of all of its processes together.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/reader.h"
#include "capture/spool/format.h"
#include "capture/spool/process_spool.h"

namespace stallhound::capture::spool {

// Of a recording, from those of its files in any order.
class RecordingUuid {
 public:
  void Add(const FileHeader& header);
  std::string Text() const;

 private:
  uint8_t bytes_[16] = {};
};

// `spools`: at least one, by start. `recorded` holds what every process recorded, `end_ns` is left at 0.
CaptureInfo InfoOf(const std::vector<std::unique_ptr<ProcessSpool>>& spools);

}  // namespace stallhound::capture::spool
