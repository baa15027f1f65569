#include "kernels/case_check.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>

#include "base/status_macros.h"
#include "kernels/tensor_source.h"

namespace stallhound::kernels {
namespace {

constexpr double kReferenceFactor = 2;
constexpr double kPerturbationFactor = 4;
constexpr uint64_t kPerturbationCount = 4;
constexpr int64_t kMemoryFactor = 8;

bool IsEmpty(const at::Tensor& tensor) { return tensor.numel() == 0; }

double LargestMagnitude(const at::Tensor& tensor) {
  return IsEmpty(tensor) ? 0 : tensor.detach().abs().max().item<double>();
}

// NaN if either holds one, unless both are equal there.
double LargestDifference(const at::Tensor& tensor, const at::Tensor& exact) {
  return LargestMagnitude(tensor.detach().to(at::kDouble) - exact);
}

class Oracle {
 public:
  Oracle(const Pair& pair, const Case& benchmark_case, const CaseRunner& runner)
      : pair_(pair), case_(benchmark_case), runner_(runner) {}

  Tensors Exact() const {
    return Compute([](const at::Tensor& wide) { return wide; });
  }

  // Each element of the inputs is moved by at most one rounding; equal for equal seeds.
  Tensors AfterRounding(uint64_t seed) const {
    TensorSource source(runner_.device(), seed);
    return Compute([&](const at::Tensor& wide) {
      return wide * (1 + FactsOf(case_.dtype).accumulation_rounding * source.Uniform(wide.sizes(), at::kDouble, -1, 1));
    });
  }

 private:
  using Change = std::function<at::Tensor(const at::Tensor& wide)>;

  static at::Tensor Widened(const at::Tensor& tensor, const Change& change) {
    return tensor.is_floating_point() ? change(tensor.detach().to(at::kDouble)) : tensor;
  }

  Tensors Compute(const Change& change) const {
    Tensors inputs;
    Tensors differentiable;
    for (size_t i = 0; i < pair_.inputs.size(); ++i) {
      inputs.push_back(Widened(runner_.inputs()[i], change));
      if (case_.pass == Pass::kForward || !pair_.inputs[i].is_differentiable) continue;
      inputs.back().set_requires_grad(true);
      differentiable.push_back(inputs.back());
    }
    Tensors outputs = pair_.oracle ? pair_.oracle(case_, inputs) : pair_.variants[kReference].forward(case_, inputs);
    if (case_.pass == Pass::kForward)
      return pair_.canonical_outputs ? pair_.canonical_outputs(case_, inputs, outputs) : outputs;
    Tensors gradients;
    for (const at::Tensor& gradient : runner_.output_gradients()) gradients.push_back(Widened(gradient, change));
    std::erase_if(outputs, [](const at::Tensor& output) { return !output.requires_grad(); });
    return torch::autograd::grad(outputs, differentiable, gradients);
  }

  const Pair& pair_;
  const Case& case_;
  const CaseRunner& runner_;
};

Tensors Canonical(const Pair& pair, const Case& benchmark_case, const CaseRunner& runner) {
  if (benchmark_case.pass == Pass::kBackward || !pair.canonical_outputs) return runner.results();
  return pair.canonical_outputs(benchmark_case, runner.inputs(), runner.results());
}

Comparison ComparisonOf(const Pair& pair, const Case& benchmark_case, size_t result) {
  return benchmark_case.pass == Pass::kBackward ? Comparison::kRounding : pair.outputs[result].comparison;
}

std::string Description(const at::Tensor& tensor) {
  if (!tensor.defined()) return "nothing";
  return fmt::format("{}{}", at::toString(tensor.scalar_type()), tensor.sizes().vec());
}

// What makes two tensors incomparable, or an empty string.
std::string FormProblem(const at::Tensor& result, const at::Tensor& reference) {
  if (result.defined() && reference.defined() && result.scalar_type() == reference.scalar_type() &&
      result.sizes() == reference.sizes()) {
    return "";
  }
  return fmt::format("is {}, the reference's is {}", Description(result), Description(reference));
}

class Check {
 public:
  Check(const Pair& pair, const Variant& variant, const Case& benchmark_case)
      : pair_(pair), variant_(variant), case_(benchmark_case) {}

