#include "cli/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "base/testing/temp_dir.h"
#include "cli/config/config_keys.h"

namespace stallhound::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kWhole[] = R"([bench]
binary = "out/bench"
suite = "s"
filter = "^a/(b|c)$"
rounds = 9
record-iterations = 30
min-time = "20ms"
round-timeout = "1.5 h"

[gate]
q = 0.1
time-budget-ratio = 1
baseline = "release"
[[gate.budget]]
benchmark = "a/*"
ratio = 0.02
[[gate.budget]]
ratio = 0
benchmark = "b"
)";

// Converts to whatever a member of an aggregate is.
struct Any {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};

// How many members an aggregate has.
template <typename T, typename... Members>
constexpr size_t MemberCount() {
  if constexpr (requires { T{Members{}..., Any{}}; }) {
    return MemberCount<T, Members..., Any>();
  } else {
    return sizeof...(Members);
  }
}

size_t KeysOf(std::string_view section) {
  size_t count = 0;
  for (const ConfigKey& key : ConfigKeys()) count += key.section == section ? 1 : 0;
  return count;
}

TEST(ConfigKeysTest, EveryMemberHasAKeyOfItsOwnThatIsDocumented) {
  EXPECT_EQ(KeysOf("bench"), MemberCount<BenchConfig>());
  EXPECT_EQ(KeysOf("gate") + 1, MemberCount<GateConfig>()) << "one is the list of budgets";
  EXPECT_EQ(KeysOf(kBudgetSection), MemberCount<TimeBudget>());
  Config config;
  config.gate.budgets.emplace_back();
  std::set<const void*> members;
  for (const ConfigKey& key : ConfigKeys()) {
    members.insert(std::visit([](auto* member) -> const void* { return member; }, key.member(config, 0)));
    EXPECT_GT(key.meaning.size(), 20u) << FullName(key);
    EXPECT_THAT(std::string(key.meaning), ::testing::EndsWith("."));
    EXPECT_EQ(TypeName(key) == "text", key.unit.empty()) << FullName(key);
  }
  EXPECT_EQ(members.size(), ConfigKeys().size());
}

TEST(ConfigKeysTest, ExamplesAreValidAndNotTheDefault) {
  for (const ConfigKey& key : ConfigKeys()) {
    if (key.section == kBudgetSection) continue;
    const std::string text =
        "[" + std::string(key.section) + "]\n" + std::string(key.name) + " = " + std::string(key.example);
    absl::StatusOr<Config> config = ParseConfig(text, "/x/stallhound.toml");
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(TomlValue(key.member(*config, 0)), key.example);
    Config standard;
    EXPECT_NE(TomlValue(key.member(standard, 0)), key.example) << FullName(key);
  }
}

TEST(ConfigTest, ReadsEveryKeyAndItsLine) {
  const absl::StatusOr<Config> config = ParseConfig(kWhole, "/x/stallhound.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->folder, "/x");
  EXPECT_EQ(config->path, "/x/stallhound.toml");
  EXPECT_EQ(config->bench.binary, "out/bench");
  EXPECT_EQ(config->bench.suite, "s");
  EXPECT_EQ(config->bench.filter, "^a/(b|c)$");
  EXPECT_EQ(config->bench.rounds, 9);
  EXPECT_EQ(config->bench.record_iterations, 30);
  EXPECT_EQ(config->bench.min_time_ns, 20'000'000);
  EXPECT_EQ(config->bench.round_timeout_ns, 5'400'000'000'000);
  EXPECT_EQ(config->gate.q, 0.1);
  EXPECT_EQ(config->gate.time_budget_ratio, 1);
  EXPECT_EQ(config->gate.baseline, "release");
  ASSERT_EQ(config->gate.budgets.size(), 2u);
  EXPECT_EQ(config->gate.budgets[0].benchmark, "a/*");
  EXPECT_EQ(config->gate.budgets[0].ratio, 0.02);
  EXPECT_EQ(config->gate.budgets[1].benchmark, "b");
  EXPECT_THAT(config->lines, Contains(Pair("bench.rounds", 5)));
  EXPECT_THAT(config->lines, Contains(Pair("gate.budget[1].ratio", 18)));
  EXPECT_EQ(config->lines.size(), 14u);
}

TEST(ConfigTest, ErrorsNameFileLineAndKey) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"[bench\n", "reading the configuration '/x/stallhound.toml', line 1: "},
      {"\n[bnch]", "line 2: bnch: unknown key; did you mean 'bench'? (known here: bench, gate)"},
      {"[bench]\nround = 3", "line 2: round: unknown key; did you mean 'rounds'?"},
      {"[gate]\nbudgets = 3", "line 2: budgets: unknown key; did you mean 'budget'?"},
      {"bench = 1", "line 1: bench: a table is expected: [bench]"},
      {"[gate.budget]\nratio = 1", "gate.budget: an array of tables is expected: [[gate.budget]]"},
      {"[[gate.budget]]\nratio = 1", "line 1: [[gate.budget]]: benchmark is missing"},
      {"[[gate.budget]]\nbenchmark = \"a\"\nratios = 1", "line 3: ratios: unknown key; did you mean 'ratio'?"},
      {"[bench]\nrounds = 0", "line 2: rounds: a whole number from 1 to 1000 is expected, such as rounds = 16"},
      {"[bench]\nrounds = 8.0", "rounds: a whole number"},
      {"[bench]\nrounds = \"8\"", "rounds: a whole number"},
      {"[bench]\nrecord-iterations = 11", "record-iterations: a whole number from 12 "},
      {"[bench]\nbinary = \"\"", "binary: a text in quotes"},
      {"[bench]\nsuite = 3", "suite: a text in quotes"},
      {"[bench]\nfilter = \"a(\"", "filter: 'a(' is no regular expression ("},
      {"[bench]\nmin-time = 3", "min-time: a duration in quotes"},
      {"[bench]\nmin-time = \"3\"", "min-time: reading the duration '3': the unit is missing"},
      {"[bench]\nmin-time = \"0\"", "min-time: a duration above 0"},
      {"[gate]\nq = 0", "q: a number from 0.0001 to 0.5 is expected"},
      {"[gate]\nq = nan", "q: a number from"},
      {"[gate]\ntime-budget-ratio = -0.1", "time-budget-ratio: a number from 0 to 10 "},
      {"[gate]\ntime-budget-ratio = \"1%\"", "time-budget-ratio: a number"},
  };
  for (const Case& test : cases) {
    const absl::StatusOr<Config> config = ParseConfig(test.text, "/x/stallhound.toml");
    EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << test.text;
    EXPECT_THAT(std::string(config.status().message()), HasSubstr(test.message));
  }
}

