#pragma once

// Data types, and what is to be known of each in one table. Free of LibTorch and CUDA; their names of a type are in
// kernels/case_runner.h and kernels/device_vector.cuh.

#include <cstdint>
#include <string_view>

namespace stallhound::kernels {

// Storage type and mode of the matrix units together: kTf32 is fp32 storage with tf32 products, kFp32 is IEEE.
enum class DType { kFp32, kTf32, kBf16 };

// Roundings are relative, at most.
struct DTypeFacts {
  std::string_view name;  // part of the benchmark id, so stable for ever
  int64_t element_bytes = 0;
  double storage_rounding = 0;
  double accumulation_rounding = 0;  // of products and of their sums
};

constexpr DTypeFacts FactsOf(DType dtype) {
  switch (dtype) {
    case DType::kFp32:
      return {"fp32", 4, 0x1p-24, 0x1p-24};
    case DType::kTf32:
      return {"tf32", 4, 0x1p-24, 0x1p-11};
    case DType::kBf16:
      return {"bf16", 2, 0x1p-8, 0x1p-24};
  }
  return {};
}

constexpr std::string_view Name(DType dtype) { return FactsOf(dtype).name; }

}  // namespace stallhound::kernels
