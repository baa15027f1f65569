#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <fmt/format.h>

#include <algorithm>

#include "analysis/hunt/catalogue/entry.h"
#include "base/status_macros.h"
#include "capture/enum_names.h"

namespace stallhound::analysis {
namespace {

constexpr Certainty kCertainties[] = {Certainty::kMeasured, Certainty::kSource, Certainty::kDocumented,
                                      Certainty::kUnverified};

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::vector<std::string> Words(std::string_view text) { return absl::StrSplit(View(text), ' ', absl::SkipEmpty()); }

std::optional<SiteKind> SiteKindOf(std::string_view name) {
  for (int kind = 0; kind < kSiteKindCount; ++kind) {
    if (name == SiteKindName(static_cast<SiteKind>(kind))) return static_cast<SiteKind>(kind);
  }
  return std::nullopt;
}

template <typename Enum>
std::optional<Enum> EnumOf(std::string_view name) {
  const auto names = capture::EnumNames<Enum>();
  const auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<Enum>(it - names.begin());
}

// Of places that are a name alone.
std::optional<PlacePattern::Kind> NameKindOf(std::string_view key) {
  if (key == "native:") return PlacePattern::Kind::kNative;
  if (key == "module:") return PlacePattern::Kind::kModule;
  if (key == "operator:") return PlacePattern::Kind::kOperator;
  return std::nullopt;
}

class EntryParser {
 public:
  EntryParser(std::string_view id, std::string_view text) : text_(text) { entry_.id = id; }

  absl::StatusOr<CatalogueEntry> Parse() {
    for (const absl::string_view raw : absl::StrSplit(View(text_), '\n')) {
      ++line_number_;
      const std::string_view line(raw.data(), raw.size());
      SH_RETURN_IF_ERROR(line.starts_with("  ") || line.empty() ? AddInside(line) : Begin(line));
    }
    SH_RETURN_IF_ERROR(Check());
    return std::move(entry_);
  }

 private:
  absl::Status Error(std::string_view cause) const {
    return absl::InvalidArgumentError(
        fmt::format("reading the catalogue entry '{}': line {}: {}", entry_.id, line_number_, cause));
  }

  absl::Status Begin(std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return Error(fmt::format("'{}' is no 'key: value'", line));
    const std::string_view key = line.substr(0, colon);
    const std::string value(absl::StripAsciiWhitespace(View(line.substr(colon + 1))));
    section_ = nullptr;
    is_in_match_ = false;
    if (key == "title") {
      entry_.title = value;
    } else if (key == "sure") {
      return SetCertainty(value);
    } else if (key == "match") {
      entry_.rules.emplace_back();
      is_in_match_ = true;
    } else if (std::string* section = SectionOf(key); section != nullptr) {
      if (!section->empty()) return Error(fmt::format("a second '{}'", key));
      section_ = section;
    } else {
      return Error(fmt::format("there is no key '{}'; there are title, sure, match, why, fix, before and after", key));
    }
    return absl::OkStatus();
  }

  std::string* SectionOf(std::string_view key) {
    if (key == "why") return &entry_.why;
    if (key == "fix") return &entry_.fix;
    if (key == "before") return &entry_.before;
    return key == "after" ? &entry_.after : nullptr;
  }

  absl::Status SetCertainty(std::string_view value) {
    for (const Certainty certainty : kCertainties) {
      if (value != CertaintyName(certainty)) continue;
      entry_.certainty = certainty;
      has_certainty_ = true;
      return absl::OkStatus();
    }
    return Error(fmt::format("'sure' is '{}', not measured, source, documented or unverified", value));
  }

  absl::Status AddInside(std::string_view line) {
    if (section_ != nullptr) {
      if (!line.empty() || !section_->empty()) section_->append(line.substr(std::min<size_t>(2, line.size()))) += '\n';
      return absl::OkStatus();
    }
    if (line.empty()) return absl::OkStatus();
    if (!is_in_match_) return Error("an indented line outside match, why, fix, before and after");
    const std::vector<std::string> words = Words(line);
    if (words.size() < 2) return Error(fmt::format("'{}' has no value", line));
    const std::vector<std::string> values(words.begin() + 1, words.end());
    return AddCondition(words.front(), values);
  }

