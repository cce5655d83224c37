// Steps of processes as bytes, from who replays the processes to who puts together what they do with each other, and notes
// and waits from there to who keeps them.
//
// Place in the flow: between replay.h, joint_replay.h and paths/recorder.h, where there are several of each. Each step has its
// place in the order of all. Steps of several writers are merged by that, so that each sees them in the order in which one
// alone would.
// Shape: structures as they lie in memory, for a job runs one program. Thread-safety: none.
// Memory: batches. Cost: a copy of some ten bytes for each step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "exchange/bytes.h"
#include "waits/paths/recorder.h"
#include "waits/replay/joint_replay.h"
#include "waits/replay/replay_state.h"

namespace refrain::waits {

enum class StepType : std::uint8_t {
  // For the joint replay of the process:
  kPath,
  kMessage,
  kGroup,
  kEnteredMpi,
  kLeft,
  kFlush,
  kAlone,
  // For that of processes that have to do with it:
  kRemoteSend,
  kRemoteReceive,
  kRemoteLeft,
  kRemoteMember,
  kRemoteGroup,
  kRemoteLife,
  kRemoteFlush,
  // For the log of its locations:
  kSegment,
  kForked,
  kForkedMaster,
  kFork,
  kJoin,
  kWaited,
  kTeam,
  kCallLeft,
  kGroupMet,
  kCount
};

// Later than all places.
inline constexpr paths::Place kAfterAll = {
    static_cast<std::uint8_t>(JointSteps::Part::kCount), 0, 0, 0, 0};

// Bytes that several may read: a part of a message.
class SharedBytes {
 public:
  SharedBytes() = default;
  explicit SharedBytes(exchange::Bytes bytes)
      : owner_(std::make_shared<exchange::Bytes>(std::move(bytes))), bytes_(*owner_) {}
  // That much from there on, with the same owner; less, where it ends before.
  SharedBytes part(std::size_t at, std::size_t count) const {
    SharedBytes out = *this;
    at = std::min(at, bytes_.size());
    out.bytes_ = bytes_.subspan(at, std::min(count, bytes_.size() - at));
    return out;
  }
  std::span<const std::uint8_t> span() const { return bytes_; }
  const std::uint8_t* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // The memory, if nobody else needs it.
  exchange::Bytes take_memory() {
    return owner_.use_count() == 1 ? std::move(*owner_) : exchange::Bytes();
  }

 private:
  std::shared_ptr<exchange::Bytes> owner_;
  std::span<const std::uint8_t> bytes_;
};

// Steps one behind the other, each with its place.
class StepBytes {
 public:
  template <typename Step>
  void put(const paths::Place& place, StepType type, const Step& step) {
    put(place, type, step, std::span<const char>());
  }
  // `rest` follows the step.
  template <typename Step, typename Rest>
  void put(const paths::Place& place, StepType type, const Step& step,
           std::span<const Rest> rest) {
    static_assert(std::is_trivially_copyable_v<Step> && std::is_trivially_copyable_v<Rest>);
    const std::size_t size = sizeof step + rest.size_bytes();
    if (memory_.size() - used_ < sizeof(Head) + size) grow(sizeof(Head) + size);
    std::uint8_t* to = memory_.data() + used_;
    const Head head{
        place.ticks, place.step, place.turn, place.number, static_cast<std::uint32_t>(size),
        place.part,  type,       {}};
    std::memcpy(to, &head, sizeof head);
    std::memcpy(to + sizeof head, &step, sizeof step);
    if (!rest.empty())
      std::memcpy(to + sizeof head + sizeof step, rest.data(), rest.size_bytes());
    used_ += sizeof head + size;
  }

  std::span<const std::uint8_t> bytes() const { return {memory_.data(), used_}; }
  void clear() { used_ = 0; }
  // Its steps; goes on in that memory.
  SharedBytes take(exchange::Bytes memory) {
    const std::size_t used = std::exchange(used_, 0);
    return SharedBytes(std::exchange(memory_, std::move(memory))).part(0, used);
  }

  struct Head {
    std::uint64_t ticks, step, turn;
    std::uint32_t number;
    std::uint32_t bytes;  // of the step
    std::uint8_t part;
    StepType type;
    std::uint8_t unused[6];
  };

 private:
  void grow(std::size_t bytes);

  exchange::Bytes memory_;
  std::size_t used_ = 0;
};

// Steps of one writer in their order, as far as they have come.
class StepQueue {
 public:
  // Nothing before this place comes after them.
  void add(SharedBytes steps, const paths::Place& until);
  // The same of the writer in the same thread, which gets memory for more.
  void take(StepBytes& steps, const paths::Place& until) {
    exchange::Bytes memory;
    if (!spare_.empty()) {
      memory = std::move(spare_.back());
      spare_.pop_back();
    }
    add(steps.take(std::move(memory)), until);
  }

