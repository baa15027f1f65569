#pragma once

// What the parameters of a CUDA call say about it: read in its callback, from the struct that CUPTI hands over. Offsets
// are those of CUPTI's generated_*_meta.h, the same since 12.4 for every call named here; a test checks them. std only.

#include <cstdint>
#include <string_view>

namespace stallhound::record {

struct CallParameters {
  static constexpr int8_t kNone = -1;
  std::string_view name;  // CUPTI's name without _ptsz, _ptds and the runtime's version
  int8_t stream = kNone;
  int8_t event = kNone;
  int8_t bytes = kNone;
  int8_t rows = kNone;     // the size is bytes times this
  int8_t address = kNone;  // of the memory: the pointer itself
  int8_t result = kNone;   // of the memory: where the call puts the pointer
};

// "cudaMalloc_v3020" -> "cudaMalloc", "cuMemcpyHtoD_v2_ptds" -> "cuMemcpyHtoD_v2": what CallParameters::name holds.
std::string_view ParametersName(std::string_view cupti_name) noexcept;

// Null: nothing is known of that call's parameters.
const CallParameters* FindCallParameters(std::string_view cupti_name) noexcept;

struct CallDetails {
  const void* stream = nullptr;
  bool has_stream = false;
  uint64_t event;    // kNone64: none
  uint64_t bytes;    // kNone64: unknown
  uint64_t address;  // kNone64: unknown
};

// `parameters` null: details of a call about which nothing is known. `has_succeeded`: outputs may be read.
CallDetails ReadCallDetails(const CallParameters* parameters, const void* values, bool has_succeeded) noexcept;

}  // namespace stallhound::record
