#include "cli/bench/work_tree.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_split.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/units.h"
#include "cli/program_output.h"

namespace stallhound::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTimeoutNs = 30'000'000'000;
constexpr int64_t kSecondNs = 1'000'000'000;

// Its stdout without the last line break; nullopt if it failed. What git says of failures is nobody's business.
std::optional<std::string> Git(const std::string& folder, const std::vector<std::string>& arguments) {
  std::vector<std::string> argv = {"sh", "-c", "exec git \"$@\" 2>/dev/null", "git", "-C", folder};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const absl::StatusOr<std::string> output = ProgramOutput(argv, kTimeoutNs);
  if (!output.ok()) return std::nullopt;
  return std::string(absl::StripTrailingAsciiWhitespace(*output));
}

// The last part of the remote's address, which has no user, password or host; else the folder's name.
std::string RepositoryName(const std::string& folder) {
  const std::optional<std::string> remote = Git(folder, {"config", "--get", "remote.origin.url"});
  std::string path = remote && !remote->empty() ? *remote : fs::path(folder).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::string name = path.substr(path.find_last_of("/:") + 1);
  if (name.ends_with(".git")) name.resize(name.size() - 4);
  return name.empty() ? "repository" : name;
}

}  // namespace

std::string FindWorkTree(const std::string& path) {
  std::error_code error;
  fs::path folder = fs::absolute(path, error).lexically_normal();
  while (true) {
    if (fs::exists(folder / ".git", error)) return folder;
    if (!folder.has_relative_path()) return "";
    folder = folder.parent_path();
  }
}

std::optional<WorkTree> ReadWorkTree(const std::string& folder) {
  const std::optional<std::string> head = Git(folder, {"log", "-1", "--format=%H %at %P"});
  if (!head) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(*head, ' ', absl::SkipEmpty());
  if (words.size() < 2) return std::nullopt;
  WorkTree tree;
  tree.revision.repository = RepositoryName(folder);
  tree.revision.sha = words[0];
  if (const std::optional<int64_t> authored_s = ParseInteger(words[1])) {
    tree.revision.authored_at_ns = *authored_s * kSecondNs;
  }
  if (words.size() > 2) tree.revision.parent_sha = words[2];
  const std::optional<std::string> is_shallow = Git(folder, {"rev-parse", "--is-shallow-repository"});
  if (is_shallow == "false") {
    if (const auto ordinal = Git(folder, {"rev-list", "--count", "--first-parent", "HEAD"})) {
      tree.revision.ordinal_count = ParseInteger(*ordinal);
    }
  }
  tree.branch = Git(folder, {"symbolic-ref", "--quiet", "--short", "HEAD"});
  if (const auto changes = Git(folder, {"status", "--porcelain", "--untracked-files=no"})) {
    tree.has_local_changes = !changes->empty();
  }
  return tree;
}

}  // namespace stallhound::cli
