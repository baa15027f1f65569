#include "cli/budget_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stallhound::cli {
namespace {

using analysis::BudgetQuantity;
using ::testing::HasSubstr;

constexpr char kWhole[] = R"(
[[range]]
name = "step"
max-waits = 0
max-bytes = "64KiB"
max-recoverable-ratio = 0.02

[[range]]
max-bytes = 4096
max-recoverable-ratio = 1

[[allow]]
site = "train.py:27"
reason = "the loss is printed"
expires = 2027-01-31
[[allow]]
operator = "aten::item"
reason = "b"
expires = 2027-02-01
[[allow]]
function = "f"
reason = "c"
expires = 2027-02-02
)";

TEST(BudgetFileTest, ReadsLimitsAndAllowances) {
  const absl::StatusOr<analysis::Budget> budget = ParseBudget(kWhole, "b.toml");
  ASSERT_TRUE(budget.ok()) << budget.status();
  ASSERT_EQ(budget->limits.size(), 5u);
  EXPECT_EQ(budget->limits[0].quantity, BudgetQuantity::kWaits);
  EXPECT_EQ(budget->limits[0].limit, 0);
  EXPECT_EQ(budget->limits[0].range, "step");
  EXPECT_EQ(budget->limits[1].limit, 65'536);
  EXPECT_EQ(budget->limits[2].quantity, BudgetQuantity::kRecoverableRatio);
  EXPECT_EQ(budget->limits[2].limit, 0.02);
  EXPECT_EQ(budget->limits[3].limit, 4096);
  EXPECT_EQ(budget->limits[3].range, std::nullopt);
  EXPECT_EQ(budget->limits[4].limit, 1);
  ASSERT_EQ(budget->allowances.size(), 3u);
  EXPECT_EQ(budget->allowances[0].by, analysis::AllowanceBy::kSite);
  EXPECT_EQ(budget->allowances[0].what, "train.py:27");
  EXPECT_EQ(budget->allowances[0].reason, "the loss is printed");
  EXPECT_EQ(budget->allowances[0].expires, absl::CivilDay(2027, 1, 31));
  EXPECT_EQ(budget->allowances[1].by, analysis::AllowanceBy::kOperator);
  EXPECT_EQ(budget->allowances[2].by, analysis::AllowanceBy::kFunction);
}

TEST(BudgetFileTest, EveryQuantityHasAKey) {
  std::string text = "[[range]]\n";
  for (int i = 0; i < analysis::kBudgetQuantityCount; ++i) {
    text += std::string(BudgetQuantityName(static_cast<BudgetQuantity>(i))) + " = 1\n";
  }
  const absl::StatusOr<analysis::Budget> budget = ParseBudget(text, "b.toml");
  ASSERT_TRUE(budget.ok()) << budget.status();
  EXPECT_EQ(budget->limits.size(), static_cast<size_t>(analysis::kBudgetQuantityCount));
}

TEST(BudgetFileTest, ErrorsNameFileLineAndKey) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"[[range]]\nmax-wait = 0",
       "reading the budget 'b.toml', line 2: max-wait: unknown key; did you mean 'max-waits'?"},
      {"\n[[ranges]]\nmax-waits = 0", "line 2: ranges: unknown key; did you mean 'range'?"},
      {"[[range]]\nqqqqqqqq = 0", "line 2: qqqqqqqq: unknown key (known here: name, max-waits"},
      {"[range]\nmax-waits = 0", "line 1: range: an array of tables is expected: [[range]]"},
      {"range = [1]", "line 1: range: a table is expected"},
      {"[[range]]\nmax-waits = 9007199254740993", "line 2: max-waits: it is above the largest limit, 9007199254740992"},
      {"[[range]]\nmax-bytes = 9007199254740993", "line 2: max-bytes: it is above the largest limit"},
      {"[[range]]\nmax-bytes = \"9000000GiB\"", "line 2: max-bytes: it is above the largest limit"},
      {"[[range]]\nmax-waits = -1", "line 2: max-waits: a whole number"},
      {"[[range]]\nmax-waits = 1.5", "line 2: max-waits: a whole number"},
      {"[[range]]\nmax-waits = \"3\"", "line 2: max-waits: a whole number"},
      {"[[range]]\nmax-bytes = \"3 parsecs\"", "line 2: max-bytes: "},
      {"[[range]]\nmax-bytes = true", "line 2: max-bytes: a size is expected"},
      {"[[range]]\nmax-recoverable-ratio = 1.1", "line 2: max-recoverable-ratio: a ratio from 0 to 1"},
      {"[[range]]\nmax-recoverable-ratio = nan", "line 2: max-recoverable-ratio: a ratio from 0 to 1"},
      {"[[range]]\nname = 3", "line 2: name: a text in quotes"},
      {"[[range]]\nmax-waits = = 0", "line 2: "},
      {"[[range]]\nname = \"step\"", "line 1: range: it holds no limit"},
      {"[[range]]\nmax-waits = 0\n[[range]]\nname = \"step\"", "line 3: range: it holds no limit"},
      {"", "it holds no limit"},
      {"[[allow]]\nreason = \"a\"\nexpires = 2027-01-31", "line 1: allow: site = \"file:line\", function or operator"},
      {"[[allow]]\nsite = \"train.py\"", "line 2: site: 'train.py' is no file:line"},
      {"[[allow]]\nsite = \":27\"", "line 2: site: ':27' is no file:line"},
      {"[[allow]]\nsite = \"train.py:0\"", "line 2: site: 'train.py:0' is no file:line"},
      {"[[allow]]\nsite = \"train.py:-1\"", "line 2: site: 'train.py:-1' is no file:line"},
      {"[[allow]]\nsite = \"train.py:027\"", "line 2: site: 'train.py:027' is no file:line"},
      {"[[allow]]\nsite = \"a:1\"\nreason = \"\"", "line 3: reason: the text is empty"},
      {"[[allow]]\nsite = \"a:1\"\nfunction = \"f\"", "line 1: function: an [[allow]] names a site, a function or"},
      {"[[allow]]\nsite = \"a:1\"\nexpires = 2027-01-31", "line 1: allow: reason is missing"},
      {"[[allow]]\nsite = \"a:1\"\nreason = \"r\"", "line 1: allow: expires is missing"},
      {"[[allow]]\nsite = \"a:1\"\nreason = \"r\"\nexpires = \"2027-01-31\"", "line 4: expires: a date without quotes"},
      {"[[allow]]\nsite = \"a:1\"\nreason = \"r\"\nexpires = 2027-02-30", "line 4: "},
  };
  for (const Case& test : cases) {
    const absl::StatusOr<analysis::Budget> budget = ParseBudget(test.text, "b.toml");
    ASSERT_EQ(budget.status().code(), absl::StatusCode::kInvalidArgument) << test.text;
    EXPECT_THAT(std::string(budget.status().message()), HasSubstr(test.message)) << test.text;
  }
}

}  // namespace
}  // namespace stallhound::cli
