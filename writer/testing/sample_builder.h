// Files of samples made by hand, for tests: as the sampler in a traced program leaves them (spool/sample_format.h).
//
// Thread-safety: none. Errors: std::runtime_error where a file cannot be written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::spool {

class SampleBuilder {
 public:
  explicit SampleBuilder(std::uint64_t period_ns = 10'000'000) : period_ns_(period_ns) {}

  // Samples of one stack: the thread's number, its frames from the outermost on.
  SampleBuilder& add(const std::vector<std::uint64_t>& stack, std::uint64_t samples);
  // A node as it is, for files that are unusual; returns its number.
  std::uint32_t node(std::uint64_t address, std::uint32_t parent, std::uint64_t samples);
  SampleBuilder& counters(std::uint64_t shortened, std::uint64_t lost, std::uint64_t missed,
                          std::uint64_t not_followed, std::uint32_t threads_without);

  // The bytes of the file. Without `spare` nodes it is full.
  std::string file(std::uint32_t spare = 3) const;
  void write(const std::string& path) const;

 private:
  struct Node {
    std::uint64_t address;
    std::uint32_t parent;
    std::uint64_t samples;
  };
  std::uint64_t period_ns_;
  std::uint64_t shortened_ = 0, lost_ = 0, missed_ = 0, not_followed_ = 0;
  std::uint32_t threads_without_ = 0;
  std::vector<Node> nodes_{{0, 0, 0}};
};

}  // namespace refrain::spool
