#pragma once

// Where a command prints: results to `out`, everything about the work itself to `err`.

#include <absl/status/status.h>

#include <cstdio>
#include <string_view>

namespace stallhound::cli {

// Not thread-safe.
class Console {
 public:
  // The streams must outlive the console.
  Console(FILE* out, FILE* err);

  // Text as it is.
  void Out(std::string_view text);
  void Err(std::string_view text);
  // What follows may quote a recording: the text is made Displayable (base/display_text.h).
  // One line "stallhound: warning: <text>" on err: our own failures, which never end the profiled program.
  void Warn(std::string_view text);
  // One line "stallhound: error: <text>" on err: why a command failed.
  void Error(std::string_view text);
  // One line "stallhound: <text>" on err.
  void Note(std::string_view text);

  // Terminals only; NO_COLOR (https://no-color.org) and TERM=dumb are respected.
  bool out_has_color() const { return out_has_color_; }
  bool err_has_color() const { return err_has_color_; }
  bool err_is_terminal() const { return err_is_terminal_; }
  // Columns of the terminal, 120 if there is none.
  int width() const { return width_; }

  // Pushes out what is buffered. An error (closed, disk full) of any earlier write is returned here.
  absl::Status Flush();

 private:
  FILE* out_;
  FILE* err_;
  int out_error_ = 0;  // errno of the first write to `out_` that failed
  bool err_is_terminal_;
  bool out_has_color_;
  bool err_has_color_;
  int width_;
};

}  // namespace stallhound::cli