TEST(ConfigTest, TextIsWrittenAsItIsRead) {
  Config config;
  config.bench.suite = "a\"b\\c\nd\x7f é";
  const std::string text = "[bench]\nsuite = " + *TomlValue(&config.bench.suite);
  const absl::StatusOr<Config> again = ParseConfig(text, "/x/stallhound.toml");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->bench.suite, config.bench.suite);
}

class LoadConfigTest : public ::testing::Test {
 protected:
  ~LoadConfigTest() override { fs::current_path(before_); }

  const fs::path before_ = fs::current_path();
  stallhound::testing::TempDir folder_;
};

TEST_F(LoadConfigTest, TakesTheNearestFile) {
  folder_.Write("stallhound.toml", "[bench]\nrounds = 3");
  folder_.Write("a/stallhound.toml", "[bench]\nrounds = 4");
  fs::create_directories(folder_.File("a/b/c"));
  fs::create_directories(folder_.File("other"));
  fs::current_path(folder_.File("a/b/c"));
  const absl::StatusOr<Config> nearest = LoadConfig();
  ASSERT_TRUE(nearest.ok()) << nearest.status();
  EXPECT_EQ(nearest->bench.rounds, 4);
  EXPECT_EQ(fs::canonical(nearest->folder), fs::canonical(folder_.File("a")));
  fs::current_path(folder_.File("other"));
  EXPECT_EQ(LoadConfig()->bench.rounds, 3);
}

TEST_F(LoadConfigTest, WithoutAFileAllIsDefault) {
  fs::current_path(folder_.path());
  const absl::StatusOr<Config> config = LoadConfig();
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->path, "");
  EXPECT_EQ(config->folder, fs::current_path());
  EXPECT_EQ(config->bench.rounds, 8);
  EXPECT_TRUE(config->lines.empty());
}

TEST_F(LoadConfigTest, OnlyARegularFileOfLittleSizeIsRead) {
  const fs::path path = folder_.File("stallhound.toml");
  fs::current_path(folder_.path());
  const auto problem = [&] {
    const absl::Status status = LoadConfig().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    fs::remove(path);
    return std::string(status.message());
  };
  fs::create_symlink("nowhere", path);
  EXPECT_THAT(problem(), HasSubstr("it is a link to what is not there"));
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(problem(), HasSubstr("it is no regular file"));
  fs::create_symlink("/dev/zero", path);
  EXPECT_THAT(problem(), HasSubstr("it is no regular file"));
  folder_.Write("stallhound.toml", std::string((1 << 20) + 1, '\n'));
  EXPECT_THAT(problem(), HasSubstr("1.00 MiB"));
  folder_.Write("stallhound.toml", "[bench]\nrounds = 3" + std::string(1000, '\n'));
  fs::create_directories(folder_.File("a"));
  fs::create_symlink("../stallhound.toml", folder_.File("a/stallhound.toml"));
  fs::current_path(folder_.File("a"));
  EXPECT_EQ(LoadConfig()->bench.rounds, 3);
}

TEST_F(LoadConfigTest, AFileThatCannotBeReadIsAnError) {
  fs::create_directories(folder_.File("stallhound.toml"));
  fs::current_path(folder_.path());
  const absl::StatusOr<Config> config = LoadConfig();
  EXPECT_FALSE(config.ok());
  EXPECT_THAT(std::string(config.status().message()), HasSubstr("reading the configuration '"));
}

}  // namespace
}  // namespace stallhound::cli
