// Texts in XML.
//
// Thread-safety: pure.
#pragma once

#include <string>
#include <string_view>

namespace refrain::base {

// As text or in the quotes of an attribute. XML knows no control characters: '?'; what else it
// forbids is replaced as clean_text() does.
std::string xml_text(std::string_view text);

}  // namespace refrain::base
