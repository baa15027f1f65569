#include "bench/build_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace stallhound::bench {

std::string CompilerText() {
#ifdef __clang__
  std::string text = fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  std::string text = fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
  constexpr std::string_view kNvccVersion = STALLHOUND_NVCC_VERSION;
  if (!kNvccVersion.empty()) text += fmt::format(", nvcc {}", kNvccVersion);
  return text;
}

std::string BuildFlagsText() {
  std::vector<std::string_view> flags;
#ifdef __OPTIMIZE__
  flags.push_back("optimized");
#else
  flags.push_back("not optimized");
#endif
#ifndef NDEBUG
  flags.push_back("assertions");
#endif
#ifdef __SANITIZE_ADDRESS__
  flags.push_back("address-sanitizer");
#endif
  return fmt::format("{}", fmt::join(flags, ", "));
}

}  // namespace stallhound::bench
