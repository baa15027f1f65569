#include "cli/commands/explain_command.h"

#include <absl/strings/match.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "analysis/hunt/catalogue/catalogue.h"
#include "cli/exit_code.h"
#include "cli/suggest.h"
#include "reports/text/explain_text.h"

namespace stallhound::cli {
namespace {

constexpr char kDetails[] =
    R"help(A report of `hunt` names, below a site, the entry that fits it. An entry says what happens, why the
host waits, what to do, how the code looks before and after, and where that knowledge is from. Without
ID it lists all.

Examples:
  stallhound explain
  stallhound explain value-read-back)help";

std::vector<std::string> Ids(const analysis::Catalogue& catalogue) {
  std::vector<std::string> ids;
  for (const analysis::CatalogueEntry& entry : catalogue.entries()) ids.push_back(entry.id);
  return ids;
}

absl::Status UnknownEntry(const std::string& id, const analysis::Catalogue& catalogue) {
  const std::vector<std::string> ids = Ids(catalogue);
  std::vector<std::string> nearest;
  for (const std::string& known : ids) {
    if (absl::StrContains(known, id)) nearest.push_back(known);
  }
  const std::optional<std::string> closest = ClosestWord(id, ids);
  if (closest && std::find(nearest.begin(), nearest.end(), *closest) == nearest.end()) nearest.push_back(*closest);
  const std::string hint =
      nearest.empty() ? "'stallhound explain' lists all" : fmt::format("did you mean {}?", fmt::join(nearest, " or "));
  return absl::NotFoundError(fmt::format("explaining '{0}': there is no entry '{0}'; {1}", id, hint));
}

absl::StatusOr<int> RunExplainCommand(const std::optional<std::string>& id, CommandContext& context) {
  const analysis::Catalogue& catalogue = analysis::BuiltInCatalogue();
  if (!id) {
    context.console.Out(reports::CatalogueText(catalogue));
    return kExitFine;
  }
  const analysis::CatalogueEntry* entry = catalogue.Find(*id);
  if (entry == nullptr) return UnknownEntry(*id, catalogue);
  context.console.Out(reports::EntryText(*entry, context.console.out_has_color()));
  return kExitFine;
}

}  // namespace

void AddExplainCommand(CommandRegistry& registry) {
  auto id = std::make_shared<std::optional<std::string>>();
  CLI::App* command = registry.Add(
      {
          .name = "explain",
          .summary = "Say why a sync point waits and how to avoid it",
          .usage = "[ID]",
          .details = kDetails,
          .argument_choices = [] { return Ids(analysis::BuiltInCatalogue()); },
      },
      [id](CommandContext& context) { return RunExplainCommand(*id, context); });
  command->add_option("id", *id, "The entry, as a report names it")->type_name("");
}

}  // namespace stallhound::cli
