#include "record/nvtx/operator_text.h"

#include <gtest/gtest.h>

#include "capture/spool/format.h"

namespace stallhound::record {
namespace {

using capture::spool::kNonePayload;

TEST(OperatorText, NumberAndIdAreCutOff) {
  const struct {
    std::string_view text, name;
    int64_t sequence;
  } kCases[] = {
      {"aten::index, seq = 42", "aten::index", 42},
      {"aten::index, seq = 0, op_id = 7", "aten::index", 0},
      {"aten::empty, op_id = 2", "aten::empty", kNonePayload},
      {"IndexBackward0, seq = 1, op_id = 36, sizes = [[3], []], input_op_ids = [(3,0)]", "IndexBackward0", 1},
      {"autograd::engine::evaluate_function: SumBackward0, op_id = 31",
       "autograd::engine::evaluate_function: SumBackward0", kNonePayload},
      {"torch::autograd::CppNode<Pair<int, float>>, seq = 5", "torch::autograd::CppNode<Pair<int, float>>", 5},
  };
  for (const auto& expected : kCases) {
    const auto parsed = ParseOperatorText(expected.text);
    ASSERT_TRUE(parsed.has_value()) << expected.text;
    EXPECT_EQ(parsed->name, expected.name);
    EXPECT_EQ(parsed->sequence, expected.sequence);
  }
}

TEST(OperatorText, OtherTextsAreNone) {
  for (const char* text : {"", "step", "aten::index", "epoch 1, batch 2", "a, seq = ", "a, seq = x", "a, seq = -1",
                           "a, seq = 3x", "a, op_id = 99999999999999999999"}) {
    EXPECT_FALSE(ParseOperatorText(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace stallhound::record
