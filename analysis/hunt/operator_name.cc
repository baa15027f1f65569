#include "analysis/hunt/operator_name.h"

#include <algorithm>

namespace stallhound::analysis {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWordCharacter(char c) { return IsUpper(c) || IsDigit(c) || (c >= 'a' && c <= 'z') || c == '_'; }

// ", seq = 42", up to the end or the next comma; ", sizes = [".
bool IsOperatorSuffix(std::string_view text) {
  if (text.starts_with(", sizes = [")) return true;
  for (const std::string_view key : {", seq = ", ", op_id = "}) {
    if (!text.starts_with(key)) continue;
    text.remove_prefix(key.size());
    const auto end = std::find_if_not(text.begin(), text.end(), IsDigit);
    return end != text.begin() && (end == text.end() || *end == ',');
  }
  return false;
}

// Overloads that no operator's name ends in.
constexpr std::string_view kOverloads[] = {"_grad_input", "_correction",   "_dimname",  "_dtype",   "_dtype_layout",
                                           "_device",     "_names_dim",    "_other",    "_self",    "_self_int",
                                           "_source",     "_int",          "_stable",   "_src",     "_value",
                                           "_vec",        "_value_reduce", "_x_scalar", "_n_scalar"};

std::string_view WithoutOverload(std::string_view word) {
  for (size_t i = 1; i + 1 < word.size(); ++i) {
    if (word[i] != '_' || !IsUpper(word[i + 1])) continue;
    word = word.substr(0, i);
    break;
  }
  const auto remove = [&](std::string_view overload) {
    const bool ends = word.size() > overload.size() && word.ends_with(overload);
    if (ends) word.remove_suffix(overload.size());
    return ends;
  };
  remove("_out");
  for (const std::string_view overload : kOverloads) {
    if (remove(overload)) break;
  }
  return word;
}

// What follows the word of an operator's own functions, with or without their arguments.
bool IsEntry(std::string_view function) {
  for (const std::string_view entry : {"::call", "::redispatch"}) {
    if (!function.starts_with(entry)) continue;
    return function.size() == entry.size() || function[entry.size()] == '(';
  }
  return false;
}

}  // namespace

std::optional<std::string_view> OperatorOfText(std::string_view text) {
  // The first comma of most names is the one before the number; a template's arguments have others.
  for (size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',', comma + 1)) {
    if (IsOperatorSuffix(text.substr(comma))) return text.substr(0, comma);
  }
  for (const std::string_view scope : {"aten::", "autograd::engine::evaluate_function: "}) {
    if (text.size() > scope.size() && text.starts_with(scope)) return text;
  }
  return std::nullopt;
}

std::optional<std::string> OperatorOfSymbol(std::string_view symbol) {
  constexpr std::string_view kScope = "at::_ops::";
  if (!symbol.starts_with(kScope)) return std::nullopt;
  symbol.remove_prefix(kScope.size());
  const auto end = std::find_if_not(symbol.begin(), symbol.end(), IsWordCharacter);
  const std::string_view word(symbol.begin(), end);
  if (word.empty() || !IsEntry(symbol.substr(word.size()))) return std::nullopt;
  return "aten::" + std::string(WithoutOverload(word));
}

std::vector<std::string> OperatorsOfStack(const std::vector<Frame>& stack) {
  std::vector<std::string> operators;
  for (const Frame& frame : stack) {
    if (frame.kind != capture::FrameKind::kNative || !frame.function) continue;
    std::optional<std::string> name = OperatorOfSymbol(*frame.function);
    if (name && (operators.empty() || operators.back() != *name)) operators.push_back(std::move(*name));
  }
  return operators;
}

}  // namespace stallhound::analysis
