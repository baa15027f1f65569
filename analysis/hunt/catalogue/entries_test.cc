// The entries that are built in: each explains what it should, and none stands in another's way.

#include <absl/strings/str_split.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "analysis/hunt/catalogue/catalogue.h"

namespace stallhound::analysis {
namespace {

using capture::ApiClass;
using capture::CopyDirection;
using capture::MemoryKind;

const char* ApiOf(ApiClass api) {
  static const std::map<ApiClass, const char*> names = {
      {ApiClass::kStreamSync, "cudaStreamSynchronize"}, {ApiClass::kDeviceSync, "cudaDeviceSynchronize"},
      {ApiClass::kEventSync, "cudaEventSynchronize"},   {ApiClass::kCopyBlocking, "cudaMemcpy"},
      {ApiClass::kDeviceAllocate, "cudaMalloc"},        {ApiClass::kDeviceFree, "cudaFree"},
      {ApiClass::kHostAllocate, "cudaHostAlloc"},       {ApiClass::kHostFree, "cudaFreeHost"},
      {ApiClass::kHostRegister, "cudaHostRegister"},    {ApiClass::kHostUnregister, "cudaHostUnregister"},
      {ApiClass::kModuleLoad, "cuLibraryLoadData"},
  };
  return names.at(api);
}

Frame FrameOf(const PlacePattern& place, const std::string& function) {
  Frame frame;
  switch (place.kind) {
    case PlacePattern::Kind::kPython:
      frame.kind = capture::FrameKind::kPython;
      frame.file = "site-packages/" + place.name + (place.name.ends_with('/') ? "file.py" : "");
      frame.function = "Class." + function;
      break;
    case PlacePattern::Kind::kNative:
      frame.module = "libany.so";
      frame.function = place.name + (place.name.ends_with("::") ? "call" : "") + "(at::Tensor const&)";
      break;
    case PlacePattern::Kind::kModule:
      frame.module = "site-packages/nvidia/lib/" + place.name + ".so.9";
      break;
    case PlacePattern::Kind::kOperator:  // no frame
      break;
  }
  return frame;
}

CopySummary CopyOf(CopyDirection direction, MemoryKind host_kind, uint64_t bytes) {
  const bool is_to_host = direction == CopyDirection::kDeviceToHost;
  return {direction, is_to_host ? MemoryKind::kDevice : host_kind, is_to_host ? host_kind : MemoryKind::kDevice, 1,
          bytes};
}

// As recorded ranges tell them, innermost first.
void SetOperators(Site& site, std::vector<std::string> operators) {
  site.operator_stack = std::move(operators);
  site.operator_name = site.operator_stack.front();
  site.operator_count = 1;
  site.operator_confidence = Confidence::kExact;
}

// The least site that fits the rule at this place.
Site LeastSite(const MatchRule& rule, std::vector<Frame> stack) {
  Site site;
  site.kind = rule.kinds.front();
  for (const ApiClass api : rule.apis) site.apis.emplace_back(ApiOf(api));
  if (rule.apis.empty()) site.apis = {"cudaStreamSynchronize"};
  if (rule.copy && rule.copy->direction) {
    site.copies = {CopyOf(*rule.copy->direction, *rule.copy->host_kind, rule.copy->bytes_at_most.value_or(1 << 20))};
  }
  site.stack = std::move(stack);
  return site;
}

std::vector<Frame> FramesOf(const PlacePattern& place) {
  if (place.functions.empty()) return {FrameOf(place, "f")};
  std::vector<Frame> frames;
  for (const std::string& function : place.functions) frames.push_back(FrameOf(place, function));
  return frames;
}

std::string MatchOf(const Site& site) {
  const CatalogueEntry* entry = BuiltInCatalogue().Match(site);
  return entry == nullptr ? "none" : entry->id;
}

TEST(EntriesTest, NoRuleStandsInAnothersWay) {
  for (const CatalogueEntry& entry : BuiltInCatalogue().entries()) {
    for (const MatchRule& rule : entry.rules) {
      if (rule.places.empty()) {
        EXPECT_EQ(MatchOf(LeastSite(rule, {})), entry.id);
      }
      for (const PlacePattern& place : rule.places) {
        if (place.kind == PlacePattern::Kind::kOperator) {
          Site site = LeastSite(rule, {});
          SetOperators(site, {place.name});
          EXPECT_EQ(MatchOf(site), entry.id) << place.name;
          continue;
        }
        for (const Frame& frame : FramesOf(place)) {
          EXPECT_EQ(MatchOf(LeastSite(rule, {frame})), entry.id) << place.name << " " << frame.function.value_or("");
        }
      }
    }
  }
}

// Sites as recordings have them, innermost frame first: "file.py:function" or a symbol; "user" is the user's Python.
struct Sample {
  const char* id;
  SiteKind kind;
  const char* apis;
  std::vector<CopySummary> copies;
  std::string stack;
};

Site SiteOf(const Sample& sample) {
  Site site;
  site.kind = sample.kind;
  site.apis = absl::StrSplit(sample.apis, ' ', absl::SkipEmpty());
  site.copies = sample.copies;
  for (const absl::string_view text : absl::StrSplit(sample.stack, ' ', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(text, ".py:");
    Frame frame;
    if (text == "user" || parts.size() == 2) {
      frame.kind = capture::FrameKind::kPython;
      frame.is_user = text == "user";
      frame.file = frame.is_user ? "train.py" : "site-packages/" + parts[0] + ".py";
      frame.function = frame.is_user ? "step" : parts[1];
    } else if (text.find(".so") != absl::string_view::npos) {
      frame.module = std::string(text);
    } else {
      frame.function = std::string(text);
      frame.module = "libtorch_cuda.so";
    }
    site.stack.push_back(std::move(frame));
  }
  return site;
}

constexpr SiteKind kWait = SiteKind::kWait;
constexpr char kStream[] = "cudaStreamSynchronize";

std::vector<CopySummary> ToDevice(uint64_t bytes) {
  return {CopyOf(CopyDirection::kHostToDevice, MemoryKind::kPageable, bytes)};
}
std::vector<CopySummary> ToHost(uint64_t bytes) {
  return {CopyOf(CopyDirection::kDeviceToHost, MemoryKind::kPageable, bytes)};
}

std::vector<Sample> PythonSamples() {
  return {
      {"value-read-back", kWait, kStream, {}, "user"},
      {"value-read-back", kWait, "cuStreamSynchronize", ToHost(4), "user"},
      {"tensor-to-cpu", kWait, kStream, ToHost(4096), "user"},
      {"tensor-to-cpu", kWait, kStream, ToHost(4), "torch/_tensor.py:Tensor.__array__ user"},
      {"small-tensor-to-device", kWait, kStream, ToDevice(16), "user"},
      {"pageable-to-device", kWait, kStream, ToDevice(16 << 20), "user"},
      {"boolean-of-tensor", kWait, kStream, {}, "torch/_tensor.py:Tensor.__contains__ user"},
      {"tensor-comparison", kWait, kStream, {}, "gpytorch/kernels/kernel.py:Kernel.__call__ user"},
      {"tensor-printing",
       kWait,
       kStream,
       {},
       "torch/_tensor_str.py:_Formatter.__init__ torch/_tensor.py:__repr__ user"},
      {"unique", kWait, kStream, {}, "torch/functional.py:_return_output torch/_jit_internal.py:fn user"},
      {"bincount", kWait, kStream, {}, "torchmetrics/utilities/data.py:_bincount torchmetrics/metric.py:update user"},
      {"graph-sizes",
       kWait,
       kStream,
       {},
       "torch_geometric/utils/num_nodes.py:maybe_num_nodes "
       "torch_geometric/utils/loop.py:add_self_loops user"},
      {"graph-self-loops",
       kWait,
       kStream,
       {},
       "torch_geometric/utils/loop.py:add_remaining_self_loops "
       "torch_geometric/nn/conv/gcn_conv.py:gcn_norm user"},
      {"linalg-check", kWait, kStream, {}, "linear_operator/utils/cholesky.py:_psd_safe_cholesky user"},
      {"clip-grad-check", kWait, kStream, {}, "torch/nn/utils/clip_grad.py:_get_total_norm user"},
      {"grad-scaler",
       kWait,
       kStream,
       {},
       "torch/amp/grad_scaler.py:GradScaler._maybe_opt_step.<locals>.<genexpr> user"},
      {"optimizer-step", kWait, kStream, {}, "torch/optim/optimizer.py:_get_value torch/optim/adam.py:adam user"},
      {"distribution-check", kWait, kStream, {}, "torch/distributions/distribution.py:Distribution.__init__ user"},
      {"embedding-max-norm", kWait, kStream, {}, "torch/nn/functional.py:_no_grad_embedding_renorm_ user"},
      {"packed-sequence", kWait, kStream, ToHost(64), "torch/nn/utils/rnn.py:pack_padded_sequence user"},
      {"box-suppression",
       kWait,
       kStream,
       {},
       "torch/_ops.py:OpOverloadPacket.__call__ torchvision/ops/boxes.py:nms user"},
      {"image-normalize", kWait, kStream, ToDevice(12), "torchvision/transforms/_functional_tensor.py:normalize user"},
      {"metric-logging", kWait, kStream, {}, "lightning/fabric/utilities/apply_func.py:to_item user"},
      {"blocking-batch", kWait, kStream, {}, "accelerate/utils/operations.py:send_to_device user"},
      {"module-to-device", kWait, kStream, ToDevice(4096),
       "torch/nn/modules/module.py:Module.to.<locals>.convert "
       "torch/nn/modules/module.py:Module.to user"},
  };
}

std::vector<Sample> ExplicitSamples() {
  return {
      {"device-sync", kWait, "cudaDeviceSynchronize", {}, "torch/cuda/__init__.py:synchronize user"},
      {"stream-sync", kWait, kStream, {}, "torch/cuda/streams.py:Stream.synchronize user"},
      {"event-sync", kWait, "cudaEventSynchronize", {}, "torch/cuda/streams.py:Event.synchronize user"},
      {"object-collectives", kWait, kStream, {}, "torch/distributed/distributed_c10d.py:_object_to_tensor user"},
      {"jax-read-back", SiteKind::kWait, "cuStreamSynchronize", {}, "jax/_src/array.py:ArrayImpl._value user"},
      {"empty-cache", SiteKind::kAllocator, "cudaFree", {}, "torch/cuda/memory.py:empty_cache user"},
      {"allocator-growth", SiteKind::kAllocator, "cudaMalloc cudaFree", {}, "torch/nn/functional.py:linear user"},
      {"device-free", SiteKind::kAllocator, "cudaFree", {}, "user"},
      {"pinned-allocation", SiteKind::kAllocator, "cudaHostAlloc", {}, "user"},
      {"module-loading",
       SiteKind::kLoader,
       "cuLibraryLoadData",
       {},
       "torch/nn/utils/clip_grad.py:clip_grad_norm_ user"},
      {"jit-compilation",
       SiteKind::kLoader,
       "cuModuleLoadData",
       {},
       "jax/_src/compiler.py:backend_compile_and_load user"},
      {"query-spin", SiteKind::kQuerySpin, "cudaEventQuery", {}, "user"},
  };
}

std::vector<Sample> NativeSamples() {
  constexpr char kItem[] = "libcudart.so.13 at::native::_local_scalar_dense_cuda at::_ops::item::call";
  const auto item_in = [&](const std::string& caller) { return std::string(kItem) + " " + caller; };
  constexpr char kNonzero[] =
      "libcudart.so.13 at::native::nonzero_out_cuda at::_ops::nonzero::call at::_ops::index_Tensor::call";
  return {
      {"value-read-back", kWait, kStream, {}, kItem},
      {"boolean-of-tensor", kWait, kStream, {}, item_in("at::native::is_nonzero")},
      {"one-hot", kWait, kStream, {}, item_in("at::native::one_hot")},
      {"repeat-interleave", kWait, kStream, {}, item_in("at::native::repeat_interleave_cuda")},
      {"multinomial", kWait, kStream, {}, item_in("at::native::multinomial_out")},
      {"linalg-check", kWait, kStream, {}, item_in("at::native::_linalg_check_errors")},
      {"clip-grad-cpp", kWait, kStream, {}, item_in("torch::nn::utils::clip_grad_norm_")},
      {"histogram-range", kWait, kStream, {}, item_in("at::native::_histc_cuda")},
      {"segment-reduce-check", kWait, kStream, {}, item_in("at::_ops::segment_reduce::call")},
      {"nonzero", kWait, kStream, {}, "libcudart.so.13 at::native::nonzero_out_cuda at::_ops::nonzero::call"},
      {"boolean-mask", kWait, kStream, {}, kNonzero},
      {"cpu-index", kWait, kStream, ToDevice(800), "at::native::copy_kernel_cuda at::_ops::index_Tensor::call"},
      {"unique", kWait, kStream, {}, "thrust::unique at::native::_unique2_cuda"},
      {"thrust-result", kWait, kStream, {}, "libcudart.so.13 thrust::cuda_cub::reduce main"},
      {"ctc-lengths", kWait, kStream, ToHost(64), "at::native::copy_ at::_ops::ctc_loss_Tensor::call"},
      {"stream-sync", kWait, kStream, {}, "libcudart.so.13 main"},
      {"blocking-copy", kWait, "cudaMemcpy", ToHost(4096), "libcudart.so.13 main"},
      {"pageable-async-copy", SiteKind::kPageableCopy, "cudaMemcpyAsync", ToHost(4096), "libcudart.so.13 main"},
      {"jax-numpy-argument", SiteKind::kPageableCopy, "cuMemcpyHtoDAsync", ToDevice(64),
       "libcuda.so xla_cuda_plugin.so"},
      {"library-first-use", SiteKind::kAllocator, "cudaMalloc cudaFree", {}, "libcudart.so.13 libcublas.so.13"},
      {"library-first-use", SiteKind::kLoader, "cuLibraryLoadData", {}, "libcuda.so.1 libcudnn_graph.so.9"},
      {"none", SiteKind::kLoader, "cuLibraryUnload", {}, "libcuda.so.1 libcudnn_graph.so.9"},
      {"none", kWait, "cudaDeviceSynchronize cudaMemcpy", {}, "libcudart.so.13 main"},
  };
}

TEST(EntriesTest, ExplainSitesAsRecordingsHaveThem) {
  std::set<std::string> seen;
  for (const std::vector<Sample>& samples : {PythonSamples(), ExplicitSamples(), NativeSamples()}) {
    for (const Sample& sample : samples) {
      EXPECT_EQ(MatchOf(SiteOf(sample)), sample.id) << sample.stack;
      seen.insert(sample.id);
    }
  }
  for (const CatalogueEntry& entry : BuiltInCatalogue().entries()) EXPECT_TRUE(seen.contains(entry.id)) << entry.id;
}

// On the user's own line: the stack names no function that was called.
TEST(EntriesTest, OperatorsTellWhatTheUsersLineCalls) {
  struct OperatorSample {
    const char* id;
    std::vector<std::string> operators;
    std::vector<CopySummary> copies;
  };
  const OperatorSample samples[] = {
      {"value-read-back", {"aten::_local_scalar_dense", "aten::item"}, {}},
      {"boolean-of-tensor", {"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero"}, {}},
      {"nonzero", {"aten::nonzero"}, {}},
      {"nonzero", {"aten::nonzero", "aten::argwhere"}, {}},
      {"boolean-mask", {"aten::nonzero", "aten::index"}, {}},
      {"boolean-mask", {"aten::nonzero", "aten::_index_put_impl_", "aten::index_put_"}, {}},
      {"cpu-index", {"aten::copy_", "aten::_to_copy", "aten::to", "aten::index"}, ToDevice(800)},
      {"unique", {"aten::_unique2"}, {}},
      {"tensor-comparison", {"aten::_local_scalar_dense", "aten::item", "aten::equal"}, {}},
      {"value-read-back", {"my::operator"}, {}},
  };
  for (const OperatorSample& sample : samples) {
    Site site = SiteOf({"", kWait, kStream, sample.copies, "user"});
    SetOperators(site, sample.operators);
    EXPECT_EQ(MatchOf(site), sample.id) << sample.operators.back();
  }
}

TEST(EntriesTest, AFunctionSaysMoreThanItsOperators) {
  Site site = SiteOf({"", kWait, kStream, {}, "torch/distributions/distribution.py:Distribution.__init__ user"});
  SetOperators(site, {"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero"});
  EXPECT_EQ(MatchOf(site), "distribution-check");
}

TEST(EntriesTest, FitATerminal) {
  for (const CatalogueEntry& entry : BuiltInCatalogue().entries()) {
    const std::string line = "  why: " + entry.title + " (stallhound explain " + entry.id + ")";
    EXPECT_LE(line.size(), 80u) << line;
    for (const std::string* section : {&entry.why, &entry.fix, &entry.before, &entry.after}) {
      for (const absl::string_view text : absl::StrSplit(*section, '\n')) EXPECT_LE(text.size(), 78u) << text;
    }
  }
}

}  // namespace
}  // namespace stallhound::analysis