  absl::Status AddCondition(const std::string& key, const std::vector<std::string>& values) {
    MatchRule& rule = entry_.rules.back();
    if (key == "kind:") return AddKinds(values, rule);
    if (key == "api:") return AddApis(values, rule);
    if (key == "copy:") return AddCopy(values, rule);
    if (key == "python:") {
      rule.places.push_back({PlacePattern::Kind::kPython, values.front(), {values.begin() + 1, values.end()}});
    } else if (const auto kind = NameKindOf(key)) {
      for (const std::string& name : values) rule.places.push_back({*kind, name, {}});
    } else if (key == "fallback:" && values.front() == "yes") {
      rule.is_fallback = true;
    } else {
      return Error(
          fmt::format("'{} {}' is no condition; there are kind, api, copy, python, native, module, operator and "
                      "fallback: yes",
                      key, values.front()));
    }
    return absl::OkStatus();
  }

  absl::Status AddKinds(const std::vector<std::string>& names, MatchRule& rule) {
    for (const std::string& name : names) {
      const std::optional<SiteKind> kind = SiteKindOf(name);
      if (!kind) return Error(fmt::format("there is no kind of site '{}'", name));
      rule.kinds.push_back(*kind);
    }
    return absl::OkStatus();
  }

  absl::Status AddApis(const std::vector<std::string>& names, MatchRule& rule) {
    for (const std::string& name : names) {
      const auto api = EnumOf<capture::ApiClass>(name);
      if (!api) return Error(fmt::format("there is no class of API '{}'", name));
      rule.apis.push_back(*api);
    }
    return absl::OkStatus();
  }

  // "none", or "device-to-host pageable", or that and the most bytes of a copy.
  absl::Status AddCopy(const std::vector<std::string>& values, MatchRule& rule) {
    rule.copy.emplace();
    if (values.size() == 1 && values.front() == "none") return absl::OkStatus();
    if (values.size() < 2) return Error("a copy is 'none' or 'DIRECTION MEMORY [BYTES]'");
    rule.copy->direction = EnumOf<capture::CopyDirection>(values[0]);
    if (!rule.copy->direction) return Error(fmt::format("there is no copy direction '{}'", values[0]));
    rule.copy->host_kind = EnumOf<capture::MemoryKind>(values[1]);
    if (!rule.copy->host_kind) return Error(fmt::format("there is no memory kind '{}'", values[1]));
    uint64_t bytes = 0;
    if (values.size() == 2) return absl::OkStatus();
    if (!absl::SimpleAtoi(values[2], &bytes)) return Error(fmt::format("'{}' is no number of bytes", values[2]));
    rule.copy->bytes_at_most = bytes;
    return absl::OkStatus();
  }

  absl::Status Check() {
    const bool is_kebab = !entry_.id.empty() && std::all_of(entry_.id.begin(), entry_.id.end(), [](char c) {
      return absl::ascii_islower(static_cast<unsigned char>(c)) || c == '-';
    });
    if (!is_kebab) return Error("the id is not in kebab-case");
    if (entry_.title.empty()) return Error("'title' is missing");
    if (!has_certainty_) return Error("'sure' is missing");
    if (entry_.rules.empty()) return Error("'match' is missing: nothing would ever be explained by it");
    for (const MatchRule& rule : entry_.rules) {
      if (rule.kinds.empty()) return Error("a 'match' without 'kind'");
      if (rule.places.empty() && !rule.is_fallback) return Error("a 'match' without a place needs 'fallback: yes'");
    }
    for (const char* key : {"why", "fix", "before", "after"}) {
      std::string& section = *SectionOf(key);
      section.erase(std::min(section.find_last_not_of('\n') + 1, section.size()));
      if (section.empty()) return Error(fmt::format("'{}' is missing", key));
      section += '\n';
    }
    return absl::OkStatus();
  }

  std::string_view text_;
  CatalogueEntry entry_;
  int line_number_ = 0;
  bool has_certainty_ = false;
  bool is_in_match_ = false;
  std::string* section_ = nullptr;  // of entry_; the prose or code that is being read
};

}  // namespace

const char* CertaintyName(Certainty certainty) {
  switch (certainty) {
    case Certainty::kMeasured:
      return "measured";
    case Certainty::kSource:
      return "source";
    case Certainty::kDocumented:
      return "documented";
    case Certainty::kUnverified:
      return "unverified";
  }
  return "invalid";
}

absl::StatusOr<CatalogueEntry> ParseEntry(std::string_view id, std::string_view text) {
  return EntryParser(id, text).Parse();
}

}  // namespace stallhound::analysis
