#include <catch2/catch.hpp>
#include <string>

#include "base/texts.h"

namespace refrain::base::xml_text_test {

TEST_CASE("XML text: what XML has for itself is escaped, control characters are replaced") {
  CHECK(xml_text("a<b>&& \"x\" 'y'") == "a&lt;b&gt;&amp;&amp; &quot;x&quot; &apos;y&apos;");
  CHECK(xml_text("ünï %s {}") == "ünï %s {}");
  CHECK(xml_text(std::string("a\nb\x01\0c\x7f", 7)) == "a?b??c?");
  CHECK(xml_text("").empty());
}

}  // namespace refrain::base::xml_text_test
