// Collective operations of MPI in an archive: when the first and the last member came, and when the last one left.
//
// Place in the flow: ARCHITECTURE.md, stage 7: a sink of reader/archive_stream.h, beside others (event_views.h).
// Operations of a communicator are numbered on each of its processes, as MPI requires them to be called in the same
// order. Those that do not block are left out. Thread-safety: none. Units: ns since the begin of the run.
// Memory: does not grow with the archive: what is pending, and the longest kMost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "analysis/report/longest.h"
#include "base/result.h"
#include "reader/trace_sink.h"

namespace refrain::report {

class CollectiveSink final : public reader::TraceSink {
 public:
  static constexpr std::size_t kMost = 50'000;
  static constexpr std::size_t kMostPending = std::size_t{1} << 14;  // of a communicator

  struct Operation {
    std::uint32_t region = 0;
    std::uint32_t comm = 0;  // of TraceDefinitions::comms
    double first_ns = 0;     // enter
    double last_ns = 0;      // enter
    double left_ns = 0;
    double length() const { return left_ns - first_ns; }
  };

  CollectiveSink() : kept_(kMost) {}

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

  // After finish(); by the first enter.
  const std::vector<Operation>& operations() const { return operations_; }
  std::uint64_t seen() const { return kept_.seen(); }

 private:
  struct Pending {
    Operation operation;
    std::size_t members = 0;
  };
  struct Comm {
    std::size_t size = 0;
    std::uint64_t front = 0;  // number of the first that is pending
    std::deque<Pending> pending;
    std::map<std::uint32_t, std::uint64_t> next;  // by process
  };
  struct Call {
    std::uint32_t region = reader::kNone;
    double ns = 0;
    std::uint32_t comm = reader::kNone;  // of the operation that ends in it
  };

  void join(const Call& call, std::uint32_t process, double left_ns);

  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<Call> calls_;  // by location: the region entered last
  std::vector<Comm> comms_;
  Longest<Operation> kept_;
  std::vector<Operation> operations_;
};

}  // namespace refrain::report
