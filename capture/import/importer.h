#pragma once

// Other tools' files as recordings. A format is one pair of files in this folder and one line in registry.cc.

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "capture/import/import_counts.h"
#include "capture/import/import_source.h"
#include "capture/reader.h"

namespace stallhound::capture {

// How sure an importer is that a file is of its format, by the file's head and name. The highest wins.
enum class Confidence {
  kNo = 0,
  kFallback = 1,  // could be: JSON of unknown shape
  kLikely = 2,    // typical words
  kCertain = 3,   // magic bytes or keys that no other format has
};

// A recording read from a foreign file.
class ImportedCapture : public CaptureReader {
 public:
  // Adds to `counts` what no table of the capture holds (rows without times, schema version, number of GPUs ...).
  // Called after the tables were counted.
  virtual void AddFacts(ImportCounts& counts) const = 0;
  virtual CountRules count_rules() const { return {}; }
};

// Exactly one of `open` and `refuse` is set.
struct Importer {
  const char* format;       // "kineto": the value of CaptureInfo::format
  const char* description;  // for messages: "PyTorch Kineto / Chrome trace JSON"
  Confidence (*sniff)(const ImportSource& source);
  // A recording. Errors: InvalidArgument (not what it seemed; the message says what is missing), DataLoss (damaged or
  // truncated), Unimplemented (a known format that is not read; the message says what to do instead).
  absl::StatusOr<std::unique_ptr<ImportedCapture>> (*open)(std::shared_ptr<ImportSource> source) = nullptr;
  // Known and not imported: why, and what to do instead.
  absl::Status (*refuse)(const ImportSource& source) = nullptr;
};

// All formats, in the order in which equal confidence is decided.
const std::vector<Importer>& Importers();

// The importer for a source. InvalidArgument: no format recognised; the message lists what the file begins with.
absl::StatusOr<const Importer*> ChooseImporter(const ImportSource& source);

// One file or archive member that can be read.
struct ForeignFile {
  std::string name;                          // member name in an archive, else the file's name
  std::unique_ptr<ImportedCapture> capture;  // never null
};

// Members of an archive that were not read, each as a message.
struct LeftOut {
  std::vector<std::string> refused;  // damaged, or of a format that is known and not read
  std::vector<std::string> skipped;  // of no known format: read-me files and the like
};

struct ForeignFiles {
  bool is_archive = false;
  std::vector<ForeignFile> files;  // never empty
  LeftOut left_out;
};

// Opens what is in `path` one after the other, so that an archive of many ranks takes the memory of one. `visit` may
// keep the file. What cannot be read goes to `left_out`, if the path is an archive; otherwise, and if nothing in an
// archive can be read, it is the error returned. An error of `visit` ends the walk and is returned.
absl::Status ForEachForeign(const std::filesystem::path& path, const ImportOptions& options,
                            const std::function<absl::Status(ForeignFile file, bool is_archive)>& visit,
                            LeftOut* left_out);

// Opens everything in `path` at once. An archive is an error only if none of its members can be read.
absl::StatusOr<ForeignFiles> OpenForeign(const std::filesystem::path& path, const ImportOptions& options);

// The counts of one file, as printed by `stallhound import --counts`.
absl::StatusOr<ImportCounts> CountForeign(ForeignFile& file);

}  // namespace stallhound::capture
