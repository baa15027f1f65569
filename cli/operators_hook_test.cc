#include "cli/operators_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "base/testing/temp_dir.h"

namespace stallhound::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::Pair;

Variables WithPythonPath(const char* value) {
  if (value == nullptr) {
    unsetenv("PYTHONPATH");
  } else {
    setenv("PYTHONPATH", value, 1);
  }
  Variables variables;
  AddOperatorsHook("/opt/hook", variables);
  return variables;
}

TEST(OperatorsHook, ComesFirstAndAddsNoWorkingFolder) {
  EXPECT_THAT(WithPythonPath(nullptr), ElementsAre(Pair("STALLHOUND_OPERATORS", "1"), Pair("PYTHONPATH", "/opt/hook")));
  EXPECT_THAT(WithPythonPath(""), ElementsAre(Pair("STALLHOUND_OPERATORS", "1"), Pair("PYTHONPATH", "/opt/hook")));
  EXPECT_THAT(WithPythonPath("/a:/b"),
              ElementsAre(Pair("STALLHOUND_OPERATORS", "1"), Pair("PYTHONPATH", "/opt/hook:/a:/b")));
  EXPECT_THAT(WithPythonPath("/opt/hook:/a"), ElementsAre(Pair("STALLHOUND_OPERATORS", "1"))) << "an enclosing hunt";
}

TEST(OperatorsHook, OptionsThatKeepItOutAreNamed) {
  using Argv = std::vector<std::string>;
  for (const Argv& argv : {Argv{"python3", "-S", "train.py"}, Argv{"python3", "-uS", "-m", "train"}}) {
    EXPECT_THAT(HookHindrance(argv), Optional(HasSubstr("-S starts without `site`"))) << argv[1];
  }
  EXPECT_THAT(HookHindrance({"/opt/conda/bin/python", "-I", "train.py"}), Optional(HasSubstr("-I ignores PYTHONPATH")));
  EXPECT_THAT(HookHindrance({"python3.12", "-W", "error", "-E", "train.py"}), Optional(HasSubstr("-E ignores")));
  EXPECT_THAT(HookHindrance({"python3", "-Xdev", "-E", "train.py"}), Optional(HasSubstr("-E ignores")));
}

TEST(OperatorsHook, WhatIsTheProgramsOwnIsNoHindrance) {
  EXPECT_EQ(HookHindrance({"python3", "train.py", "-S"}), std::nullopt);
  EXPECT_EQ(HookHindrance({"python3", "-c", "pass", "-I"}), std::nullopt);
  EXPECT_EQ(HookHindrance({"python3", "-m", "train", "-E"}), std::nullopt);
  EXPECT_EQ(HookHindrance({"python3", "-W", "E", "train.py"}), std::nullopt);
  EXPECT_EQ(HookHindrance({"/bin/cat", "-S"}), std::nullopt);
}

TEST(OperatorsHook, AScriptsFirstLineCounts) {
  stallhound::testing::TempDir folder;
  EXPECT_THAT(HookHindrance({folder.Write("a", "#!/usr/bin/python3 -sE\n", 0755)}), Optional(HasSubstr("-E ignores")));
  EXPECT_THAT(HookHindrance({folder.Write("b", "#!/usr/bin/env -S python3 -I\n", 0755), "x"}),
              Optional(HasSubstr("-I ignores")));
  EXPECT_EQ(HookHindrance({folder.Write("c", "#!/usr/bin/env python3\n", 0755), "-S"}), std::nullopt);
}

}  // namespace
}  // namespace stallhound::cli
