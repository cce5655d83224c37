#include <catch2/catch.hpp>

#include "base/texts.h"

namespace refrain::base::clean_text_test {
namespace {

TEST_CASE("clean_text: valid - is kept") {
  for (const char* text : {"", "main(int, char**)",
                           "Gr\xc3\xb6\xc3\x9f"
                           "e \xe2\x82\xac \xf0\x9f\x98\x80",
                           "a\tb\r\nc"})
    CHECK(clean_text(text) == text);
}

TEST_CASE("clean_text: not UTF-8 - one replacement for each wrong byte") {
  CHECK(clean_text("a\xff"
                   "b") ==
        "a\xef\xbf\xbd"
        "b");
  CHECK(clean_text("\xc3") == "\xef\xbf\xbd");                                  // cut
  CHECK(clean_text("\xc0\xaf") == "\xef\xbf\xbd\xef\xbf\xbd");                  // too long
  CHECK(clean_text("\xed\xa0\x80") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // surrogate
  CHECK(clean_text("\xf4\x90\x80\x80").size() == 12);  // beyond Unicode
}

TEST_CASE("clean_text: what a terminal obeys - is replaced") {
  CHECK(clean_text("\x1b[31mred") == "\xef\xbf\xbd[31mred");
  CHECK(clean_text(std::string_view("a\0b\x7f", 4)) ==
        "a\xef\xbf\xbd"
        "b\xef\xbf\xbd");
  CHECK(clean_text("\xc2\x9b"
                   "31m") ==
        "\xef\xbf\xbd"
        "31m");                                                 // CSI in 8 bits
  CHECK(clean_text("\xe2\x80\xae rtl") == "\xef\xbf\xbd rtl");  // right to left
}

TEST_CASE("clean_line: one line") { CHECK(clean_line("a\nb\tc\r") == "a b c "); }

TEST_CASE("xml_text: not UTF-8 - what XML's parsers accept") {
  CHECK(xml_text("f\xff<g>\x01\n") == "f\xef\xbf\xbd&lt;g&gt;??");
  CHECK(xml_text("\xef\xbf\xbf") == "\xef\xbf\xbd");  // U+FFFF is no character of XML
}

}  // namespace
}  // namespace refrain::base::clean_text_test
