#include "analysis/hunt/catalogue/catalogue.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/status_macros.h"

namespace stallhound::analysis {
namespace {

bool IsIdentifier(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// `name` in `symbol`, not as a part of longer identifiers.
bool HasIdentifiers(std::string_view symbol, std::string_view name) {
  for (size_t at = symbol.find(name); at != std::string_view::npos; at = symbol.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !(IsIdentifier(symbol[at - 1]) && IsIdentifier(name.front()));
    const bool ends = end == symbol.size() || !(IsIdentifier(symbol[end]) && IsIdentifier(name.back()));
    if (begins && ends) return true;
  }
  return false;
}

bool IsFile(std::string_view path, std::string_view name) {
  if (name == "*") return true;
  const size_t at = name.ends_with('/') ? path.find(name) : path.size() - std::min(path.size(), name.size());
  return at != std::string_view::npos && path.substr(at).starts_with(name) && (at == 0 || path[at - 1] == '/');
}

bool FitsFrame(const PlacePattern& place, const Frame& frame) {
  if ((place.kind == PlacePattern::Kind::kPython) != (frame.kind == capture::FrameKind::kPython)) return false;
  switch (place.kind) {
    case PlacePattern::Kind::kOperator:
      return false;
    case PlacePattern::Kind::kPython: {
      if (!IsFile(frame.file.value_or(""), place.name)) return false;
      const std::string function = frame.function.value_or("");
      // Before 3.11 a code object knows only its bare name.
      const std::string bare = function.substr(function.rfind('.') + 1);
      return place.functions.empty() ||
             std::find(place.functions.begin(), place.functions.end(), bare) != place.functions.end();
    }
    case PlacePattern::Kind::kNative:
      return HasIdentifiers(frame.function.value_or(""), place.name);
    case PlacePattern::Kind::kModule: {
      const std::string module = frame.module.value_or("");
      return std::string_view(module).substr(module.rfind('/') + 1).starts_with(place.name);
    }
  }
  return false;
}

// A few copies among many waits do not say what those are.
bool FitsCopies(const CopyPattern& pattern, const Site& site) {
  constexpr int64_t kMostWaitsPerCopy = 4;
  if (!pattern.direction) return site.copies.empty();
  return std::any_of(site.copies.begin(), site.copies.end(), [&](const CopySummary& copy) {
    const bool is_to_host = copy.direction == capture::CopyDirection::kDeviceToHost;
    return copy.direction == *pattern.direction &&
           (is_to_host ? copy.target_kind : copy.source_kind) == pattern.host_kind &&
           copy.count * kMostWaitsPerCopy >= site.count &&
           (!pattern.bytes_at_most || copy.bytes <= *pattern.bytes_at_most * static_cast<uint64_t>(copy.count));
  });
}

struct SiteView {
  const Site& site;
  std::vector<capture::ApiClass> apis;
  size_t frame_count = 0;     // of the stack: up to the innermost Python frame of the user
  size_t operator_count = 0;  // of the operator stack; 0 unless all points lie in ranges of one innermost operator
};

SiteView ViewOf(const Site& site) {
  SiteView view{.site = site, .apis = {}};
  // Operators that symbols tell of are in the stack, too.
  const bool is_one = site.operator_count == 1 && site.operator_confidence == Confidence::kExact;
  if (is_one) view.operator_count = site.operator_stack.size();
  for (const std::string& api : site.apis) view.apis.push_back(capture::ClassifyApi(api));
  while (view.frame_count < site.stack.size()) {
    const Frame& frame = site.stack[view.frame_count++];
    if (frame.is_user && frame.kind == capture::FrameKind::kPython) break;
  }
  return view;
}

// What told a rule that it fits; a function that the user knows says more than the operators that it calls.
enum class PlaceSource : uint8_t { kNone, kAnyPython, kOperator, kFrame };

// How much a rule says of a site it fits; greater is better.
struct Rank {
  bool is_special = false;
  PlaceSource source = PlaceSource::kNone;
  size_t nearness = 0;  // frames or operators that are further from the call
  size_t name_length = 0;
  bool has_copy = false;
  bool has_size = false;
  int api_narrowness = std::numeric_limits<int>::min();  // minus the number of classes; least: any API

  auto Key() const { return std::tuple(is_special, source, nearness, name_length, has_copy, has_size, api_narrowness); }
  bool operator<(const Rank& other) const { return Key() < other.Key(); }
};

bool IsAnyPython(const PlacePattern& place) { return place.kind == PlacePattern::Kind::kPython && place.name == "*"; }

// The nearest of `count` frames or operators that one of the places fits, and there the longest name.
template <typename Fits>
bool RankNearest(const std::vector<PlacePattern>& places, size_t count, const Fits& fits, Rank& rank) {
  for (size_t i = 0; i < count; ++i) {
    bool is_place = false;
    for (const PlacePattern& place : places) {
      if (!fits(place, i)) continue;
      is_place = true;
      rank.nearness = count - i;
      rank.name_length = std::max(rank.name_length, place.name.size());
    }
    if (is_place) return true;
  }
  return false;
}

bool RankPlace(const std::vector<PlacePattern>& places, const SiteView& view, Rank& rank) {
  const Site& site = view.site;
  const auto is_frame = [&](const PlacePattern& place, size_t i) { return FitsFrame(place, site.stack[i]); };
  const auto is_named = [&](const PlacePattern& place, size_t i) { return !IsAnyPython(place) && is_frame(place, i); };
  const auto is_operator = [&](const PlacePattern& place, size_t i) {
    return place.kind == PlacePattern::Kind::kOperator && place.name == site.operator_stack[i];
  };
  if (RankNearest(places, view.frame_count, is_named, rank)) {
    rank.source = PlaceSource::kFrame;
  } else if (RankNearest(places, view.operator_count, is_operator, rank)) {
    rank.source = PlaceSource::kOperator;
  } else if (RankNearest(places, view.frame_count, is_frame, rank)) {
    rank.source = PlaceSource::kAnyPython;
  }
  return rank.source != PlaceSource::kNone;
}

std::optional<Rank> RankOf(const MatchRule& rule, const SiteView& view) {
  const auto has = [](const auto& list, auto value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  if (!has(rule.kinds, view.site.kind)) return std::nullopt;
  const bool fits_apis = rule.apis.empty() || (!view.apis.empty() &&
                                               std::all_of(view.apis.begin(), view.apis.end(),
                                                           [&](capture::ApiClass api) { return has(rule.apis, api); }));
  if (!fits_apis || (rule.copy && !FitsCopies(*rule.copy, view.site))) return std::nullopt;
  Rank rank;
  rank.is_special = !rule.is_fallback;
  rank.has_copy = rule.copy.has_value();
  rank.has_size = rule.copy && rule.copy->bytes_at_most;
  if (!rule.apis.empty()) rank.api_narrowness = -static_cast<int>(rule.apis.size());
  if (!rule.places.empty() && !RankPlace(rule.places, view, rank)) return std::nullopt;
  return rank;
}

}  // namespace

absl::StatusOr<Catalogue> Catalogue::Load(absl::Span<const EntryText> texts) {
  std::vector<CatalogueEntry> entries;
  for (const EntryText& text : texts) {
    SH_ASSIGN_OR_RETURN(CatalogueEntry entry, ParseEntry(text.id, text.text));
    entries.push_back(std::move(entry));
  }
  const auto by_id = [](const CatalogueEntry& a, const CatalogueEntry& b) { return a.id < b.id; };
  std::sort(entries.begin(), entries.end(), by_id);
  const auto twin = std::adjacent_find(entries.begin(), entries.end(),
                                       [](const CatalogueEntry& a, const CatalogueEntry& b) { return a.id == b.id; });
  if (twin != entries.end()) {
    return absl::InvalidArgumentError(fmt::format("loading the catalogue: two entries have the id '{}'", twin->id));
  }
  return Catalogue(std::move(entries));
}

const CatalogueEntry* Catalogue::Find(std::string_view id) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.id == id; });
  return it == entries_.end() ? nullptr : &*it;
}

const CatalogueEntry* Catalogue::Match(const Site& site) const {
  const SiteView view = ViewOf(site);
  const CatalogueEntry* best = nullptr;
  Rank best_rank;
  for (const CatalogueEntry& entry : entries_) {
    for (const MatchRule& rule : entry.rules) {
      const std::optional<Rank> rank = RankOf(rule, view);
      if (!rank || (best != nullptr && !(best_rank < *rank))) continue;
      best = &entry;
      best_rank = *rank;
    }
  }
  return best;
}

const Catalogue& BuiltInCatalogue() {
  static const auto* const catalogue = [] {
    return new Catalogue(Catalogue::Load(BuiltInTexts()).value());  // a bad entry ends the process; the tests load all
  }();
  return *catalogue;
}

}  // namespace stallhound::analysis
