#include "reports/sarif/hunt_sarif.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/display_text.h"
#include "base/json_writer.h"
#include "base/unicode.h"
#include "base/units.h"
#include "base/version.h"
#include "reports/document/budget_section.h"
#include "reports/document/place.h"

namespace stallhound::reports {
namespace {

using analysis::SiteKind;

constexpr char kBudgetRule[] = "budget";

const char* RuleText(SiteKind kind) {
  switch (kind) {
    case SiteKind::kWait:
      return "The host waits for the GPU: a synchronize call or a blocking copy.";
    case SiteKind::kPageableCopy:
      return "An asynchronous copy from or to pageable memory may wait for the GPU.";
    case SiteKind::kAllocator:
      return "Allocating, freeing or registering memory may wait for the GPU.";
    case SiteKind::kLoader:
      return "Loading or unloading a module may wait for the GPU.";
    case SiteKind::kQuerySpin:
      return "The host polls an event or stream in a loop until the GPU has finished.";
    case SiteKind::kQueueFull:
      return "A launch waits for room in its queue while a device that its thread feeds is idle.";
  }
  return "";
}

// Brackets and braces have a meaning in SARIF's messages (3.11.5 placeholders, 3.11.6 links).
std::string MessageText(const std::string& text) {
  std::string out;
  for (const char c : Displayable(text)) {
    if (c == '[' || c == ']' || c == '\\') out += '\\';
    if (c == '{' || c == '}') out += c;
    out += c;
  }
  return out;
}

void WriteMessage(JsonWriter& json, std::string_view key, const std::string& text) {
  json.Key(key);
  json.BeginObject();
  json.Field("text", MessageText(text));
  json.EndObject();
}

// RFC 3986: what is not unreserved is percent-encoded, but for the slashes of a path.
std::string EncodedPath(const std::string& path) {
  std::string out;
  for (const char c : ReplaceInvalidUtf8(path)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = absl::ascii_isalnum(byte) || std::string_view("-._~/").find(c) != std::string_view::npos;
    out += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return out;
}

void WriteArtifact(JsonWriter& json, const std::string& file) {
  const bool is_absolute = file.front() == '/';
  const bool is_below_home = file.front() == '~';
  json.Key("artifactLocation");
  json.BeginObject();
  json.Field("uri", (is_absolute ? "file://" : "") + EncodedPath(file));
  if (!is_absolute && !is_below_home) json.Field("uriBaseId", "SRCROOT");
  json.EndObject();
}

struct Result {
  const char* rule;
  const char* level;  // "error" or "note"
  std::string message;
  std::optional<analysis::Frame> frame;
  std::optional<std::string> native_symbol;
};

bool HasLine(const Result& result) {
  return result.frame && !result.frame->file.value_or("").empty() && result.frame->line.value_or(0) > 0;
}

void WriteLocation(JsonWriter& json, const Result& result) {
  json.BeginObject();
  if (HasLine(result)) {
    json.Key("physicalLocation");
    json.BeginObject();
    WriteArtifact(json, *result.frame->file);
    json.Key("region");
    json.BeginObject();
    json.Field("startLine", *result.frame->line);
    json.EndObject();
    json.EndObject();
  }
  const std::optional<std::string>& function = result.frame ? result.frame->function : result.native_symbol;
  if (function && !function->empty()) {
    json.Key("logicalLocations");
    json.BeginArray();
    json.BeginObject();
    json.Field("fullyQualifiedName", *function);
    json.Field("kind", "function");
    json.EndObject();
    json.EndArray();
  }
  json.EndObject();
}

// A result, or a notification of what has no line.
void WriteResult(JsonWriter& json, const Result& result) {
  json.BeginObject();
  if (HasLine(result)) {
    json.Field("ruleId", result.rule);
  } else {
    json.Key("associatedRule");
    json.BeginObject();
    json.Field("id", result.rule);
    json.EndObject();
  }
  json.Field("level", result.level);
  WriteMessage(json, "message", result.message);
  if (result.frame || result.native_symbol) {
    json.Key("locations");
    json.BeginArray();
    WriteLocation(json, result);
    json.EndArray();
  }
  json.EndObject();
}

// Equal for one site in findings and hunt.
using SiteKey = std::tuple<SiteKind, std::string, std::string>;
template <typename AnySite>
SiteKey KeyOf(const AnySite& site) {
  return {site.kind, PlaceText(site), fmt::format("{}", fmt::join(site.apis, " "))};
}

template <typename AnySite>
std::string SiteText(const AnySite& site) {
  const std::string cost =
      site.recoverable_ns ? fmt::format("; {} recoverable", FormatDuration(*site.recoverable_ns)) : "";
  const std::string backward = site.forward ? fmt::format(" in its backward, {}", site.forward->node) : "";
  const std::string in_operator = site.operator_name ? (site.forward ? ", in " : " in ") + *site.operator_name : "";
  return fmt::format("{}{}{} ({}), {} times{}", SiteKindName(site.kind), backward, in_operator,
                     fmt::join(site.apis, ", "), FormatCount(site.count), cost);
}

// A backward is shown at the line of its operator.
template <typename AnySite>
std::optional<analysis::Frame> LineOf(const AnySite& site) {
  return site.forward ? site.forward->frame : site.innermost_user;
}

std::vector<Result> Results(const analysis::HuntReport& report) {
  std::vector<Result> results;
  std::set<SiteKey> over;
  const analysis::BudgetVerdict verdict = report.budget.value_or(analysis::BudgetVerdict());
  for (const analysis::BudgetFinding& finding : verdict.findings) {
    if (finding.outcome != analysis::BudgetOutcome::kExceeded) continue;
    const std::string range = finding.range ? " in range " + *finding.range : "";
    const std::string excess = fmt::format("over the budget: {}{} {}, {} found", BudgetQuantityName(finding.quantity),
                                           range, LimitText(finding), FoundText(finding));
    if (finding.sites.empty()) results.push_back({kBudgetRule, "error", excess, std::nullopt, std::nullopt});
    for (const analysis::BudgetSite& site : finding.sites) {
      over.insert(KeyOf(site));
      results.push_back({SiteKindName(site.kind), "error", fmt::format("{}; {}", SiteText(site), excess), LineOf(site),
                         site.native_symbol});
    }
  }
  for (const analysis::Site& site : report.sites) {
    if (over.contains(KeyOf(site))) continue;
    results.push_back({SiteKindName(site.kind), "note", SiteText(site), LineOf(site), site.native_symbol});
  }
  return results;
}

void WriteRules(JsonWriter& json) {
  const auto write = [&](const char* id, const char* text) {
    json.BeginObject();
    json.Field("id", id);
    json.Key("shortDescription");
    json.BeginObject();
    json.Field("text", text);
    json.EndObject();
    json.EndObject();
  };
  json.Key("rules");
  json.BeginArray();
  for (int kind = 0; kind < analysis::kSiteKindCount; ++kind) {
    write(SiteKindName(static_cast<SiteKind>(kind)), RuleText(static_cast<SiteKind>(kind)));
  }
  write(kBudgetRule, "More than the budget allows, at no known line.");
  json.EndArray();
}

// What is no result: sites and excesses without a line, for code scanning refuses a file with a result that has none;
// and what a reader must know to trust the results: limits that could not be judged, lost data, expired allowances.
void WriteInvocation(JsonWriter& json, const analysis::HuntReport& report, const std::vector<Result>& results) {
  std::vector<std::string> texts;
  const analysis::BudgetVerdict verdict = report.budget.value_or(analysis::BudgetVerdict());
  for (const analysis::BudgetFinding& finding : verdict.findings) {
    if (finding.outcome == analysis::BudgetOutcome::kInconclusive) texts.push_back(FindingSentence(finding));
  }
  texts.insert(texts.end(), verdict.notes.begin(), verdict.notes.end());
  if (!report.counts_complete) texts.emplace_back("Data was lost: the counts are incomplete.");
  json.Key("invocations");
  json.BeginArray();
  json.BeginObject();
  json.Field("executionSuccessful", true);
  json.Key("toolExecutionNotifications");
  json.BeginArray();
  for (const Result& result : results) {
    if (!HasLine(result)) WriteResult(json, result);
  }
  for (const std::string& text : texts) {
    json.BeginObject();
    json.Field("level", "warning");
    WriteMessage(json, "message", text);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  json.EndArray();
}

void WriteTool(JsonWriter& json) {
  json.Key("tool");
  json.BeginObject();
  json.Key("driver");
  json.BeginObject();
  json.Field("name", "stallhound");
  json.Field("version", kVersion);
  WriteRules(json);
  json.EndObject();
  json.EndObject();
}

}  // namespace

std::string HuntSarif(const analysis::HuntReport& report) {
  std::string text;
  JsonWriter json(&text, 1);
  json.BeginObject();
  json.Field("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  json.Field("version", "2.1.0");
  json.Key("runs");
  json.BeginArray();
  json.BeginObject();
  WriteTool(json);
  json.Key("originalUriBaseIds");
  json.BeginObject();
  json.Key("SRCROOT");
  json.BeginObject();
  WriteMessage(json, "description", "The folder of the project that was recorded.");
  json.EndObject();
  json.EndObject();
  const std::vector<Result> results = Results(report);
  WriteInvocation(json, report, results);
  json.Key("results");
  json.BeginArray();
  for (const Result& result : results) {
    if (HasLine(result)) WriteResult(json, result);
  }
  json.EndArray();
  json.EndObject();
  json.EndArray();
  json.EndObject();
  json.Finish().IgnoreError();  // appending to a string cannot fail
  return text;
}

}  // namespace stallhound::reports
