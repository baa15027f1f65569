#include "capture/import/results/mended_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace stallhound::capture {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kStructure = "{}[],:\"";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// JSON's grammar of numbers (RFC 8259, section 6).
bool IsJsonNumber(std::string_view token) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t start = i;
    while (i < token.size() && IsDigit(token[i])) ++i;
    return i > start;
  };
  if (i < token.size() && token[i] == '-') ++i;
  const bool has_leading_zero = i + 1 < token.size() && token[i] == '0' && IsDigit(token[i + 1]);
  if (has_leading_zero || !digits()) return false;
  if (i < token.size() && token[i] == '.' && (++i, !digits())) return false;
  if (i < token.size() && (token[i] == 'e' || token[i] == 'E')) {
    ++i;
    if (i < token.size() && (token[i] == '+' || token[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == token.size();
}

// Where the object begins: at a brace with one of the keys behind it, else at the first brace.
size_t FindObject(std::string_view text, std::initializer_list<std::string_view> first_keys) {
  for (size_t brace = text.find('{'); brace != std::string_view::npos; brace = text.find('{', brace + 1)) {
    const size_t quote = text.find_first_not_of(kSpace, brace + 1);
    if (quote == std::string_view::npos) break;
    for (const std::string_view key : first_keys) {
      if (text.substr(quote, key.size() + 2) == fmt::format("\"{}\"", key)) return brace;
    }
  }
  return text.find('{');
}

class Mender {
 public:
  explicit Mender(std::string_view text) : text_(text) {}

  // `start` is that of the object's brace.
  void Run(size_t start, MendedJson& result);

 private:
  void CopyString();
  void CopyToken(MendedJson& result);
  size_t TokenEnd(size_t start) const;
  size_t GroupsEnd(size_t end) const;

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  std::string containers_;
  std::string out_;
};

void Mender::CopyString() {
  const size_t start = at_++;
  while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
  at_ = std::min(at_ + 1, text_.size());
  const std::string_view string = text_.substr(start, at_ - start);
  line_ += static_cast<int>(std::count(string.begin(), string.end(), '\n'));
  out_ += string;
}

size_t Mender::TokenEnd(size_t start) const {
  size_t end = start;
  while (end < text_.size() && kSpace.find(text_[end]) == std::string_view::npos &&
         kStructure.find(text_[end]) == std::string_view::npos) {
    ++end;
  }
  return end;
}

// Past the groups of three digits that follow a number ending at `end`. A comma followed by digits cannot separate
// members of an object, which begin with a quote.
size_t Mender::GroupsEnd(size_t end) const {
  constexpr size_t kGroup = 4;
  while (end + kGroup <= text_.size() && text_[end] == ',' &&
         std::all_of(text_.begin() + static_cast<std::ptrdiff_t>(end) + 1,
                     text_.begin() + static_cast<std::ptrdiff_t>(end + kGroup), IsDigit)) {
    end += kGroup;
  }
  return TokenEnd(end);
}

void Mender::CopyToken(MendedJson& result) {
  size_t end = TokenEnd(at_);
  const bool in_object = !containers_.empty() && containers_.back() == '{';
  if (in_object && IsJsonNumber(text_.substr(at_, end - at_))) end = GroupsEnd(end);
  const std::string_view token = text_.substr(at_, end - at_);
  at_ = end;
  if (token == "true" || token == "false" || token == "null" || IsJsonNumber(token)) {
    out_ += token;
    return;
  }
  result.mended.push_back({line_, std::string(token)});
  std::string number(token);
  number.erase(std::remove(number.begin(), number.end(), ','), number.end());
  if (number.ends_with('%') && IsJsonNumber(std::string_view(number).substr(0, number.size() - 1))) {
    out_ += fmt::format("{}", std::strtod(number.c_str(), nullptr) / 100);
  } else {
    out_ += IsJsonNumber(number) ? number : "null";
  }
}

void Mender::Run(size_t start, MendedJson& result) {
  line_ += static_cast<int>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(start), '\n'));
  at_ = start;
  out_.reserve(text_.size() - start);
  do {
    const char c = text_[at_];
    if (c == '"') {
      CopyString();
    } else if (kSpace.find(c) != std::string_view::npos || kStructure.find(c) != std::string_view::npos) {
      line_ += c == '\n' ? 1 : 0;
      if (c == '{' || c == '[') containers_.push_back(c);
      if ((c == '}' || c == ']') && !containers_.empty()) containers_.pop_back();
      out_ += c;
      ++at_;
    } else {
      CopyToken(result);
    }
  } while (at_ < text_.size() && !containers_.empty());
  result.is_cut = !containers_.empty();
  result.text = std::move(out_);
}

}  // namespace

MendedJson MendJson(std::string_view text, std::initializer_list<std::string_view> first_keys) {
  MendedJson result;
  const size_t start = FindObject(text, first_keys);
  result.before = text.substr(0, start);
  if (start == std::string_view::npos) {
    result.is_cut = true;
    return result;
  }
  Mender(text).Run(start, result);
  return result;
}

}  // namespace stallhound::capture
