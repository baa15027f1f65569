#include "cli/suggest.h"

#include <gtest/gtest.h>

namespace stallhound::cli {
namespace {

const std::vector<std::string> kCommands = {"hunt", "doctor", "counts", "captures", "prune", "query"};

TEST(ClosestWordTest, FindsWhatWasMeant) {
  EXPECT_EQ(ClosestWord("hnt", kCommands), "hunt");
  EXPECT_EQ(ClosestWord("hutn", kCommands), "hunt");
  EXPECT_EQ(ClosestWord("captuers", kCommands), "captures");
  EXPECT_EQ(ClosestWord("doc", kCommands), "doctor");
  EXPECT_EQ(ClosestWord("--mod", {"--mode", "--help"}), "--mode");
}

TEST(ClosestWordTest, SuggestsNothingFarAway) {
  EXPECT_EQ(ClosestWord("benchmark", kCommands), std::nullopt);
  EXPECT_EQ(ClosestWord("", kCommands), std::nullopt);
  EXPECT_EQ(ClosestWord("x", {}), std::nullopt);
}

}  // namespace
}  // namespace stallhound::cli
