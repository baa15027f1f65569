#include "cli/console.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "base/display_text.h"

namespace stallhound::cli {
namespace {

constexpr int kDefaultWidth = 120;

bool IsTerminal(FILE* stream) {
  const int fd = fileno(stream);
  return fd >= 0 && isatty(fd) == 1;
}

bool WantsColor() {
  const char* no_color = getenv("NO_COLOR");
  const char* term = getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && term != nullptr && std::string_view(term) != "dumb";
}

int TerminalWidth(FILE* stream) {
  winsize size{};
  if (fileno(stream) < 0 || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kDefaultWidth;
  return size.ws_col;
}

bool Print(FILE* stream, std::string_view text) { return fwrite(text.data(), 1, text.size(), stream) == text.size(); }

}  // namespace

Console::Console(FILE* out, FILE* err)
    : out_(out),
      err_(err),
      err_is_terminal_(IsTerminal(err)),
      out_has_color_(IsTerminal(out) && WantsColor()),
      err_has_color_(IsTerminal(err) && WantsColor()),
      width_(TerminalWidth(IsTerminal(out) ? out : err)) {}

void Console::Out(std::string_view text) {
  if (!Print(out_, text) && out_error_ == 0) out_error_ = errno;
}

void Console::Err(std::string_view text) {
  if (fflush(out_) != 0 && out_error_ == 0) out_error_ = errno;
  Print(err_, text);
}

void Console::Warn(std::string_view text) {
  Err(fmt::format("stallhound: {}warning:{} {}\n", err_has_color_ ? "\x1b[33m" : "", err_has_color_ ? "\x1b[0m" : "",
                  Displayable(text)));
}

void Console::Error(std::string_view text) { Err(fmt::format("stallhound: error: {}\n", Displayable(text))); }

void Console::Note(std::string_view text) { Err(fmt::format("stallhound: {}\n", Displayable(text))); }

absl::Status Console::Flush() {
  fflush(err_);
  if (fflush(out_) != 0 && out_error_ == 0) out_error_ = errno;
  if (out_error_ == 0 && ferror(out_) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(out_error_ != 0 ? out_error_ : EIO, "writing the output");
}

}  // namespace stallhound::cli
