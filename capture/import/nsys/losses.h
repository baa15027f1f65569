#pragma once

// What was odd or missing in an export, counted by kind while it is surveyed.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/counters.h"

namespace stallhound::capture::nsys {

struct Loss {
  LossCounter counter{};
  int64_t count = 0;
  std::optional<int64_t> first_ns;  // in the export's time
  std::optional<int64_t> last_ns;
  std::string detail;
};

// One entry for each counter and detail.
class Losses {
 public:
  void Add(LossCounter counter, std::string detail, int64_t count = 1) {
    if (count > 0) Entry(counter, std::move(detail)).count += count;
  }
  void AddSpan(LossCounter counter, std::string detail, int64_t start_ns, int64_t end_ns) {
    Loss& loss = Entry(counter, std::move(detail));
    ++loss.count;
    loss.first_ns = std::min(start_ns, loss.first_ns.value_or(start_ns));
    loss.last_ns = std::max(end_ns, loss.last_ns.value_or(end_ns));
  }
  std::vector<Loss> List() const {
    std::vector<Loss> list;
    for (const auto& [key, loss] : losses_) list.push_back(loss);
    return list;
  }

 private:
  Loss& Entry(LossCounter counter, std::string detail) {
    Loss& loss = losses_[{counter, detail}];
    loss.counter = counter;
    loss.detail = std::move(detail);
    return loss;
  }

  std::map<std::pair<LossCounter, std::string>, Loss> losses_;
};

}  // namespace stallhound::capture::nsys
