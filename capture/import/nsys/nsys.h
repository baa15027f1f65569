#pragma once

// Reads SQLite exports of Nsight Systems (`nsys export --type sqlite`), schemas of 2020 to 3.25, as recordings.
//
// The file is opened as immutable and surveyed once (capture/import/nsys/survey.h); then tables are streamed, joined by
// (process, correlation id). Memory: 32 bytes an API call, 48 a CUDA event, 40 an overhead, whatever the file's size;
// tables that are out of order are sorted by SQLite, which goes to temporary files. Environment, host names, users and
// command lines in the file are never read.

#include "capture/import/importer.h"

namespace stallhound::capture {

// CaptureInfo::format is "nsys", format_version the export's schema, producer "nsys <version>".
Importer NsysImporter();

}  // namespace stallhound::capture
