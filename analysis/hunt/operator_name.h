#pragma once

// Names of ATen operators in what a recording holds of them: texts of NVTX ranges, and native symbols.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/hunt/report.h"

namespace stallhound::analysis {

// The operator of a range's text, as a part of it: "aten::index" of "aten::index, seq = 42, op_id = 7, sizes = [[2]]"
// (torch.autograd.profiler.emit_nvtx: torch/csrc/profiler/util.cpp, getNvtxStr), and of a bare "aten::index" or
// "autograd::engine::evaluate_function: IndexBackward0", as a program may mark them itself. Null: another text.
std::optional<std::string_view> OperatorOfText(std::string_view text);

// "aten::index" of "at::_ops::index_Tensor::call(at::Tensor const&, ...)" and its redispatch. The symbol has name and
// overload in one word; overloads in capitals ("Tensor", "dim_IntList"), "out" and the frequent ones that no operator's
// name ends in are taken off. Of the 3,194 in LibTorch 2.11 2,867 names are right, 317 keep an overload
// ("aten::max_dim"), and 10 lose their last letters (numpy_T, matrix_H, the deprecated casts).
std::optional<std::string> OperatorOfSymbol(std::string_view symbol);

// Of all native frames, innermost first; an operator that calls itself again, as each does to dispatch, once.
std::vector<std::string> OperatorsOfStack(const std::vector<Frame>& stack);

}  // namespace stallhound::analysis
