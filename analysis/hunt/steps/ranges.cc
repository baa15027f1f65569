#include "analysis/hunt/steps/ranges.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/status_macros.h"

namespace stallhound::analysis {
namespace {

using capture::RangeKind;

constexpr size_t kFewestOccurrences = 2;
constexpr double kHeldRatio = 0.8;          // of the work from the first to the last, what steps must hold
constexpr double kHeldRatioUnnamed = 0.95;  // if the name does not say that they are steps
constexpr double kSimilarRatio = 0.5;       // occurrences that must be like the typical one

std::string WithoutNumbers(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      text.push_back(c);
    } else if (text.empty() || text.back() != '\1') {
      text.push_back('\1');
    }
  }
  // "ProfilerStep#7" reads better as "ProfilerStep#" than as "ProfilerStep##".
  std::string result;
  for (const char c : text) {
    if (c != '\1') {
      result.push_back(c);
    } else if (result.empty() || result.back() != '#') {
      result.push_back('#');
    }
  }
  return result;
}

// "train_step", "ProfilerStep#7", "Step 12"; not "rewriter".
bool NamesStep(std::string_view name) {
  const std::string lower = absl::AsciiStrToLower(std::string(name));
  // "Optimizer.step" is a part of one.
  if (absl::StrContains(lower, "optimizer") || absl::StrContains(lower, "zero_grad")) return false;
  const auto is_letter = [](char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); };
  for (const char* word : {"step", "iter", "batch"}) {
    for (size_t at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
      if (at == 0 || !is_letter(name[at - 1]) || (name[at] != lower[at] && name[at - 1] == lower[at - 1])) return true;
    }
  }
  return false;
}

class RangeVisitor : public capture::CaptureVisitor {
 public:
  explicit RangeVisitor(const capture::CaptureReader& reader) : reader_(reader) {}

  absl::Status On(const capture::RangeBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      const RangeKind kind = batch.kind[i];
      if (kind == RangeKind::kOperator || kind == RangeKind::kMark || kind == RangeKind::kPythonFunction) continue;
      RangeGroup& group = GroupOf(batch.process_id[i], batch.name[i]);
      group.is_step_like = group.is_step_like || kind == RangeKind::kStep;
      group.occurrences.push_back({batch.start_ns[i], batch.end_ns[i].value_or(reader_.info().end_ns)});
    }
    return absl::OkStatus();
  }
  RangeGroups Finish() { return std::move(groups_); }

 private:
  RangeGroup& GroupOf(uint32_t process_id, capture::StringId name) {
    const auto [it, is_new] = by_name_.try_emplace({process_id, name}, 0);
    std::vector<RangeGroup>& groups = groups_[process_id];
    if (is_new) {
      const std::string text(reader_.strings().Get(name));
      std::string key = WithoutNumbers(text);
      const auto [known, is_new_key] = by_key_.try_emplace({process_id, key}, groups.size());
      if (is_new_key) groups.push_back({std::move(key), NamesStep(text), {}});
      it->second = known->second;
    }
    return groups[it->second];
  }

  const capture::CaptureReader& reader_;
  RangeGroups groups_;
  absl::flat_hash_map<std::pair<uint32_t, capture::StringId>, size_t> by_name_;
  absl::flat_hash_map<std::pair<uint32_t, std::string>, size_t> by_key_;
};

bool Overlap(const std::vector<RangeOccurrence>& occurrences) {
  for (size_t i = 1; i < occurrences.size(); ++i) {
    if (occurrences[i].start_ns < occurrences[i - 1].end_ns) return true;
  }
  return false;
}

// Some files hold a range twice, as an annotation and as a step.
void DropRepeated(std::vector<RangeOccurrence>& occurrences) {
  const auto same = [](const RangeOccurrence& a, const RangeOccurrence& b) {
    return a.start_ns == b.start_ns && a.end_ns == b.end_ns;
  };
  occurrences.erase(std::unique(occurrences.begin(), occurrences.end(), same), occurrences.end());
}

