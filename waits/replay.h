// Replays the events of an archive with their state: open regions, requests, teams, barriers and collective operations
// of each location; puts compound events together and hands them to the patterns.
//
// Place in the flow: ARCHITECTURE.md, step 14: a sink of reader/archive_stream.h. wait_analysis.h makes a result of it.
// Thread-safety: none. Units: ticks of the archive's clock since its begin.
// Memory: does not grow with the archive: call paths, and what is pending.
// Cost: no allocation for an event once the tables have grown.
// Source: Wolf et al., section 4.1 (state sequences and pointers between events).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reader/trace_sink.h"
#include "waits/collectives.h"
#include "waits/locations.h"
#include "waits/locks.h"
#include "waits/message_ends.h"
#include "waits/paths/recorder.h"
#include "waits/pattern.h"
#include "waits/problems.h"
#include "waits/region_kinds.h"
#include "waits/severities.h"
#include "waits/tasks.h"
#include "waits/teams.h"
#include "waits/windows.h"

namespace refrain::waits {

class Replay final : public reader::TraceSink, private Letters {
 public:
  // `folder`: where temporary files may be made.
  explicit Replay(PatternSet& patterns, std::string folder = {})
      : patterns_(patterns), recorder_(std::move(folder)) {}

  std::string begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return patterns_.error(); }
  std::string finish(std::uint64_t end_ns) override;

  // After finish().
  const reader::TraceDefinitions& definitions() const { return *definitions_; }
  const std::vector<RegionKind>& kinds() const { return kinds_; }
  const std::vector<LocationState>& locations() const { return locations_; }
  const std::vector<ProcessState>& processes() const { return processes_; }
  const Problems& problems() const { return problems_; }
  Severities& severities() { return *severities_; }
  paths::Recorder& recorder() { return recorder_; }

 private:
  void deliver(std::uint32_t process, const SendLetter& letter) override {
    messages_[process].take(letter);
  }
  void deliver(std::uint32_t process, const Answer& answer) override {
    messages_[process].take(answer);
  }

  void account(LocationState& at, std::uint32_t location, Ticks now);
  void enter(LocationState& at, const reader::TraceEvent& event, Ticks now);
  void leave(LocationState& at, const reader::TraceEvent& event, Ticks now);
  void pop(LocationState& at, std::uint32_t location, Ticks now);
  void message(LocationState& at, const reader::TraceEvent& event);
  void lock(LocationState& at, const reader::TraceEvent& event, Ticks now);
  std::uint32_t site_of(const reader::TraceEvent& event) const;
  void idle_thread(std::uint32_t location);

  PatternSet& patterns_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  Ticks base_ = 0;
  std::vector<RegionKind> kinds_;
  std::vector<LocationState> locations_;
  std::vector<ProcessState> processes_;
  std::unique_ptr<RunView> view_;
  std::unique_ptr<Severities> severities_;
  std::vector<MessageEnds> messages_;  // by process
  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<Windows> windows_;
  std::unique_ptr<Teams> teams_;
  std::unique_ptr<Tasks> tasks_;
  Locks locks_;
  Problems problems_;
  std::unique_ptr<GridSteps> grids_;
  paths::Recorder recorder_;
};

}  // namespace refrain::waits
