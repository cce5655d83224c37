// Input: the file of a job's event flow graph. It is refused with one line, or read; what was read is
// written and read again as the same, and can be drawn and merged.
#include <string>

#include "summary/merged_flow.h"
#include "test/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  const auto read = summary::merged_flow_from_text(
      std::string(reinterpret_cast<const char*>(data), size));
  fuzz::require(fuzz::one_line(read.error()), "an error is one line", read.error());
  if (!read) return 0;
  const summary::MergedFlow& flow = *read;
  fuzz::require(*summary::merged_flow_from_text(summary::to_text(flow)) == flow,
                "written and read again");
  for (const summary::FlowLink& link : summary::links(flow)) {
    fuzz::require(link.sums.to < flow.nodes.size(), "edges lead to nodes");
    fuzz::require(!summary::label(link).empty(), "an edge has a label");
  }
  return 0;
}
