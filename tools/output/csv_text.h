// Texts in CSV, as RFC 4180 has them.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Pure.
#pragma once

#include <string>

namespace refrain::tools {

inline std::string csv_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace refrain::tools