  absl::Status Compare(const CaseRunner& runner, const Tensors& reference_results) {
    const Oracle oracle(pair_, case_, runner);
    const Tensors exact = oracle.Exact();
    const Tensors results = Canonical(pair_, case_, runner);
    if (results.size() != exact.size() || reference_results.size() != exact.size()) {
      return absl::DataLossError(fmt::format("{} gives {} results, the reference {}, the oracle {}", Id(),
                                             results.size(), reference_results.size(), exact.size()));
    }
    std::vector<double> changes;
    for (size_t i = 0; i < exact.size(); ++i) {
      std::string problem = FormProblem(results[i], reference_results[i]);
      if (problem.empty() && ComparisonOf(pair_, case_, i) == Comparison::kExact) {
        problem = at::equal(results[i], exact[i].to(results[i].scalar_type())) ? "" : "differs from the exact result";
      } else if (problem.empty()) {
        problem = RoundingProblem({results[i], reference_results[i], exact[i]}, [&] {
          if (changes.empty()) changes = LargestChanges(oracle, exact);
          return changes[i];
        });
      }
      if (!problem.empty()) {
        return absl::DataLossError(fmt::format("{}: {} {}", Id(), runner.result_names()[i], problem));
      }
    }
    return absl::OkStatus();
  }

 private:
  struct Triple {
    const at::Tensor& result;
    const at::Tensor& reference;
    const at::Tensor& exact;
  };

  std::string Id() const { return CaseId(pair_, variant_, case_); }

  // By result, what roundings of the inputs change; 0 where results must be equal.
  std::vector<double> LargestChanges(const Oracle& oracle, const Tensors& exact) const {
    std::vector<double> changes(exact.size(), 0);
    for (uint64_t seed = 1; seed <= kPerturbationCount; ++seed) {
      const Tensors rounded = oracle.AfterRounding(seed);
      for (size_t i = 0; i < exact.size(); ++i) {
        if (ComparisonOf(pair_, case_, i) == Comparison::kExact) continue;
        changes[i] = std::max(changes[i], LargestDifference(rounded[i], exact[i]));
      }
    }
    return changes;
  }

  // `perturbation` is asked only if the cheaper part of the limit does not suffice.
  std::string RoundingProblem(const Triple& triple, const std::function<double()>& perturbation) const {
    const double error = LargestDifference(triple.result, triple.exact);
    const double reference_error = LargestDifference(triple.reference, triple.exact);
    const double magnitude = LargestMagnitude(triple.exact);
    const double rounding = FactsOf(DTypeOf(triple.result)).storage_rounding;
    double limit = kReferenceFactor * reference_error + rounding * magnitude;
    if (variant_.peer_error_ratio) limit = *variant_.peer_error_ratio * magnitude;
    if (error <= limit) return "";
    if (!variant_.peer_error_ratio) limit += kPerturbationFactor * perturbation();
    if (error <= limit) return "";
    return fmt::format("is wrong: largest error {}, allowed {}, the reference's {}, largest exact value {}", error,
                       limit, reference_error, magnitude);
  }

  const Pair& pair_;
  const Variant& variant_;
  const Case& case_;
};

// The reference's graph is gone before the fp64 computation takes its memory.
absl::StatusOr<Tensors> ReferenceResults(const Pair& pair, const Case& benchmark_case,
                                         const CaseRunner::Options& options) {
  SH_ASSIGN_OR_RETURN(CaseRunner reference,
                      CaseRunner::Create(pair, pair.variants[kReference], benchmark_case, options));
  SH_RETURN_IF_ERROR(reference.Run());
  Tensors results;
  SH_RETURN_IF_ERROR(GuardTorch("check " + CaseId(pair, pair.variants[kReference], benchmark_case), [&] {
    for (const at::Tensor& result : Canonical(pair, benchmark_case, reference)) results.push_back(result.detach());
  }));
  return results;
}

}  // namespace

int64_t CheckBytes(const Pair& pair, const Case& benchmark_case) {
  return kMemoryFactor * pair.bytes(benchmark_case) * 8 / FactsOf(benchmark_case.dtype).element_bytes;
}

absl::Status CheckCase(const Pair& pair, const Variant& variant, const Case& benchmark_case,
                       const CaseRunner::Options& options) {
  SH_ASSIGN_OR_RETURN(const Tensors reference_results, ReferenceResults(pair, benchmark_case, options));
  SH_ASSIGN_OR_RETURN(CaseRunner runner, CaseRunner::Create(pair, variant, benchmark_case, options));
  SH_RETURN_IF_ERROR(runner.Run());
  absl::Status verdict;
  SH_RETURN_IF_ERROR(GuardTorch("check " + CaseId(pair, variant, benchmark_case), [&] {
    verdict = Check(pair, variant, benchmark_case).Compare(runner, reference_results);
  }));
  return verdict;
}

}  // namespace stallhound::kernels
