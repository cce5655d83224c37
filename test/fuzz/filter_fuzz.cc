// Input: a filter file, a zero byte, and the name, linkage name and file of a region, with zero
// bytes between them.
#include "filters/region_filter.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  fuzz::Bytes bytes(data, size);
  const std::string_view text = bytes.until('\0');
  const std::string_view name = bytes.until('\0');
  const std::string_view mangled = bytes.until('\0');
  const std::string_view file = bytes.rest();
  filters::RegionFilter filter;
  const auto done = filter.parse(text);
  fuzz::require(fuzz::one_line(done.error()), "an error is one line", done.error());
  fuzz::require(done.ok() || filter.empty(), "a wrong filter excludes nothing");
  const bool out = filter.excludes(name, mangled, file);
  fuzz::require(!out || !filter.empty(), "an empty filter excludes nothing");
  fuzz::require(filters::glob_matches("*", name), "* matches all");
  fuzz::require(filter.excludes(name, mangled, file) == out, "the same answer twice");
  return 0;
}
