#include "capture/import/kineto.h"

#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "capture/import/kineto/trace_reader.h"

namespace stallhound::capture {
namespace {

Confidence SniffKineto(const ImportSource& source) {
  std::string_view head = source.head();
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return Confidence::kNo;
  const auto has = [head](std::string_view word) { return head.find(word) != std::string_view::npos; };
  if (has("\"traceEvents\"") || (has("\"schemaVersion\"") && has("\"deviceProperties\""))) return Confidence::kLikely;
  if (head[first] == '[' && has("\"ph\"")) return Confidence::kLikely;
  return Confidence::kFallback;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ImportedCapture>> OpenKineto(std::shared_ptr<ImportSource> source) {
  SH_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream, source->OpenStream());
  return OpenTrace(std::move(stream), {source->path(), source->head(), source->options().partial});
}

Importer KinetoImporter() {
  Importer importer;
  importer.format = "kineto";
  importer.description = "PyTorch Kineto / Chrome trace JSON";
  importer.sniff = SniffKineto;
  importer.open = OpenKineto;
  return importer;
}

}  // namespace stallhound::capture
