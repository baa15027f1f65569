#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

namespace stallhound::cli {
namespace {

constexpr size_t kHelpColumn = 32;

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) { column_width(kHelpColumn); }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    return usage_.empty() ? CLI::Formatter::make_usage(app, std::move(name)) : "Usage: " + usage_ + "\n";
  }

 private:
  std::string usage_;
};

}  // namespace

CLI::App* CommandRegistry::Add(const CommandDescription& description, CommandAction action) {
  CLI::App* command = app_.add_subcommand(description.name, description.summary);
  const std::string usage = description.usage.empty() ? "" : "stallhound " + description.name + " " + description.usage;
  command->formatter(std::make_shared<HelpFormatter>(usage));
  command->footer("\n" + description.details);
  entries_.push_back({command, std::move(action), description.takes_program, description.argument_choices});
  return command;
}

}  // namespace stallhound::cli
