#include "analysis/report/page_text.h"

namespace refrain::report {

std::string_view page_text() {
  return "<!doctype html>\n<meta charset=\"utf-8\">\n<title>refrain report</title>\n"
         "<!-- refrain:data -->\n";
}

}  // namespace refrain::report
