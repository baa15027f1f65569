#include "capture/import/test_import.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/status_macros.h"

namespace stallhound::capture {

std::string Gzip(std::string_view text) {
  z_stream zlib{};
  if (deflateInit2(&zlib, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(deflateBound(&zlib, text.size()) + 64, '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  zlib.avail_in = static_cast<uInt>(text.size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  deflate(&zlib, Z_FINISH);
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  return out;
}

std::string Tar(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string tar;
  for (const auto& [name, content] : files) {
    std::string header(512, '\0');
    name.copy(header.data(), 100);
    snprintf(header.data() + 100, 8, "%07o", 0644);
    snprintf(header.data() + 124, 12, "%011zo", content.size());
    header[156] = '0';
    std::string_view(
        "ustar\0"
        "00",
        8)
        .copy(header.data() + 257, 8);
    std::fill_n(header.begin() + 148, 8, ' ');
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    snprintf(header.data() + 148, 8, "%06o", sum);
    tar += header + content + std::string((512 - content.size() % 512) % 512, '\0');
  }
  return tar + std::string(1024, '\0');
}

absl::StatusOr<ForeignFiles> Import(const testing::TempDir& folder, std::string_view name, std::string_view content,
                                    const ImportOptions& options) {
  return OpenForeign(folder.Write(name, content), options);
}

bool Imported::HasNote(std::string_view word) const {
  const std::vector<std::string>& notes = capture->info().notes;
  return std::any_of(notes.begin(), notes.end(),
                     [word](const std::string& note) { return note.find(word) != std::string::npos; });
}

int64_t Imported::Loss(std::string_view id) const {
  const auto it = counts.losses.find(std::string(id));
  return it == counts.losses.end() ? 0 : it->second;
}

absl::StatusOr<Imported> ImportOne(std::string_view name, std::string_view content, const ImportOptions& options) {
  const testing::TempDir folder;
  SH_ASSIGN_OR_RETURN(ForeignFiles files, Import(folder, name, content, options));
  ForeignFile& file = files.files.front();
  Imported imported;
  SH_ASSIGN_OR_RETURN(imported.counts, CountForeign(file));
  SH_RETURN_IF_ERROR(file.capture->Read(AllTables(), imported.rows));
  imported.capture = std::move(file.capture);
  return imported;
}

}  // namespace stallhound::capture
