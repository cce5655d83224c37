// All that a report takes from the events of an archive, in one pass: the timeline, the marks of iterations, messages,
// collective operations and waits.
//
// Place in the flow: ARCHITECTURE.md, stage 7: a sink between reader/archive_stream.h and the replay of waits, which it
// hands all events on to. Thread-safety: none. Ownership: `profile` and `next` are the caller's, and must live as long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/profile/run_profile.h"
#include "analysis/report/message_sink.h"
#include "analysis/report/nest_sink.h"
#include "analysis/report/timeline_sink.h"
#include "base/result.h"
#include "reader/trace.h"
#include "waits/metrics/pattern.h"

namespace refrain::report {

// When threads waited, and for what: the longest waits.
//
// Thread-safety: none. Units: ticks of the archive's clock since its start. Memory: at most 2 * kMax waits.

class WaitIntervals final : public waits::WaitObserver {
 public:
  static constexpr std::size_t kMax = 200'000;

  struct Wait {
    std::uint32_t row = 0;
    std::uint32_t metric = 0;
    waits::Ticks begin = 0;
    waits::Ticks ticks = 0;
    double length() const { return static_cast<double>(ticks); }
  };

  explicit WaitIntervals(const TimelineRows& rows) : rows_(rows), kept_(kMax) {}

  void waited(const waits::Call& call, std::uint32_t metric, waits::Ticks begin,
              waits::Ticks wait) override {
    if (call.location < rows_.locations() && rows_.shown(call.location))
      kept_.add({rows_.row_of(call.location), metric, begin, wait});
  }

  // No more will come.
  void finish() {
    waits_ = kept_.take();
    std::ranges::sort(waits_, [](const Wait& a, const Wait& b) {
      return a.row != b.row ? a.row < b.row : a.begin < b.begin;
    });
  }
  std::uint64_t seen() const { return kept_.seen(); }
  // After finish(): by row and begin.
  const std::vector<Wait>& waits() const { return waits_; }

 private:
  const TimelineRows& rows_;
  Longest<Wait> kept_;
  std::vector<Wait> waits_;
};

class EventViews final : public reader::TraceSink, public waits::WaitObserver {
 public:
  // `marks_of`: reference of the location group whose iterations are shown; reader::kNone: any.
  EventViews(const analysis::RunProfile& profile, std::uint32_t marks_of)
      : profile_(profile), marks_of_(marks_of) {}
  void hand_on(reader::TraceSink* next) { next_ = next; }

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;
  void waited(const waits::Call& call, std::uint32_t metric, waits::Ticks begin,
              waits::Ticks wait) override {
    waits_->waited(call, metric, begin, wait);
  }

  // After begin(); complete after finish(). Definitions are gone with the stream: what blocks need is in `regions`,
  // `comms` and `ns_per_tick`.
  bool read() const { return timeline_.has_value(); }
  const TimelineRows& rows() const { return *rows_; }
  TimelineSink& timeline() { return *timeline_; }
  const NestSink& nest() const { return *nest_; }
  const MessageSink& messages() const { return *messages_; }
  const CollectiveSink& collectives() const { return *collectives_; }
  const WaitIntervals& waits() const { return *waits_; }

  struct Region {
    std::string name, file;
    std::uint32_t line = 0;
    bool loop = false;
    std::uint8_t cls = 0;   // of TimelineSink
    std::string site = {};  // of a call of MPI; empty: any
  };
  // Those of the archive, and after them the calls of the timeline.
  const std::vector<Region>& regions() const { return regions_; }
  const std::vector<std::string>& names() const {
    return names_;
  }  // of the profile's locations
  const std::vector<std::vector<std::uint32_t>>& comms() const { return comms_; }  // rows
  double ns_per_tick() const { return ns_per_tick_; }
  // When recording of a process began, by the profile's process; 0 if it has no events.
  double begin_of(std::uint32_t process) const {
    return process < begins_.size() ? begins_[process] : 0;
  }
  std::uint32_t marks_rank() const { return marks_rank_; }

 private:
  void take_calls();
  void take_names(const reader::TraceDefinitions& definitions,
                  const std::vector<std::uint32_t>& reported);

  const analysis::RunProfile& profile_;
  std::uint32_t marks_of_;
  reader::TraceSink* next_ = nullptr;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<std::uint32_t> reported_;  // by location of the archive: of the profile
  std::optional<TimelineRows> rows_;
  std::optional<TimelineSink> timeline_;
  std::optional<NestSink> nest_;
  std::optional<MessageSink> messages_;
  std::optional<CollectiveSink> collectives_;
  std::optional<WaitIntervals> waits_;
  std::vector<Region> regions_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::uint32_t>> comms_;
  std::vector<double> begins_;
  double ns_per_tick_ = 1;
  std::uint32_t marks_rank_ = reader::kNone;
};

// In which iterations waits are: in all of them, or in a few.
//
// Thread-safety: pure. Cost: waits x log of iterations.

// ", in every iteration", ", in nearly every iteration", ", mostly in iterations 17 and 42"; empty: neither, or there are
// fewer than five iterations in the archive. A wait is in an iteration if its end is.
std::string when_waited(const std::vector<WaitIntervals::Wait>& waits, std::uint32_t metric,
                        double ns_per_tick, const IterationSeries& iterations);

}  // namespace refrain::report