  bool has_step() const { return at_ != 0; }
  bool damaged() const { return damaged_; }
  // Of the next step; without one, nothing before that is to come.
  const paths::Place& place() const { return place_; }
  StepType type() const { return type_; }
  std::size_t size() const { return size_; }  // bytes
  template <typename Step>
  Step step() const {
    Step out{};
    if (size_ >= sizeof out) std::memcpy(&out, batches_.front().data() + at_, sizeof out);
    return out;
  }
  // What follows `Step`, until pop(). Aligned for `Rest` in `room`.
  template <typename Step, typename Rest>
  void rest(std::vector<Rest>& room) const {
    room.resize(size_ < sizeof(Step) ? 0 : (size_ - sizeof(Step)) / sizeof(Rest));
    if (!room.empty())
      std::memcpy(room.data(), batches_.front().data() + at_ + sizeof(Step),
                  room.size() * sizeof(Rest));
  }
  void pop() {
    const std::size_t next = at_ + size_;
    if (next < batches_.front().size())
      look(next);
    else
      end_batch();
  }

 private:
  void look(std::size_t at) {
    const SharedBytes& bytes = batches_.front();
    StepBytes::Head head;
    if (bytes.size() - at < sizeof head) return damage();
    std::memcpy(&head, bytes.data() + at, sizeof head);
    if (head.type >= StepType::kCount || bytes.size() - at - sizeof head < head.bytes)
      return damage();
    at_ = at + sizeof head;
    size_ = head.bytes;
    type_ = head.type;
    place_ = {head.part, head.ticks, head.number, head.step, head.turn};
  }
  void end_batch();
  void damage();

  std::deque<SharedBytes> batches_;
  // Of batches that are done: as many as are on their way at a time.
  static constexpr std::size_t kMostSpare = 8;
  std::vector<exchange::Bytes> spare_;
  std::size_t at_ = 0;  // of the step in the first one; 0: there is none
  std::size_t size_ = 0;
  StepType type_{};
  paths::Place place_, until_;
  bool damaged_ = false;
};

// Several queues as one, in the order of places.
class StepMerge {
 public:
  explicit StepMerge(std::vector<StepQueue>& queues) : queues_(queues) {}

  // Hands out steps until one has to wait for this queue; at the end of all, for the number of queues. Until then all that
  // is before its place has been handed out.
  template <typename Take>
  std::size_t run(const Take& take) {
    const auto later = [this](std::size_t a, std::size_t b) {
      return queues_[b].place() < queues_[a].place();
    };
    heap_.resize(queues_.size());
    for (std::size_t i = 0; i < heap_.size(); ++i) heap_[i] = i;
    std::ranges::make_heap(heap_, later);
    while (!heap_.empty()) {
      std::ranges::pop_heap(heap_, later);
      const std::size_t first = heap_.back();
      StepQueue& queue = queues_[first];
      if (!queue.has_step()) return queue.place() < kAfterAll ? first : queues_.size();
      heap_.pop_back();
      const paths::Place* until = heap_.empty() ? nullptr : &queues_[heap_.front()].place();
      do {
        take(queue);
        queue.pop();
      } while (queue.has_step() && (until == nullptr || !(*until < queue.place())));
      heap_.push_back(first);
      std::ranges::push_heap(heap_, later);
    }
    return queues_.size();
  }
  // Nothing before it is to come any more.
  const paths::Place& place() const {
    return queues_[*std::ranges::min_element(
                       heap_, {},
                       [this](std::size_t queue) { return queues_[queue].place(); })]
        .place();
  }

 private:
  std::vector<StepQueue>& queues_;
  std::vector<std::size_t> heap_;
};

// Of several readers, which one replays each process, and which one puts together what it does with others: that one; or,
// where this cannot be shared, the first one for all, which replays none then. That one keeps the notes of its locations, too.
struct Shares {
  std::vector<std::uint32_t> reader;  // by process
  std::vector<std::uint32_t> joint;   // by process
  bool apart = true;                  // they are the same
  std::vector<LocationId> locations;  // of the own reader

  // By numbers of events about the same. Locations that belong to no process are the first reader's. All find the same.
  Shares(const reader::TraceDefinitions& definitions, std::uint32_t readers,
         std::uint32_t own);
  Shares() = default;
};

// What readers say to each other in a shared analysis. Shape: the kind, then what is said there.
enum class Say : std::uint8_t {
  kHello = 1,  // to the first one: when the own events begin
  kGo,         // its answer, and later: more records
  kStop,
  kBatch,    // of steps, notes and answers, to each other one
  kLast,     // the same, the last one
  kError,    // the last one of a reader that has failed, or has heard of another one
  kResult,   // to the first one
  kRecords,  // to the first one, when it wants more: kGo; or waits only: kGoWaits
  kGoWaits,
  kTurn,   // a turn of the critical path, and when it leaves the own locations again
  kTimes,  // to the first one, when it wants it: the path's times
};

// What a replay has found of its processes, as bytes, and added to the state of all.
//
// Thread-safety: pure. Errors: false, if the bytes are damaged.

// Of these processes.
void put_state(exchange::ByteWriter& out, const ReplayState& state, std::size_t metrics,
               const std::vector<ProcessId>& processes);
bool add_state(exchange::ByteReader& in, ReplayState& state, std::size_t metrics);

}  // namespace refrain::waits
