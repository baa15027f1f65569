#include "analysis/gate/kernel_name.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_replace.h>
#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace stallhound::analysis::gate {
namespace {

std::string Demangle(std::string_view name) {
  std::string plain(name);
  if (!name.starts_with("_Z")) return plain;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(plain.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && demangled != nullptr ? std::string(demangled.get()) : plain;
}

bool IsIdentifier(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool IsUnitHash(std::string_view identifier) {
  return identifier.starts_with("_INTERNAL_") || identifier.starts_with("_GLOBAL__N_");
}

std::string ReplaceUnitHashes(std::string_view name) {
  std::string result;
  for (size_t i = 0; i < name.size();) {
    size_t end = i;
    while (end < name.size() && IsIdentifier(name[end])) ++end;
    if (end == i) {
      result += name[i++];
      continue;
    }
    const std::string_view identifier = name.substr(i, end - i);
    const bool is_hash = IsUnitHash(identifier) && name.substr(end).starts_with("::");
    result += is_hash ? std::string_view("(anonymous namespace)") : identifier;
    i = end;
  }
  return result;
}

size_t EndOfDigits(std::string_view text, size_t start) {
  while (start < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[start]))) ++start;
  return start;
}

// "{lambda(int)#2}" and "{unnamed type#1}" without the number.
std::string DropLambdaNumbers(std::string_view name) {
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '#') {
      const size_t end = EndOfDigits(name, i + 1);
      if (end > i + 1 && end < name.size() && name[end] == '}') {
        i = end - 1;
        continue;
      }
    }
    result += name[i];
  }
  return result;
}

std::string_view DropTritonPlace(std::string_view name) {
  if (!name.starts_with("triton_")) return name;
  const size_t underscore = name.rfind('_');
  const bool is_number = underscore + 1 < name.size() && EndOfDigits(name, underscore + 1) == name.size();
  return is_number ? name.substr(0, underscore) : name;
}

}  // namespace

std::string NormalizeKernelName(std::string_view name) {
  std::string result = DropLambdaNumbers(ReplaceUnitHashes(Demangle(name)));
  if (const size_t clone = result.find(" [clone "); clone != std::string::npos) result.resize(clone);
  while (absl::StrReplaceAll({{"> >", ">>"}}, &result) > 0) {
  }
  return std::string(DropTritonPlace(result));
}

}  // namespace stallhound::analysis::gate
