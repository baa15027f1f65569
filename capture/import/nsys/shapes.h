#pragma once

// Kernel names with their launch configurations: what most kernels of an export share with many others.

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/import/nsys/database.h"
#include "capture/import/nsys/names.h"
#include "capture/reader.h"

namespace stallhound::capture::nsys {

// Ids are given in the order of first sight. Not thread-safe.
class Shapes {
 public:
  // Name id, grid, block, registers, static and dynamic shared memory; kAbsent where the export does not say.
  using Key = std::array<int64_t, 10>;
  static constexpr int64_t kAbsent = INT64_MIN;
  // The name is the first of three columns that holds one.
  static constexpr const char* kColumns[] = {"demangledName",
                                             "shortName",
                                             "mangledName",
                                             "gridX",
                                             "gridY",
                                             "gridZ",
                                             "blockX",
                                             "blockY",
                                             "blockZ",
                                             "registersPerThread",
                                             "staticSharedMemory",
                                             "dynamicSharedMemory"};

  // From kColumns, read as the columns from `first_column` on.
  static Key KeyOf(const Rows& rows, int first_column);
  uint32_t Id(const Key& key);

  // The shapes of all usable kernels in storage order; 4 bytes a kernel.
  void AddKernel(const Key& key) { of_kernels_.push_back(Id(key)); }
  uint32_t OfKernel(int64_t index) const { return of_kernels_[static_cast<size_t>(index)]; }

  absl::Status Emit(Names& names, CaptureVisitor& visitor) const;

 private:
  absl::flat_hash_map<Key, uint32_t> ids_;
  std::vector<Key> keys_;
  std::vector<uint32_t> of_kernels_;
  Key last_key_{};
  uint32_t last_id_ = UINT32_MAX;
};

}  // namespace stallhound::capture::nsys
