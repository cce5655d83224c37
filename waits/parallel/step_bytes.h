// Steps of processes as bytes, from who replays the processes to who puts together what they do with each other.
//
// Place in the flow: between replay.h and joint_replay.h, where these are in different threads or processes.
// Each step has the place of its event in the order of all: its part of the replay, the time, and the location. Steps of
// several writers are merged by that, so that the joint replay sees them in the order in which one process would.
// Shape: structures as they lie in memory, for a job runs one program. Thread-safety: none.
// Memory: a batch. Cost: a copy of some ten bytes for each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <vector>

#include "exchange/bytes.h"
#include "waits/replay/joint_replay.h"
#include "waits/replay/replay_state.h"

namespace refrain::waits {

struct StepPlace {
  JointSteps::Part part = JointSteps::Part::kEvents;
  std::uint64_t ticks = 0;   // of the event, as in the archive
  std::uint32_t number = 0;  // location; of kIdle: process

  bool operator<(const StepPlace& other) const {
    return std::tie(part, ticks, number) < std::tie(other.part, other.ticks, other.number);
  }
};

class StepWriter final : public JointSteps {
 public:
  // The first kPrefix bytes of a batch are the sender's.
  using Send = std::function<void(exchange::Bytes&)>;
  static constexpr std::size_t kPrefix = 16;
  static constexpr std::size_t kBatch = std::size_t{1} << 18;  // bytes, about
  static constexpr std::uint32_t kMaxEvents =
      1 << 15;  // until others are told where this one is

  explicit StepWriter(Send send, std::size_t batch = kBatch)
      : send_(std::move(send)), batch_(batch) {
    bytes_.reserve(batch + batch / 8);
    bytes_.resize(kPrefix);
  }

  // What follows is of this event.
  void event(std::uint64_t ticks, LocationId location) {
    place_.ticks = ticks;
    place_.number = location;
    if (++events_ >= kMaxEvents) here();
  }
  void flush();

  void path(ProcessId process, const CallPaths::Path& path) override;
  void message(const MessageStep& step) override;
  void group(const GroupStep& step) override;
  void entered_mpi(ProcessId process, Ticks time) override;
  void left(const Call& call, const RegionKind& kind) override;
  void begins(Part part, std::uint32_t number) override { place_ = {part, 0, number}; }
  void all_left() override {}
  void segment(const paths::Segment& segment) override;
  void forked(LocationId location, PathId path, Ticks time, Ticks management,
              LocationId master, Ticks first) override;
  void forked_master(LocationId location, PathId path, Ticks time, Ticks enter,
                     Ticks first) override;
  void fork(LocationId location, Ticks time, std::uint64_t threads) override;
  void join(LocationId location, Ticks time) override;
  void waited(paths::WaitKind kind, const Call& call, Ticks ticks, LocationId causer,
              Ticks until) override;
  void team(LocationId location, Ticks enter) override;

 private:
  void here();
  void append(const void* data, std::size_t bytes) {
    const auto* from = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), from, from + bytes);
  }
  template <typename Kind, typename Step>
  void put(Kind kind, const Step& step);

  Send send_;
  std::size_t batch_;
  exchange::Bytes bytes_;
  StepPlace place_;
  std::uint32_t events_ = 0;
};

// One batch, step by step.
class StepBatch {
 public:
  StepBatch() = default;
  explicit StepBatch(exchange::Bytes bytes);

  // False: there is none further, or what follows is damaged.
  bool has_step() const { return at_ < bytes_.size(); }
  bool damaged() const { return damaged_; }
  const StepPlace& place() const { return place_; }
  // To the joint replay; of `state` its processes get their call paths. Then the next one.
  void take(ReplayState& state, JointSteps& to);

 private:
  void look();
  template <typename Step>
  Step step() const;

  exchange::Bytes bytes_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  std::uint8_t type_ = 0;
  StepPlace place_;
  bool damaged_ = false;
  paths::Segment segment_;
};

// What readers and rank 0 say to each other in a shared analysis.
//
// Thread-safety: pure. A reader: kHello; then, if the answer is kGo, batches of steps, each answered, and at the end
// kResult. Or kError, as the last. Shape: the kind, then numbers and texts (exchange/bytes.h); of kSteps a prefix and
// the steps.

enum class Say : std::uint8_t { kHello = 1, kSteps, kResult, kError, kGo, kStop };

// Batches that a reader may have sent without an answer.
inline constexpr std::size_t kAhead = 4;

// What a replay has found of its processes, as bytes, and added to the state of all.
//
// Call paths are known by then, for they come as steps. Thread-safety: pure. Errors: false, if the bytes are damaged.

// Of these processes.
void put_state(exchange::ByteWriter& out, const ReplayState& state, std::size_t metrics,
               const std::vector<ProcessId>& processes);
bool add_state(exchange::ByteReader& in, ReplayState& state, std::size_t metrics);

}  // namespace refrain::waits