// Content of each occurrence, and of all from the first to the last.
std::pair<std::vector<Content>, Content> ContentsOf(const std::vector<RangeOccurrence>& occurrences,
                                                    const ProcessSubmissions& process,
                                                    const std::vector<Token>& tokens) {
  std::vector<Content> contents(occurrences.size());
  Content whole;
  size_t i = 0;
  for (const PlacedToken& submission : process.sequence) {
    while (i < occurrences.size() && submission.time_ns >= occurrences[i].end_ns) ++i;
    if (i == occurrences.size()) break;
    if (submission.time_ns < occurrences.front().start_ns) continue;
    const Token& token = tokens[submission.token];
    whole.Add(token.name_token, token);
    if (submission.time_ns >= occurrences[i].start_ns) contents[i].Add(token.name_token, token);
  }
  return {std::move(contents), whole};
}

std::optional<RangeSteps> TryGroup(const RangeGroup& group, const ProcessSubmissions& process,
                                   const std::vector<Token>& tokens) {
  const auto [contents, whole] = ContentsOf(group.occurrences, process, tokens);
  const Content typical = MedianOf(contents);
  RangeSteps steps;
  steps.name = group.name;
  int64_t held_count = 0;
  size_t same_count = 0;
  for (size_t i = 0; i < contents.size(); ++i) {
    const RangeOccurrence& occurrence = group.occurrences[i];
    const Content& content = contents[i];
    held_count += content.submission_count;
    steps.segments.push_back({occurrence.start_ns, occurrence.end_ns, content.submission_count,
                              Similarity(content, typical), content.wait_count, content.growth_count});
    same_count += steps.segments.back().similarity >= kSameStepRatio;
  }
  if (static_cast<double>(same_count) < kSimilarRatio * static_cast<double>(contents.size())) return std::nullopt;
  // Without any GPU work only the name can tell.
  if (process.sequence.empty()) return group.is_step_like ? std::optional(steps) : std::nullopt;
  if (whole.submission_count == 0) return std::nullopt;
  steps.explained_ratio = static_cast<double>(held_count) / static_cast<double>(whole.submission_count);
  const double needed = group.is_step_like ? kHeldRatio : kHeldRatioUnnamed;
  return steps.explained_ratio >= needed ? std::optional(steps) : std::nullopt;
}

}  // namespace

absl::StatusOr<RangeGroups> ReadRangeGroups(capture::CaptureReader& reader) {
  RangeVisitor visitor(reader);
  SH_RETURN_IF_ERROR(reader.Read(capture::Tables({capture::Table::kRange}), visitor));
  RangeGroups groups = visitor.Finish();
  for (auto& [process_id, of_process] : groups) {
    for (RangeGroup& group : of_process) DropRepeated(group.occurrences);
  }
  return groups;
}

RangeSteps FindRangeSteps(const std::vector<RangeGroup>& groups, const ProcessSubmissions& process,
                          const std::vector<Token>& tokens) {
  constexpr size_t kMostTried = 16;
  std::vector<std::tuple<bool, int64_t, const RangeGroup*>> order;  // steps by name first, then the longest
  for (const RangeGroup& group : groups) {
    if (group.occurrences.size() < kFewestOccurrences || Overlap(group.occurrences)) continue;
    int64_t total_ns = 0;
    for (const RangeOccurrence& occurrence : group.occurrences) total_ns += occurrence.end_ns - occurrence.start_ns;
    order.emplace_back(!group.is_step_like, -total_ns / static_cast<int64_t>(group.occurrences.size()), &group);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)->name) <
           std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b)->name);
  });
  if (order.size() > kMostTried) order.resize(kMostTried);
  for (const auto& [is_unnamed, negative_ns, group] : order) {
    if (std::optional<RangeSteps> steps = TryGroup(*group, process, tokens)) return *std::move(steps);
  }
  return {};
}

}  // namespace stallhound::analysis
