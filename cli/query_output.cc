#include "cli/query_output.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/display_text.h"
#include "base/json_writer.h"

namespace stallhound::cli {
namespace {

using capture::QueryValue;
using Kind = QueryValue::Kind;

// Column widths are those of the first rows; a longer cell further down shifts its line.
constexpr size_t kMeasuredRows = 1000;

std::string Hex(std::string_view bytes) {
  std::string text = "x'";
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text + "'";
}

std::string Text(const QueryValue& value) {
  switch (value.kind) {
    case Kind::kNull:
      return {};
    case Kind::kInteger:
      return fmt::format("{}", value.integer);
    case Kind::kReal:
      return fmt::format("{}", value.real);
    case Kind::kText:
      return std::string(value.text);
    case Kind::kBlob:
      return Hex(value.text);
  }
  return {};
}

class TableOutput : public QueryOutput {
 public:
  explicit TableOutput(Console& console) : console_(console) {}

  absl::Status OnColumns(std::span<const std::string> names) override {
    std::vector<std::string> cells;
    for (const std::string& name : names) cells.push_back(Displayable(name));
    widths_.resize(cells.size());
    is_number_.assign(cells.size(), false);
    Hold(std::move(cells));
    return absl::OkStatus();
  }

  absl::Status OnRow(std::span<const QueryValue> values) override {
    std::vector<std::string> cells;
    for (size_t i = 0; i < values.size(); ++i) {
      cells.push_back(Displayable(Text(values[i])));
      const bool is_number = values[i].kind == Kind::kInteger || values[i].kind == Kind::kReal;
      if (held_.size() <= kMeasuredRows && is_number) is_number_[i] = true;
    }
    if (is_measured_) {
      PrintLine(cells);
    } else {
      Hold(std::move(cells));
      if (held_.size() > kMeasuredRows) PrintHeld();
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    PrintHeld();
    return absl::OkStatus();
  }

 private:
  void Hold(std::vector<std::string> cells) {
    for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], DisplayWidth(cells[i]));
    held_.push_back(std::move(cells));
  }

  void PrintHeld() {
    if (is_measured_) return;
    is_measured_ = true;
    PrintLine(held_.front());
    std::vector<std::string> rules;
    for (const size_t width : widths_) rules.emplace_back(width, '-');
    PrintLine(rules);
    for (size_t i = 1; i < held_.size(); ++i) PrintLine(held_[i]);
    held_.clear();
  }

  void PrintLine(const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t width = DisplayWidth(cells[i]);
      const std::string padding(widths_[i] > width ? widths_[i] - width : 0, ' ');
      if (i > 0) line += "  ";
      line += is_number_[i] ? padding + cells[i] : cells[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    console_.Out(line + "\n");
  }

  Console& console_;
  std::vector<size_t> widths_;
  std::vector<bool> is_number_;  // aligned to the right
  std::vector<std::vector<std::string>> held_;
  bool is_measured_ = false;
};

class CsvOutput : public QueryOutput {
 public:
  explicit CsvOutput(Console& console) : console_(console) {}

  absl::Status OnColumns(std::span<const std::string> names) override {
    std::string line;
    for (size_t i = 0; i < names.size(); ++i) line += (i > 0 ? "," : "") + Quoted(names[i]);
    console_.Out(line + "\n");
    return absl::OkStatus();
  }

  absl::Status OnRow(std::span<const QueryValue> values) override {
    std::string line;
    for (size_t i = 0; i < values.size(); ++i) line += (i > 0 ? "," : "") + Quoted(Text(values[i]));
    console_.Out(line + "\n");
    return absl::OkStatus();
  }

  absl::Status Finish() override { return absl::OkStatus(); }

 private:
  static std::string Quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
  }

  Console& console_;
};

class JsonOutput : public QueryOutput {
 public:
  explicit JsonOutput(Console& console)
      : console_(console), writer_([&console](std::string_view piece) {
          console.Out(piece);
          return absl::OkStatus();
        }) {}

  absl::Status OnColumns(std::span<const std::string> names) override {
    absl::flat_hash_set<std::string> used;
    for (const std::string& name : names) {
      std::string key = name;
      for (int copy = 2; !used.insert(key).second; ++copy) key = fmt::format("{}_{}", name, copy);
      keys_.push_back(std::move(key));
    }
    writer_.BeginArray();
    return absl::OkStatus();
  }

  absl::Status OnRow(std::span<const QueryValue> values) override {
    writer_.BeginObject();
    for (size_t i = 0; i < values.size(); ++i) {
      writer_.Key(keys_[i]);
      WriteValue(values[i]);
    }
    writer_.EndObject();
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    writer_.EndArray();
    const absl::Status status = writer_.Finish();
    console_.Out("\n");
    return status;
  }

 private:
  void WriteValue(const QueryValue& value) {
    switch (value.kind) {
      case Kind::kNull:
        return writer_.Null();
      case Kind::kInteger:
        return writer_.Int(value.integer);
      case Kind::kReal:
        return writer_.Double(value.real);
      case Kind::kText:
      case Kind::kBlob:
        return writer_.String(Text(value));
    }
  }

  Console& console_;
  JsonWriter writer_;
  std::vector<std::string> keys_;
};

}  // namespace

std::unique_ptr<QueryOutput> MakeQueryOutput(const std::string& format, Console& console) {
  if (format == "csv") return std::make_unique<CsvOutput>(console);
  if (format == "json") return std::make_unique<JsonOutput>(console);
  return std::make_unique<TableOutput>(console);
}

}  // namespace stallhound::cli
