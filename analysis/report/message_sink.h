// Messages of MPI in an archive: from where to where and when, the longest of them; and how many between which ranks.
//
// Place in the flow: ARCHITECTURE.md, stage 7: a sink of reader/archive_stream.h, next to others (event_views.h).
// Messages are matched by reader/message_matcher.h.
// Thread-safety: none. Units: ns since the start of the run; bytes.
// Memory: does not grow with the archive: what is pending, the longest kMax messages, a cell for each pair of groups
// of ranks that has messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/timeline_sink.h"
#include "base/result.h"
#include "reader/communicators.h"
#include "reader/message_matcher.h"
#include "reader/trace.h"

namespace refrain::report {

class MessageSink final : public reader::TraceSink {
 public:
  static constexpr std::size_t kMax = 100'000;
  static constexpr std::size_t kMaxGroups = 1024;

  struct Line {
    std::uint32_t from = 0, to = 0;  // rows
    double sent_ns = 0, received_ns = 0;
    double bytes = 0;
    double length() const { return received_ns - sent_ns; }
  };
  struct Cell {
    double messages = 0;
    double bytes = 0;
  };

  explicit MessageSink(const TimelineRows& rows) : rows_(rows), lines_(kMax) {}

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

  // After finish().
  const std::vector<Line>& lines() const { return kept_; }  // by the time of sending
  std::uint64_t matched() const { return lines_.seen(); }
  std::size_t ranks() const { return ranks_; }
  // First and last rank of each group.
  std::vector<std::pair<std::size_t, std::size_t>> groups() const;
  // By groups: from, to. Counted where they are sent.
  const std::map<std::pair<std::uint32_t, std::uint32_t>, Cell>& matrix() const {
    return matrix_;
  }

 private:
  void sent(const reader::TraceEvent& event);
  void matched(const reader::MatchedMessage& message);
  std::uint32_t group_of(std::uint32_t process) const;

  const TimelineRows& rows_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<std::uint64_t> entered_;  // by location: the region that it is in
  std::unique_ptr<reader::MessageMatcher> messages_;
  Longest<Line> lines_;
  std::vector<Line> kept_;
  std::size_t ranks_ = 0;
  std::size_t together_ = 1;  // ranks of a group
  std::map<std::pair<std::uint32_t, std::uint32_t>, Cell> matrix_;
};

// Collective operations of MPI in an archive: when the first and the last member came, and when the last one left.
//
// Operations of a communicator are numbered on each of its processes, as MPI requires them to be called in the same
// order. Those that do not block are left out. Thread-safety: none. Units: ns since the start of the run. Memory:
// does not grow with the archive: what is pending, and the longest kMax.

class CollectiveSink final : public reader::TraceSink {
 public:
  static constexpr std::size_t kMax = 50'000;
  static constexpr std::size_t kMaxPending = std::size_t{1} << 14;  // of a communicator

  struct Operation {
    std::uint32_t region = 0;
    std::uint32_t comm = 0;  // of TraceDefinitions::comms
    double first_ns = 0;     // enter
    double last_ns = 0;      // enter
    double left_ns = 0;
    double length() const { return left_ns - first_ns; }
  };

  CollectiveSink() : kept_(kMax) {}

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
  struct Call {
    std::uint32_t region = reader::kNone;
    double ns = 0;
    std::uint32_t comm = reader::kNone;  // of the operation that ends in it
  };

  void join(const Call& call, ProcessId process, double left_ns);

  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<Call> calls_;  // by location: the region entered last
  std::vector<reader::CommOperations<Pending>> comms_;
  Longest<Operation> kept_;
  std::vector<Operation> operations_;
};

}  // namespace refrain::report
