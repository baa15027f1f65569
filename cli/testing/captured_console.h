#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cli/console.h"

namespace stallhound::cli {

// A console whose streams are kept.
class CapturedConsole {
 public:
  CapturedConsole() = default;
  CapturedConsole(const CapturedConsole&) = delete;
  ~CapturedConsole() {
    fclose(out_);
    fclose(err_);
    free(out_text_);
    free(err_text_);
  }

  Console& console() { return console_; }
  std::string out() {
    fflush(out_);
    return {out_text_, out_bytes_};
  }
  std::string err() {
    fflush(err_);
    return {err_text_, err_bytes_};
  }

 private:
  char* out_text_ = nullptr;
  char* err_text_ = nullptr;
  size_t out_bytes_ = 0;
  size_t err_bytes_ = 0;
  FILE* out_ = open_memstream(&out_text_, &out_bytes_);
  FILE* err_ = open_memstream(&err_text_, &err_bytes_);
  Console console_{out_, err_};
};

}  // namespace stallhound::cli
