#include "analysis/hunt/steps/submissions.h"

#include <absl/hash/hash.h>
#include <absl/strings/ascii.h>
#include <absl/strings/match.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/status_macros.h"

namespace stallhound::analysis {
namespace {

using capture::ApiClass;
using capture::Table;

bool NamesOptimizer(std::string_view name) {
  const std::string lower = absl::AsciiStrToLower(std::string(name));
  for (const char* word : {"multi_tensor_apply", "multitensorapply", "adam", "optimizer", "adagrad", "rmsprop"}) {
    if (absl::StrContains(lower, word)) return true;
  }
  return false;
}

std::optional<TokenKind> KindOfCall(ApiClass api_class, bool has_kernels) {
  switch (api_class) {
    case ApiClass::kDeviceSync:
    case ApiClass::kStreamSync:
    case ApiClass::kEventSync:
    case ApiClass::kCopyBlocking:
      return TokenKind::kWait;
    case ApiClass::kDeviceAllocate:
    case ApiClass::kHostAllocate:
    case ApiClass::kHostRegister:
    case ApiClass::kVirtualMemory:
    case ApiClass::kModuleLoad:
    case ApiClass::kGraphInstantiate:
      return TokenKind::kGrowth;
    case ApiClass::kKernelLaunch:
    case ApiClass::kGraphLaunch:
    case ApiClass::kMemset:
      return has_kernels ? std::nullopt : std::optional(TokenKind::kWork);
    default:
      return std::nullopt;
  }
}

class SubmissionVisitor : public capture::CaptureVisitor {
 public:
  explicit SubmissionVisitor(const capture::CaptureReader& reader)
      : reader_(reader), has_kernels_(reader.info().recorded.test(static_cast<size_t>(Table::kKernel))) {}

  absl::Status On(const capture::KernelShapeBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      const capture::KernelShapeRow row = batch.Get(i);
      const size_t name = absl::HashOf(0, row.name);
      const size_t shape =
          absl::HashOf(name, row.grid_x, row.grid_y, row.grid_z, row.block_x, row.block_y, row.block_z);
      const bool is_optimizer = NamesOptimizer(reader_.strings().Get(row.name));
      shape_tokens_[row.kernel_shape_id] = TokenOf(shape, name, {TokenKind::kWork, is_optimizer});
    }
    return absl::OkStatus();
  }
  absl::Status On(const capture::KernelBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      const auto it = shape_tokens_.find(batch.kernel_shape_id[i]);
      if (it != shape_tokens_.end()) AddWork(batch, i, it->second);
    }
    return absl::OkStatus();
  }
  absl::Status On(const capture::CopyBatch& batch) override {
    using capture::CopyDirection;
    for (size_t i = 0; i < batch.size; ++i) {
      const bool is_between =
          batch.direction[i] == CopyDirection::kHostToDevice || batch.direction[i] == CopyDirection::kDeviceToHost;
      const size_t name = absl::HashOf(1, batch.direction[i]);
      AddWork(batch, i,
              TokenOf(absl::HashOf(name, batch.bytes[i]), name, {is_between ? TokenKind::kCopy : TokenKind::kWork}));
    }
    return absl::OkStatus();
  }
  absl::Status On(const capture::MemsetBatch& batch) override {
    const size_t name = absl::HashOf(2);
    for (size_t i = 0; i < batch.size; ++i) {
      AddWork(batch, i, TokenOf(absl::HashOf(name, batch.bytes[i]), name, {}));
    }
    return absl::OkStatus();
  }
  absl::Status On(const capture::HostCallBatch& batch) override {
    for (size_t i = 0; i < batch.size; ++i) {
      ProcessSubmissions& process = result_.processes[batch.process_id[i]];
      process.end_ns = std::max(process.end_ns, batch.end_ns[i]);
      const std::optional<TokenKind> kind = KindOfCall(batch.api_class[i], has_kernels_);
      if (!kind || batch.is_nested[i]) continue;
      const size_t name = absl::HashOf(3, batch.api[i]);
      process.sequence.push_back({batch.start_ns[i], TokenOf(name, name, {*kind})});
    }
    return absl::OkStatus();
  }
  absl::Status On(const capture::OverheadBatch& batch) override {
    using capture::OverheadKind;
    for (size_t i = 0; i < batch.size; ++i) {
      if (batch.kind[i] != OverheadKind::kModuleLoading && batch.kind[i] != OverheadKind::kLazyFunctionLoading)
        continue;
      const size_t name = absl::HashOf(4, batch.kind[i]);
      result_.processes[batch.process_id[i]].sequence.push_back(
          {batch.start_ns[i], TokenOf(name, name, {TokenKind::kGrowth})});
    }
    return absl::OkStatus();
  }

