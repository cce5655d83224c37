// Input: a byte; 0: then the file of a process' samples in its spool, else: that of an archive. It is refused with one
// line, or read; what was read is written and read again as the same, and is made a profile.
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>

#include "code_profile/loop_text.h"
#include "code_profile/samples/sample_file.h"
#include "code_profile/samples/sampled_profile.h"
#include "code_profile/samples/write_samples.h"
#include "spool/sample_reader.h"
#include "test/fuzz/fuzz.h"

namespace {

using namespace refrain;

void check(const code_profile::PlacedSamples& samples) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < samples.nodes.size(); ++i) {
    const code_profile::SampleNode& node = samples.nodes[i];
    const bool thread = node.parent == code_profile::SampleNode::kThread;
    fuzz::require(thread || node.parent < i, "parents come first");
    fuzz::require(thread || node.place < samples.places.size(), "nodes have places");
    all += node.samples;
  }
  fuzz::require(*code_profile::samples_from_text(code_profile::to_text(samples)) == samples,
                "written and read again");
  const code_profile::LoopProfile profile =
      *code_profile::sampled_profile({samples, samples});
  fuzz::require(profile.total[0] == 2 * all, "all samples are in the profile");
  for (const code_profile::Node& node : profile.nodes)
    fuzz::require(node.self[0] <= node.total[0] && node.total[0] <= profile.total[0],
                  "self is part of total, and total of all");
  for (const code_profile::Edge& edge : profile.edges)
    fuzz::require(edge.total[0] <= profile.nodes[edge.to].total[0] &&
                      edge.total[0] <= profile.nodes[edge.from].total[0],
                  "an edge has no more than its ends");
  fuzz::require(!code_profile::flat_text(profile, 0).empty(), "it is printed");
  fuzz::require(!code_profile::profile_json(profile).empty(), "it is printed as JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  if (data[0] == 0) {
    const auto read =
        spool::read_samples(std::as_bytes(std::span(data + 1, size - 1)), "file");
    fuzz::require(fuzz::one_line(read.error()), "an error is one line", read.error());
    if (!read) return 0;
    const spool::SampleTree& tree = *read;
    for (std::size_t i = 1; i < tree.nodes.size(); ++i)
      fuzz::require(tree.nodes[i].parent < i, "callers come first");
    check(code_profile::place_samples(
        tree, {"1000 2000 0 - /no/such/file", "3000 4000 0 - [vdso]"}));
    return 0;
  }
  const auto samples = code_profile::samples_from_text(
      std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  fuzz::require(fuzz::one_line(samples.error()), "an error is one line", samples.error());
  if (samples) check(*samples);
  return 0;
}
