// The one way to standard output, for all subcommands.
//
// What is printed may hold names of any archive: no escape sequence reaches the terminal, and all is UTF-8. A disk that is
// full or an output that is closed is no success: finish_output() says so.
// Thread-safety: none. Cost: a copy of the text.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace refrain::tools {

void print(std::string_view text);
// Lines of a screen, whatever the names in them contain.
void print_lines(const std::vector<std::string>& lines);

template <typename... Values>
void print(fmt::format_string<Values...> format,
           Values&&... values) requires(sizeof...(Values) != 0) {
  print(std::string_view(fmt::format(format, std::forward<Values>(values)...)));
}

// Before the end of the command: fails if something was not written.
base::Result<> finish_output();

}  // namespace refrain::tools
