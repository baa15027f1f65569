#include "cli/gate/judgement_uuid.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <bit>
#include <vector>

#include "base/content_id.h"
#include "base/status_macros.h"

namespace stallhound::cli {
namespace {

std::string Content(const store::Judgement& judgement) {
  std::string content =
      fmt::format("{}\n{}\n{}\n{}\n", judgement.run_uuid, absl::StrJoin(judgement.baseline_run_uuids, ","),
                  judgement.rule_version, judgement.judged_at_ns);
  const auto add_number = [&](const auto& number) { content += number ? fmt::format("{}|", *number) : "-|"; };
  for (const store::Verdict& verdict : judgement.verdicts) {
    content += fmt::format("{}\n{}\n{}\n{}\n{}\n", verdict.suite, verdict.benchmark, verdict.metric,
                           store::Text(verdict.outcome), verdict.reason);
    for (const auto& number :
         {verdict.effect_ratio, verdict.interval_low_ratio, verdict.interval_high_ratio, verdict.p_value,
          verdict.q_value, verdict.smallest_p_value, verdict.detectable_effect_ratio}) {
      add_number(number);
    }
    add_number(verdict.baseline_round_count);
    add_number(verdict.run_round_count);
  }
  return content;
}

}  // namespace

std::string JudgementUuid(const store::Judgement& judgement) {
  const std::string content = Content(judgement);
  const uint64_t first = AddFnv(kFnvStart, content);
  return ContentUuid(first, AddFnv(std::rotl(first, 32) ^ kFnvStart, content));
}

absl::Status KeepJudgement(const store::Judgement& judgement, store::History& history) {
  SH_ASSIGN_OR_RETURN(std::vector<store::Judgement> known, history.ReadJudgements(judgement.run_uuid));
  if (!known.empty()) {
    store::Judgement& newest = known.front();
    newest.judged_at_ns = judgement.judged_at_ns;
    newest.uuid = judgement.uuid;
    if (newest == judgement) return absl::OkStatus();
  }
  return history.AppendJudgement(judgement).status();
}

}  // namespace stallhound::cli
