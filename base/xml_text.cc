#include "base/xml_text.h"

#include "base/clean_text.h"

namespace refrain::base {

std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '?' : c;
    }
  }
  return clean_text(out);
}

}  // namespace refrain::base
