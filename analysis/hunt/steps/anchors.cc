#include "analysis/hunt/steps/anchors.h"

#include <absl/hash/hash.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace stallhound::analysis {
namespace {

constexpr int64_t kFewestOccurrences = 3;
constexpr size_t kMostCandidates = 64;
constexpr size_t kMostPerCount = 4;            // candidates that occur equally often say the same
constexpr size_t kMostRuns = size_t{1} << 18;  // different runs; more do not repeat
constexpr int64_t kSampleCount = 128;          // segments from which the typical one is made
constexpr double kExplainedRatio = 0.9;        // a lower one is no steady state
constexpr double kCoveredRatio = 0.5;          // steps that are less of the recording are not its steady state
constexpr int64_t kManySteps = 10;             // unless it ends with that many: autotuning may be most of a short run
// Without a wait, a copy or an optimizer it may be a layer: then it must explain nearly all.
constexpr double kUnboundedRatio = 0.95;

// What counts as one submission: runs of `length`, shapes told apart or names only.
struct Level {
  size_t length = 1;
  bool by_shape = true;
};
constexpr Level kLevels[] = {{1, true}, {1, false}, {3, true}, {3, false}, {8, false}};

// Gives each position that ends a run its key, and the content up to there.
class Walk {
 public:
  Walk(const ProcessSubmissions& process, const std::vector<Token>& tokens, Level level)
      : process_(process), tokens_(tokens), level_(level) {}

  // Calls visit(key, content before the position, time) at each submission that is no growth.
  template <typename Visit>
  Content ForEach(Visit&& visit) const {
    Content content;
    std::array<uint64_t, 8> window{};
    size_t count = 0;
    for (const PlacedToken& submission : process_.sequence) {
      const Token& token = tokens_[submission.token];
      const uint32_t id = level_.by_shape ? submission.token : token.name_token;
      if (token.kind != TokenKind::kGrowth) {
        window[count++ % level_.length] = id;
        if (count >= level_.length) visit(KeyOf(window, count), content, submission.time_ns);
      }
      content.Add(id, token);
    }
    return content;
  }

 private:
  uint64_t KeyOf(const std::array<uint64_t, 8>& window, size_t count) const {
    if (level_.length == 1) return window[0];
    uint64_t key = 0;
    for (size_t i = 0; i < level_.length; ++i) key = absl::HashOf(key, window[(count + i) % level_.length]);
    return key;
  }
  const ProcessSubmissions& process_;
  const std::vector<Token>& tokens_;
  const Level level_;
};

struct Occurrences {
  int64_t count = 0;
  int64_t first = 0;
  int64_t last = 0;
  double square_gaps = 0;
};

struct Candidate {
  uint64_t key = 0;
  int64_t count = 0;
  int64_t first = 0;
  // Filled by Sample and Compare.
  std::vector<Content> samples;
  Content typical;
  Content last;
  int64_t seen_count = 0;
  int64_t same_count = 0, typical_wait_count = 0;
  double same_similarity = 0;
  int64_t same_submissions = 0, first_same = -1, end_same = 0;

  double ExplainedRatio() const {
    if (same_count < 2) return 0;
    return static_cast<double>(same_submissions) / static_cast<double>(end_same - first_same) * same_similarity /
           static_cast<double>(same_count);
  }
  double WaitRatio() const { return static_cast<double>(typical_wait_count) / static_cast<double>(same_count); }
  int64_t period() const { return typical.submission_count; }
};

// The submissions that occur most regularly, at most kMostPerCount of those that occur equally often.
std::vector<Candidate> ChooseCandidates(const Walk& walk) {
  absl::flat_hash_map<uint64_t, Occurrences> all;
  walk.ForEach([&](uint64_t key, const Content& content, int64_t) {
    if (all.size() > kMostRuns) return;
    Occurrences& seen = all[key];
    const int64_t position = content.submission_count;
    if (seen.count++ == 0) {
      seen.first = position;
    } else {
      const auto gap = static_cast<double>(position - seen.last);
      seen.square_gaps += gap * gap;
    }
    seen.last = position;
  });
  if (all.size() > kMostRuns) return {};
  struct Scored {
    double irregularity;
    Candidate candidate;
  };
  std::vector<Scored> scored;
  for (const auto& [key, seen] : all) {
    if (seen.count < kFewestOccurrences) continue;
    const double gap_count = static_cast<double>(seen.count - 1);
    const double mean = static_cast<double>(seen.last - seen.first) / gap_count;
    Candidate candidate;
    candidate.key = key;
    candidate.count = seen.count;
    candidate.first = seen.first;
    scored.push_back({std::round(100 * (seen.square_gaps / gap_count / (mean * mean) - 1)), std::move(candidate)});
  }
  std::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
    return std::tuple(a.irregularity, a.candidate.count, a.candidate.first) <
           std::tuple(b.irregularity, b.candidate.count, b.candidate.first);
  });
  std::vector<Candidate> chosen;
  absl::flat_hash_map<int64_t, size_t> of_count;
  for (Scored& item : scored) {
    if (chosen.size() == kMostCandidates) break;
    if (of_count[item.candidate.count]++ < kMostPerCount) chosen.push_back(std::move(item.candidate));
  }
  return chosen;
}

