#include "cli/child.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/temp_dir.h"
#include "cli/exit_code.h"

namespace stallhound::cli {
namespace {

using ::testing::HasSubstr;

std::string ForeignProgram() {
  Elf64_Ehdr header{};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_PPC64;
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

class ChildTest : public ::testing::Test {
 protected:
  void ExpectNotStarted(const std::string& path, const std::string& why) {
    WatchedChild watched;
    watched.argv = {path};
    watched.output_path = folder_.File("output");
    for (const absl::Status& status : {RunWatchedChild(watched).status(), RunChild({path}, {}).status()}) {
      EXPECT_EQ(ExitCodeOf(status), kExitData) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("starting '" + path + "': " + why));
    }
  }

  stallhound::testing::TempDir folder_;
};

TEST_F(ChildTest, AFileThatIsNoProgramIsTheUsersWithTheReason) {
  ExpectNotStarted(folder_.Write("text", "echo hello\n", 0755), "it is neither a program of this machine nor a script");
  ExpectNotStarted(folder_.Write("empty", "", 0755), "the file is empty");
  ExpectNotStarted(folder_.Write("foreign", ForeignProgram(), 0755), "it is an ELF file for ppc64 (64 bits)");
  ExpectNotStarted(folder_.Write("script", "#!/no/such/interpreter\n", 0755), "the interpreter that it names");
  ExpectNotStarted(folder_.path(), "it is a folder");
  ExpectNotStarted(folder_.File("none"), "No such file");
}

TEST_F(ChildTest, AFileThatMayNotBeStartedIsTheMachines) {
  const absl::Status status = RunChild({folder_.Write("data", "x")}, {}).status();
  EXPECT_EQ(ExitCodeOf(status), kExitEnvironment) << status;
}

}  // namespace
}  // namespace stallhound::cli