  Submissions Finish() {
    for (auto& [id, process] : result_.processes) {
      std::sort(process.sequence.begin(), process.sequence.end(), [](const PlacedToken& a, const PlacedToken& b) {
        return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.token < b.token;
      });
    }
    return std::move(result_);
  }

 private:
  template <typename Batch>
  void AddWork(const Batch& batch, size_t i, uint32_t token) {
    ProcessSubmissions& process = result_.processes[batch.process_id[i]];
    if (!batch.launch_start_ns[i]) {
      ++process.unplaced_count;
      return;
    }
    process.sequence.push_back({*batch.launch_start_ns[i], token});
    process.end_ns = std::max(process.end_ns, batch.launch_end_ns[i].value_or(*batch.launch_start_ns[i]));
  }
  uint32_t TokenOf(size_t key, size_t name_key, Token token) {
    const auto [it, is_new] = ids_.try_emplace(key, static_cast<uint32_t>(result_.tokens.size()));
    if (!is_new) return it->second;
    token.name_token = names_.try_emplace(name_key, it->second).first->second;
    result_.tokens.push_back(token);
    return it->second;
  }

  const capture::CaptureReader& reader_;
  const bool has_kernels_;
  Submissions result_;
  absl::flat_hash_map<size_t, uint32_t> ids_, names_;
  absl::flat_hash_map<uint32_t, uint32_t> shape_tokens_;
};

}  // namespace

absl::StatusOr<Submissions> ReadSubmissions(capture::CaptureReader& reader) {
  SubmissionVisitor visitor(reader);
  const capture::TableSet wanted = capture::Tables(
      {Table::kKernelShape, Table::kHostCall, Table::kKernel, Table::kCopy, Table::kMemset, Table::kOverhead});
  SH_RETURN_IF_ERROR(reader.Read(wanted & reader.info().recorded, visitor));
  return visitor.Finish();
}

void Content::Add(uint32_t token_id, const Token& token) {
  if (token.kind == TokenKind::kGrowth) {
    ++growth_count;
    return;
  }
  ++submission_count;
  optimizer_count += token.is_optimizer;
  const uint32_t mixed = (token_id * 2654435761U) >> 8;
  if (token.kind == TokenKind::kWork) {
    ++sketch[mixed % kWorkBucketCount];
    return;
  }
  ++(token.kind == TokenKind::kWait ? wait_count : copy_count);
  ++sketch[kWorkBucketCount + mixed % (kBucketCount - kWorkBucketCount)];
}

Content Content::operator-(const Content& earlier) const {
  Content result = *this;
  for (size_t i = 0; i < kBucketCount; ++i) result.sketch[i] -= earlier.sketch[i];
  result.submission_count -= earlier.submission_count;
  result.wait_count -= earlier.wait_count;
  result.copy_count -= earlier.copy_count;
  result.growth_count -= earlier.growth_count;
  result.optimizer_count -= earlier.optimizer_count;
  return result;
}

double Similarity(const Content& a, const Content& b) {
  int64_t difference = 0, total = 0;
  for (size_t i = 0; i < kBucketCount; ++i) {
    difference += std::abs(a.sketch[i] - b.sketch[i]);
    total += a.sketch[i] + b.sketch[i];
  }
  return total == 0 ? 1.0 : 1.0 - static_cast<double>(difference) / static_cast<double>(total);
}

Content MedianOf(const std::vector<Content>& contents) {
  Content result;
  if (contents.empty()) return result;
  const auto median = [&](auto&& get) {
    std::vector<int64_t> values;
    values.reserve(contents.size());
    for (const Content& content : contents) values.push_back(get(content));
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
  };
  for (size_t i = 0; i < kBucketCount; ++i) {
    result.sketch[i] = static_cast<int32_t>(median([i](const Content& content) { return content.sketch[i]; }));
    result.submission_count += result.sketch[i];
  }
  result.wait_count = static_cast<int32_t>(median([](const Content& content) { return content.wait_count; }));
  result.copy_count = static_cast<int32_t>(median([](const Content& content) { return content.copy_count; }));
  result.growth_count = static_cast<int32_t>(median([](const Content& content) { return content.growth_count; }));
  result.optimizer_count = static_cast<int32_t>(median([](const Content& content) { return content.optimizer_count; }));
  return result;
}

}  // namespace stallhound::analysis