// Calls visit(candidate, content of the segment that ends here, content up to here) at each segment's end. Returns the
// content of all.
template <typename Visit>
Content ForEachSegment(const Walk& walk, std::vector<Candidate>& candidates, Visit&& visit) {
  absl::flat_hash_map<uint64_t, size_t> index;
  for (size_t i = 0; i < candidates.size(); ++i) {
    index[candidates[i].key] = i;
    candidates[i].seen_count = 0;
  }
  return walk.ForEach([&](uint64_t key, const Content& content, int64_t) {
    const auto it = index.find(key);
    if (it == index.end()) return;
    Candidate& candidate = candidates[it->second];
    if (candidate.seen_count++ > 0) visit(candidate, content - candidate.last, content);
    candidate.last = content;
  });
}

// Fills the candidates. Returns the number of submissions.
int64_t CompareSegments(const Walk& walk, std::vector<Candidate>& candidates) {
  ForEachSegment(walk, candidates, [](Candidate& candidate, const Content& segment, const Content&) {
    const int64_t stride = candidate.count / kSampleCount + 1;
    if (candidate.seen_count % stride == 0 || candidate.count <= kSampleCount) candidate.samples.push_back(segment);
  });
  for (Candidate& candidate : candidates) {
    candidate.typical = MedianOf(candidate.samples);
    candidate.samples = {};
  }
  const auto compare = [](Candidate& candidate, const Content& segment, const Content& now) {
    const double similarity = Similarity(segment, candidate.typical);
    if (similarity < kSameStepRatio) return;
    if (candidate.first_same < 0) candidate.first_same = now.submission_count - segment.submission_count;
    candidate.end_same = now.submission_count;
    ++candidate.same_count;
    candidate.same_submissions += segment.submission_count;
    candidate.same_similarity += similarity;
    candidate.typical_wait_count += segment.wait_count == candidate.typical.wait_count;
  };
  return ForEachSegment(walk, candidates, compare).submission_count;
}

bool IsBounded(const Content& typical) {
  return typical.wait_count > 0 || typical.copy_count > 0 || typical.optimizer_count > 0;
}

enum class Fit { kFits, kUnequal, kTooLittle, kMaybeLayer };

Fit FitOf(const Candidate& candidate, int64_t whole_count) {
  if (candidate.ExplainedRatio() < kExplainedRatio) return Fit::kUnequal;
  const double covered_ratio =
      static_cast<double>(candidate.end_same - candidate.first_same) / static_cast<double>(whole_count);
  if (!IsBounded(candidate.typical)) return covered_ratio < kUnboundedRatio ? Fit::kMaybeLayer : Fit::kFits;
  // At both ends of an unbroken repetition up to a period is left.
  const double ends_ratio = 2.0 * static_cast<double>(candidate.period()) / static_cast<double>(whole_count);
  const bool is_end = candidate.same_count >= kManySteps && whole_count - candidate.end_same <= 2 * candidate.period();
  return is_end || covered_ratio + ends_ratio >= kCoveredRatio ? Fit::kFits : Fit::kTooLittle;
}

