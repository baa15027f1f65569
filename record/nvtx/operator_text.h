#pragma once

// The text of the NVTX range that PyTorch's NVTX observer pushes around each operator and autograd node
// (torch/csrc/profiler/util.cpp, getNvtxStr): "aten::index, seq = 42, op_id = 7". Number and id are new each time, so
// the text would be a new string for each range.

#include <cstdint>
#include <optional>
#include <string_view>

namespace stallhound::record {

struct OperatorText {
  std::string_view name;  // "aten::index"
  int64_t sequence;       // autograd's; kNonePayload: none, since nothing is differentiated
};

// Null for other texts: those without ", seq = " and ", op_id = ". Cost: 20 ns.
std::optional<OperatorText> ParseOperatorText(std::string_view text);

}  // namespace stallhound::record
