#pragma once

// What git says of the code that is measured.

#include <optional>
#include <string>

#include "store/run.h"

namespace stallhound::cli {

struct WorkTree {
  store::Revision revision;
  std::optional<std::string> branch;  // unset: a detached head
  std::optional<bool> has_local_changes;
  bool operator==(const WorkTree&) const = default;
};

// The nearest folder at or above `path`, links not resolved, that git keeps; empty if there is none.
std::string FindWorkTree(const std::string& path);

// Its state now; nullopt if git cannot say, or there is no commit. Runs git a few times, in all some 20 ms, more for
// the local changes of a large tree.
std::optional<WorkTree> ReadWorkTree(const std::string& folder);

}  // namespace stallhound::cli
