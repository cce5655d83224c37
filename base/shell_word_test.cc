#include <catch2/catch.hpp>

#include "base/texts.h"

namespace refrain::base::shell_word_test {

TEST_CASE("ShellWord: text - one word of a shell") {
  CHECK(shell_word("/home/me/run-1.2") == "/home/me/run-1.2");
  CHECK(shell_word("my run") == "'my run'");
  CHECK(shell_word("it's $HOME") == "'it'\\''s $HOME'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("~me") == "'~me'");
}

}  // namespace refrain::base::shell_word_test
