#pragma once

// What is new between two recordings of one case: kernels by name, sync points by place in the code. Names the cause of
// a count that rose. Pure functions, safe from any thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/gate/count_range.h"

namespace stallhound::analysis::gate {

struct KernelCount {
  std::string name;  // as recorded: mangled or demangled
  CountRange per_iteration;
};

struct KernelChange {
  std::string name;                    // normalised (kernel_name.h)
  std::optional<CountRange> baseline;  // per iteration; null: does not occur
  std::optional<CountRange> candidate;
};

struct KernelDifference {
  std::vector<KernelChange> risen;   // new ones included; largest change first, then by name
  std::vector<KernelChange> fallen;  // those that are gone included
};

// As multisets of normalised names: names that become equal are added up. Unstable counts whose ranges overlap are no
// difference, but one constant in the baseline and now sometimes higher has risen.
KernelDifference CompareKernels(std::span<const KernelCount> baseline, std::span<const KernelCount> candidate);

// Sync points of one kind at one place.
struct SiteCount {
  std::string kind;                 // "wait"
  std::string api;                  // the most frequent one
  std::optional<std::string> file;  // of the innermost user frame
  std::optional<std::string> function;
  std::optional<int64_t> line;
  std::optional<std::string> native_symbol;  // where there is no user frame
  CountRange per_iteration;
  std::optional<std::string> operator_name;  // "aten::nonzero"; no part of what tells a site from others
};

struct SiteChange {
  std::optional<SiteCount> baseline;  // null: new
  std::optional<SiteCount> candidate;
};

struct SiteDifference {
  std::vector<SiteChange> risen;  // largest change first, then in the order of file and line
  std::vector<SiteChange> fallen;
};

// A site keeps its identity when lines above it come or go: sites of one kind in one function (or native symbol) are
// paired in the order of their lines, so that fewest pairs differ in API, then neighbours move together, then they move
// least; what is left over is new or gone. A function that was renamed or moved to another file is a new one.
// O(n m^2) for n and m sites in one function.
SiteDifference CompareSites(std::span<const SiteCount> baseline, std::span<const SiteCount> candidate);

}  // namespace stallhound::analysis::gate
