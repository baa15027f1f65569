#include "store/comparability.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <algorithm>

namespace stallhound::store {
namespace {

std::optional<std::string> AsText(const std::optional<int64_t>& number) {
  return number ? std::optional(fmt::format("{}", *number)) : std::nullopt;
}

std::optional<std::string> AsText(const std::optional<bool>& flag) {
  return flag ? std::optional<std::string>(*flag ? "on" : "off") : std::nullopt;
}

}  // namespace

std::vector<ComparableField> ComparableFields(const Hardware& hardware, const Environment& environment) {
  const auto of_gpu = [&](const std::optional<std::string>& value) {
    return hardware.gpu_count == 0 ? std::optional(value.value_or("none")) : value;
  };
  // "2.11.0+cu130" of a recording, "2.11.0" where only the program told it.
  std::optional<std::string> libtorch = environment.libtorch;
  if (libtorch) libtorch->resize(std::min(libtorch->size(), libtorch->find('+')));
  std::vector<ComparableField> fields = {{"gpu_name", of_gpu(hardware.gpu_name)},
                                         {"sm_count", of_gpu(AsText(hardware.sm_count))},
                                         {"mig_profile", of_gpu(hardware.mig_profile)},
                                         {"driver", environment.driver},
                                         {"cuda_runtime", environment.cuda_runtime},
                                         {"libtorch", libtorch},
                                         {"cudnn", environment.cudnn},
                                         {"cublas", environment.cublas},
                                         {"build_flags", environment.build_flags}};
  if (libtorch && libtorch->size() < environment.libtorch->size()) {
    fields.push_back({"libtorch_build", environment.libtorch->substr(libtorch->size() + 1)});
  }
  const auto add_of_times = [&](const char* name, const std::optional<std::string>& value) {
    fields.push_back({.name = name, .value = value, .is_of_times_only = true});
  };
  add_of_times("power_limit_mw", of_gpu(AsText(hardware.power_limit_mw)));
  add_of_times("ecc", of_gpu(AsText(hardware.ecc)));
  add_of_times("cpu_model", hardware.cpu_model);
  add_of_times("cpu_count", AsText(hardware.cpu_count));
  for (const auto& [name, value] : environment.switches) {
    fields.push_back({.name = name, .value = value, .is_switch = true});
  }
  return fields;
}

std::string ComparabilityKey(const Hardware& hardware, const Environment& environment) {
  std::string key;
  for (const ComparableField& field : ComparableFields(hardware, environment)) {
    if (field.is_of_times_only) continue;
    key += fmt::format("{}{}={}\n", field.is_switch ? "env." : "", field.name,
                       field.value ? absl::CEscape(*field.value) : "?");
  }
  return key;
}

}  // namespace stallhound::store
