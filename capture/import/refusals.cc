#include "capture/import/refusals.h"

#include <absl/strings/str_cat.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace stallhound::capture {
namespace {

bool HasAll(const ImportSource& source, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (source.head().find(word) == std::string_view::npos) return false;
  }
  return true;
}

Confidence CertainIf(bool condition) { return condition ? Confidence::kCertain : Confidence::kNo; }

absl::Status Refuse(const ImportSource& source, std::string_view what, std::string_view hint) {
  return absl::UnimplementedError(
      absl::StrCat("importing ", source.path(), ": this is ", std::string(what), "; ", std::string(hint)));
}

Confidence SniffNsysReport(const ImportSource& source) {
  return CertainIf(source.name().ends_with(".nsys-rep") || source.name().ends_with(".qdrep"));
}

absl::Status RefuseNsysReport(const ImportSource& source) {
  return Refuse(source, "an Nsight Systems report, a binary format of that program's versions",
                absl::StrCat("export it with: nsys export --type sqlite --output report.sqlite ", source.name()));
}

Confidence SniffNvprof(const ImportSource& source) {
  const bool sqlite = source.head().substr(0, 15) == "SQLite format 3";
  return CertainIf(sqlite && HasAll(source, {"StringTable"}) && !HasAll(source, {"StringIds"}));
}

absl::Status RefuseNvprof(const ImportSource& source) {
  return Refuse(source, "a database of nvprof or the Visual Profiler (StringTable, no StringIds)",
                "these tools ended with Volta: record with nsys or stallhound");
}

bool IsJson(const ImportSource& source) {
  const size_t first = source.head().find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (source.head()[first] == '{' || source.head()[first] == '[');
}

Confidence SniffExecutionTrace(const ImportSource& source) {
  return CertainIf(IsJson(source) && HasAll(source, {"\"nodes\"", "\"schema\""}) &&
                   !HasAll(source, {"\"traceEvents\""}));
}

absl::Status RefuseExecutionTrace(const ImportSource& source) {
  return Refuse(source, "a PyTorch execution trace (nodes of operators, no traceEvents): it holds no times of the GPU",
                "import the Kineto trace recorded beside it");
}

Confidence SniffChakra(const ImportSource& source) {
  return CertainIf(IsJson(source) && HasAll(source, {"\"workload_graph\""}));
}

absl::Status RefuseChakra(const ImportSource& source) {
  return Refuse(source, "a Chakra workload graph (workload_graph, no traceEvents): a description, not a recording",
                "import the Kineto trace that it was made from");
}

Confidence SniffTritonServer(const ImportSource& source) {
  const bool list = IsJson(source) && source.head()[source.head().find_first_not_of(" \t\r\n")] == '[';
  return CertainIf(list && HasAll(source, {"\"timestamps\""}) && !HasAll(source, {"\"ph\""}));
}

absl::Status RefuseTritonServer(const ImportSource& source) {
  return Refuse(source,
                "a request trace of an inference server (timestamps, no ph): it holds no GPU or operator activity",
                "record the server with nsys, torch.profiler or stallhound");
}

Confidence SniffRocprof(const ImportSource& source) {
  return CertainIf(IsJson(source) &&
                   (HasAll(source, {"\"rocprofiler-sdk-tool\""}) || HasAll(source, {"\"BeginNs\"", "\"EndNs\""})));
}

absl::Status RefuseRocprof(const ImportSource& source) {
  return Refuse(source, "a rocprof trace of an AMD GPU", "only CUDA recordings and Kineto traces are read");
}

constexpr std::pair<std::string_view, std::string_view> kPackings[] = {
    {"PK\x03\x04", "a zip archive"},
    {"\xfd"
     "7zXZ",
     "compressed by xz"},
    {"\x28\xb5\x2f\xfd", "compressed by zstd"},
    {"BZh", "compressed by bzip2"},
    {"7z\xbc\xaf", "a 7z archive"},
};

Confidence SniffPacked(const ImportSource& source) {
  for (const auto& [magic, what] : kPackings) {
    if (source.head().substr(0, magic.size()) == magic) return Confidence::kCertain;
  }
  return Confidence::kNo;
}

absl::Status RefusePacked(const ImportSource& source) {
  for (const auto& [magic, what] : kPackings) {
    if (source.head().substr(0, magic.size()) == magic) {
      return Refuse(source, what, "unpack it first; gzip and tar are read as they are");
    }
  }
  return absl::InternalError("a packing was recognised and then not found");
}

Importer Refusal(const char* format, const char* description, Confidence (*sniff)(const ImportSource&),
                 absl::Status (*refuse)(const ImportSource&)) {
  Importer importer;
  importer.format = format;
  importer.description = description;
  importer.sniff = sniff;
  importer.refuse = refuse;
  return importer;
}

}  // namespace

Importer NsysReportRefusal() { return Refusal("nsys-rep", "Nsight Systems report", SniffNsysReport, RefuseNsysReport); }
Importer NvprofRefusal() { return Refusal("nvprof", "nvprof database", SniffNvprof, RefuseNvprof); }
Importer ExecutionTraceRefusal() {
  return Refusal("execution-trace", "PyTorch execution trace", SniffExecutionTrace, RefuseExecutionTrace);
}
Importer ChakraRefusal() { return Refusal("chakra", "Chakra workload graph", SniffChakra, RefuseChakra); }
Importer TritonServerRefusal() {
  return Refusal("inference-server", "inference server request trace", SniffTritonServer, RefuseTritonServer);
}
Importer RocprofRefusal() { return Refusal("rocprof", "rocprof trace", SniffRocprof, RefuseRocprof); }
Importer PackedRefusal() { return Refusal("packed", "packed file", SniffPacked, RefusePacked); }

}  // namespace stallhound::capture
