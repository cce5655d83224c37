// Input: values of settings, each after a byte that chooses the setting and ended by a zero byte.
#include <span>

#include "filters/settings.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  const std::span<const filters::SettingInfo> table = filters::setting_table();
  filters::Settings settings;
  for (fuzz::Bytes bytes(data, size); !bytes.empty();) {
    const filters::SettingInfo& info = table[bytes.number(1) % table.size()];
    const std::string_view text = bytes.until('\0');
    const std::string before = filters::value_text(settings, info);
    const auto done = filters::set_value(settings, info, text);
    const std::string after = filters::value_text(settings, info);
    fuzz::require(fuzz::one_line(done.error()), "an error is one line", done.error());
    if (!done) {
      fuzz::require(after == before, "wrong values change nothing", info.name);
      continue;
    }
    filters::Settings again;
    fuzz::require(filters::set_value(again, info, after).ok(), "a value's text can be set",
                  after);
    fuzz::require(filters::value_text(again, info) == after, "and is the same value",
                  after);
  }
  fuzz::require(fuzz::one_line(filters::check_together(settings).error()), "one complaint");
  return 0;
}
