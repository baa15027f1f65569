#pragma once

// "Why and how to fix": entries by id, and the one that fits a site best.

#include <absl/status/statusor.h>
#include <absl/types/span.h>

#include <string_view>
#include <vector>

#include "analysis/hunt/catalogue/entry.h"
#include "analysis/hunt/report.h"

namespace stallhound::analysis {

struct EntryText {
  std::string_view id;
  std::string_view text;
};

class Catalogue {
 public:
  // InvalidArgument: an entry can't be read, or two have one id.
  static absl::StatusOr<Catalogue> Load(absl::Span<const EntryText> texts);

  const std::vector<CatalogueEntry>& entries() const { return entries_; }  // by id
  const CatalogueEntry* Find(std::string_view id) const;                   // null: there is none
  // The entry with the rule that says most: a named place before none, the place nearest to the call, the longest name,
  // more conditions. Null: none fits. Looks at kind, APIs, copies, stack and operators; time: places of all rules times
  // frames.
  const CatalogueEntry* Match(const Site& site) const;

 private:
  explicit Catalogue(std::vector<CatalogueEntry> entries) : entries_(std::move(entries)) {}

  std::vector<CatalogueEntry> entries_;
};

// The files of entries/, in the order of their names.
absl::Span<const EntryText> BuiltInTexts();
// What is built in, read once; thread-safe.
const Catalogue& BuiltInCatalogue();

}  // namespace stallhound::analysis