// Of what explains the recording nearly as well as the best: the shortest with an optimizer or as good as the best and
// with equal waits, else the longest, because a layer repeats too.
const Candidate* ChooseStep(const std::vector<Candidate>& candidates) {
  double best = 0;
  for (const Candidate& candidate : candidates) best = std::max(best, candidate.ExplainedRatio());
  if (candidates.empty()) return nullptr;
  const Candidate* shortest = nullptr;
  const Candidate* longest = nullptr;
  for (const Candidate& candidate : candidates) {
    const double explained = candidate.ExplainedRatio();
    const bool is_whole = candidate.typical.optimizer_count > 0 && candidate.WaitRatio() >= 0.8 &&
                          explained >= std::max(best - 0.1, kExplainedRatio);
    const bool is_best = explained >= best - 0.005 && candidate.WaitRatio() >= 0.97;
    if ((is_whole || is_best) && (shortest == nullptr || candidate.period() < shortest->period())) {
      shortest = &candidate;
    }
    if (explained >= best - 0.03 && (longest == nullptr || candidate.period() > longest->period())) {
      longest = &candidate;
    }
  }
  const Candidate* chosen = shortest != nullptr ? shortest : longest;
  // The same step, cut elsewhere: most whole steps, then the earliest.
  for (const Candidate& candidate : candidates) {
    const int64_t difference = std::abs(candidate.period() - chosen->period());
    if (difference * 50 > chosen->period() || candidate.ExplainedRatio() < chosen->ExplainedRatio() - 0.03) continue;
    if (std::tuple(-candidate.same_count, candidate.first) < std::tuple(-chosen->same_count, chosen->first)) {
      chosen = &candidate;
    }
  }
  return chosen;
}

Segment SegmentOf(const Candidate& candidate, const Content& content, int64_t start_ns, int64_t end_ns) {
  return {start_ns,
          end_ns,
          content.submission_count,
          Similarity(content, candidate.typical),
          content.wait_count,
          content.growth_count};
}

// The segments of one candidate; the last one ends after a typical number of submissions.
std::vector<Segment> Cut(const Walk& walk, const Candidate& candidate, int64_t end_ns) {
  std::vector<Segment> segments;
  std::optional<Content> last;
  std::optional<std::pair<Content, int64_t>> tail;  // where a typical segment from the last occurrence ends
  int64_t last_ns = 0;
  const Content whole = walk.ForEach([&](uint64_t key, const Content& content, int64_t time_ns) {
    if (last && !tail && content.submission_count - last->submission_count >= candidate.period()) {
      tail.emplace(content, time_ns);
    }
    if (key != candidate.key) return;
    if (last) segments.push_back(SegmentOf(candidate, content - *last, last_ns, time_ns));
    last = content;
    last_ns = time_ns;
    tail.reset();
  });
  if (!tail) tail.emplace(whole, end_ns + 1);
  if (last) segments.push_back(SegmentOf(candidate, tail->first - *last, last_ns, tail->second));
  return segments;
}

// Why none of the candidates is a step: the reason of the one that came furthest.
std::string WhyNone(const std::vector<Fit>& fits) {
  const Fit best = fits.empty() ? Fit::kUnequal : *std::max_element(fits.begin(), fits.end());
  switch (best) {
    case Fit::kMaybeLayer:
      return "what repeats has no wait, copy or optimizer and leaves work before or behind it: it may be a layer";
    case Fit::kTooLittle:
      return "what repeats is less than half of what was submitted";
    default:
      return "no submission repeats regularly with equal work between";
  }
}

}  // namespace

SequenceSteps FindSequenceSteps(const ProcessSubmissions& process, const std::vector<Token>& tokens) {
  SequenceSteps result;
  std::vector<Fit> fits;
  for (const Level& level : kLevels) {
    const Walk walk(process, tokens, level);
    std::vector<Candidate> candidates = ChooseCandidates(walk);
    if (candidates.empty()) continue;
    const int64_t whole_count = CompareSegments(walk, candidates);
    std::vector<Candidate> fitting;
    for (Candidate& candidate : candidates) {
      fits.push_back(FitOf(candidate, whole_count));
      if (fits.back() == Fit::kFits) fitting.push_back(std::move(candidate));
    }
    const Candidate* chosen = ChooseStep(fitting);
    if (chosen == nullptr) continue;
    result.segments = Cut(walk, *chosen, process.end_ns);
    result.explained_ratio = chosen->ExplainedRatio();
    return result;
  }
  result.reason = WhyNone(fits);
  return result;
}

}  // namespace stallhound::analysis
