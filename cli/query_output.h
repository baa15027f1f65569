#pragma once

// Rows of a query as a table for eyes, as CSV (RFC 4180, one header line) or as JSON (an array of one object a row).
// NULL is "" in tables and CSV and null in JSON; blobs are x'hex'.

#include <absl/status/status.h>

#include <memory>
#include <string>

#include "capture/file/query.h"
#include "cli/console.h"

namespace stallhound::cli {

class QueryOutput : public capture::QueryVisitor {
 public:
  // After the last row of a query that went well.
  virtual absl::Status Finish() = 0;
};

// `format` is "table", "csv" or "json". Prints to the console's out, which must outlive it.
std::unique_ptr<QueryOutput> MakeQueryOutput(const std::string& format, Console& console);

}  // namespace stallhound::cli
