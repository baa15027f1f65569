#include <absl/strings/str_cat.h>

#include <utility>

#include "base/status_macros.h"
#include "capture/import/importer.h"
#include "capture/import/kineto.h"
#include "capture/import/nsys/nsys.h"
#include "capture/import/refusals.h"
#include "capture/import/results/gbench.h"
#include "capture/import/results/ncu_csv.h"
#include "capture/import/results/nvbench.h"

namespace stallhound::capture {

const std::vector<Importer>& Importers() {
  static const auto* const importers = new std::vector<Importer>{
      KinetoImporter(),        NvprofRefusal(),           NsysReportRefusal(),   NsysImporter(),
      ExecutionTraceRefusal(), ChakraRefusal(),           TritonServerRefusal(), RocprofRefusal(),
      PackedRefusal(),         GoogleBenchmarkImporter(), NvbenchImporter(),     NcuCsvImporter(),
  };
  return *importers;
}

namespace {

// The beginning of a file for a message, without anything unprintable.
std::string Beginning(std::string_view head) {
  constexpr size_t kShown = 40;
  std::string shown;
  for (const char c : head.substr(0, kShown)) shown += c >= ' ' && c < 127 ? c : '.';
  return shown;
}

absl::StatusOr<ForeignFile> OpenOne(std::shared_ptr<ImportSource> source) {
  ForeignFile file;
  file.name = source->name();
  SH_ASSIGN_OR_RETURN(const Importer* const importer, ChooseImporter(*source));
  if (importer->refuse != nullptr) return importer->refuse(*source);
  SH_ASSIGN_OR_RETURN(file.capture, importer->open(std::move(source)));
  return file;
}

}  // namespace

absl::StatusOr<const Importer*> ChooseImporter(const ImportSource& source) {
  const Importer* best = nullptr;
  Confidence best_confidence = Confidence::kNo;
  for (const Importer& importer : Importers()) {
    const Confidence confidence = importer.sniff(source);
    if (confidence <= best_confidence) continue;
    best = &importer;
    best_confidence = confidence;
  }
  if (best != nullptr) return best;
  if (!source.head_status().ok()) return source.head_status();
  std::string formats;
  for (const Importer& importer : Importers()) {
    if (importer.refuse == nullptr) absl::StrAppend(&formats, formats.empty() ? "" : ", ", importer.description);
  }
  return absl::InvalidArgumentError(absl::StrCat("importing ", source.path(), ": unknown format (begins with \"",
                                                 Beginning(source.head()), "\"); known are ", formats));
}

absl::Status ForEachForeign(const std::filesystem::path& path, const ImportOptions& options,
                            const std::function<absl::Status(ForeignFile file, bool is_archive)>& visit,
                            LeftOut* left_out) {
  SH_ASSIGN_OR_RETURN(ImportSources sources, OpenSources(path, options));
  absl::Status first_error;
  bool any_read = false;
  for (std::shared_ptr<ImportSource>& source : sources.sources) {
    const bool known = ChooseImporter(*source).ok() || !source->head_status().ok();
    absl::StatusOr<ForeignFile> file = OpenOne(std::move(source));
    if (file.ok()) {
      any_read = true;
      SH_RETURN_IF_ERROR(visit(*std::move(file), sources.is_archive));
      continue;
    }
    if (!sources.is_archive) return file.status();
    (known ? left_out->refused : left_out->skipped).emplace_back(file.status().message());
    if (first_error.ok()) first_error = file.status();
  }
  return any_read ? absl::OkStatus() : first_error;
}

absl::StatusOr<ForeignFiles> OpenForeign(const std::filesystem::path& path, const ImportOptions& options) {
  ForeignFiles result;
  const auto keep = [&result](ForeignFile file, bool is_archive) {
    result.is_archive = is_archive;
    result.files.push_back(std::move(file));
    return absl::OkStatus();
  };
  SH_RETURN_IF_ERROR(ForEachForeign(path, options, keep, &result.left_out));
  return result;
}

absl::StatusOr<ImportCounts> CountForeign(ForeignFile& file) {
  SH_ASSIGN_OR_RETURN(ImportCounts counts, CountCapture(*file.capture, file.capture->count_rules()));
  file.capture->AddFacts(counts);
  return counts;
}

}  // namespace stallhound::capture
