#include "analysis/hunt/operator_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stallhound::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OperatorOfText, NumbersIdsAndSizesAreCutOff) {
  for (const std::string_view text :
       {"aten::index, seq = 42", "aten::index, seq = 42, op_id = 7", "aten::index, op_id = 7, sizes = [[2, 3], []]",
        "aten::index, sizes = [[], [2]]", "aten::index"}) {
    EXPECT_EQ(OperatorOfText(text), "aten::index") << text;
  }
  EXPECT_EQ(OperatorOfText("IndexBackward0, seq = 42, op_id = 9"), "IndexBackward0");
  EXPECT_EQ(OperatorOfText("torch::CppNode<a, b>, seq = 1"), "torch::CppNode<a, b>");
  EXPECT_EQ(OperatorOfText("autograd::engine::evaluate_function: IndexBackward0"),
            "autograd::engine::evaluate_function: IndexBackward0");
}

TEST(OperatorOfText, OtherTextsAreNone) {
  for (const std::string_view text : {"", ",", "step", "load, seq = ", "load, seq = next", "load, seq = 12th",
                                      "load, sizes = big", "at, op_id = -1", "aten::", "my aten::index", "aten"}) {
    EXPECT_FALSE(OperatorOfText(text).has_value()) << text;
  }
}

TEST(OperatorOfText, AVeryLongTextIsReadOnce) {
  const std::string commas(1 << 20, ',');
  EXPECT_FALSE(OperatorOfText(commas).has_value());
  EXPECT_EQ(OperatorOfText(commas + ", seq = 1"), commas);
}

TEST(OperatorOfSymbol, EntriesOfOperators) {
  EXPECT_EQ(OperatorOfSymbol("at::_ops::nonzero::call(at::Tensor const&)"), "aten::nonzero");
  EXPECT_EQ(OperatorOfSymbol("at::_ops::nonzero::redispatch(c10::DispatchKeySet, at::Tensor const&)"), "aten::nonzero");
  EXPECT_EQ(OperatorOfSymbol("at::_ops::_local_scalar_dense::call"), "aten::_local_scalar_dense");
  EXPECT_EQ(OperatorOfSymbol("at::_ops::copy_::call(at::Tensor&, at::Tensor const&, bool)"), "aten::copy_");
}

TEST(OperatorOfSymbol, OverloadsAreTakenOff) {
  for (const auto& [word, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"index_Tensor", "index"},
           {"add__Scalar", "add_"},
           {"div_Tensor_mode", "div"},
           {"nonzero_out", "nonzero"},
           {"add_Scalar_out", "add"},
           {"to_dtype_layout", "to"},
           {"to_device", "to"},
           {"repeat_interleave_self_Tensor", "repeat_interleave"},
           {"repeat_interleave_self_int", "repeat_interleave"},
           {"scatter_value_reduce", "scatter"},
           {"unique_dim", "unique_dim"},
           {"_index_put_impl_", "_index_put_impl_"},
           {"max_dim", "max_dim"},
           {"_out", "_out"}}) {
    EXPECT_EQ(OperatorOfSymbol("at::_ops::" + std::string(word) + "::call(at::Tensor const&)"),
              "aten::" + std::string(name));
  }
}

TEST(OperatorOfSymbol, OtherSymbolsAreNone) {
  for (const std::string_view symbol :
       {"", "at::_ops::", "at::_ops::::call", "at::_ops::nonzero", "at::_ops::nonzero::callback", "nonzero",
        "at::native::nonzero_cuda(at::Tensor const&)", "my::at::_ops::nonzero::call",
        "void wrap<&at::_ops::nonzero::call>()", "at::_ops::item::call<int>"}) {
    EXPECT_FALSE(OperatorOfSymbol(symbol).has_value()) << symbol;
  }
}

TEST(OperatorsOfStack, InnermostFirstAndADispatchOnce) {
  const auto native = [](const char* function) { return Frame{.function = function}; };
  const std::vector<Frame> stack = {
      native("at::native::nonzero_cuda"),
      native("at::_ops::nonzero::redispatch(c10::DispatchKeySet, at::Tensor const&)"),
      Frame{},
      native("at::_ops::nonzero::call(at::Tensor const&)"),
      Frame{.kind = capture::FrameKind::kPython, .function = "at::_ops::item::call"},
      native("at::_ops::index_Tensor::call"),
      native("at::_ops::nonzero::call(at::Tensor const&)"),
  };
  EXPECT_THAT(OperatorsOfStack(stack), ElementsAre("aten::nonzero", "aten::index", "aten::nonzero"));
  EXPECT_THAT(OperatorsOfStack({}), IsEmpty());
}

}  // namespace
}  // namespace stallhound::analysis
