#include "tools/output/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "base/texts.h"

namespace refrain::tools {
namespace {

int first_error = 0;  // of writing

void keep_error(bool written) {
  if (!written && first_error == 0) first_error = errno != 0 ? errno : EIO;
}

}  // namespace

void print(std::string_view text) {
  const std::string clean = base::clean_text(text);
  errno = 0;
  keep_error(std::fwrite(clean.data(), 1, clean.size(), stdout) == clean.size());
}

void print_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += base::clean_line(line) + "\n";
  print(std::string_view(text));
}

base::Result<> finish_output() {
  errno = 0;
  keep_error(std::fflush(stdout) == 0 && std::ferror(stdout) == 0);
  keep_error(std::cout.flush().good());  // CLI11's
  if (first_error == 0) return {};
  return base::Failure{std::string("cannot write standard output completely: ") +
                       std::strerror(first_error)};
}

}  // namespace refrain::tools
