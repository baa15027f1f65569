#pragma once

// One entry of the catalogue: a known way to make the host wait, why it does, and what to write instead. The format of
// its text is in README.md.

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/hunt/report.h"
#include "capture/api/api_class.h"
#include "capture/types.h"

namespace stallhound::analysis {

// Where the explanation comes from.
enum class Certainty : uint8_t { kMeasured, kSource, kDocumented, kUnverified };
// "measured", "source", "documented", "unverified".
const char* CertaintyName(Certainty certainty);

// A frame or operator that tells what was called.
struct PlacePattern {
  enum class Kind : uint8_t {
    kPython,    // name: the end of a file's path, or a folder in it ("torch/distributions/"), or "*"
    kNative,    // name: whole identifiers of a symbol ("at::native::nonzero_cuda", "thrust::")
    kModule,    // name: the beginning of a library's file name ("libcublas")
    kOperator,  // name: an operator ("aten::nonzero") whose range the site's points lie in
  };
  Kind kind = Kind::kPython;
  std::string name;
  std::vector<std::string> functions;  // of kPython, without class or enclosing function; empty: any
};

// A host end of a copy. Both empty: the site has no copies at all.
struct CopyPattern {
  std::optional<capture::CopyDirection> direction;
  std::optional<capture::MemoryKind> host_kind;
  std::optional<uint64_t> bytes_at_most;  // per copy, on average
};

// All parts that are given must hold.
struct MatchRule {
  std::vector<SiteKind> kinds;          // one of them; never empty
  std::vector<capture::ApiClass> apis;  // each API of the site is of one of them
  std::optional<CopyPattern> copy;      // the site has such a copy
  std::vector<PlacePattern> places;     // one of them, not outside the innermost Python frame of the user
  bool is_fallback = false;             // only if no other rule matches
};

struct CatalogueEntry {
  std::string id;     // kebab-case
  std::string title;  // what happens, a few words
  Certainty certainty = Certainty::kUnverified;
  std::vector<MatchRule> rules;  // any of them; never empty
  std::string why;               // prose and code end with a line break
  std::string fix;
  std::string before;
  std::string after;
};

// Reads the text of an entry. InvalidArgument names the entry and the line.
absl::StatusOr<CatalogueEntry> ParseEntry(std::string_view id, std::string_view text);

}  // namespace stallhound::analysis
