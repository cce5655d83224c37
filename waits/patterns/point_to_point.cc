#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class LateSenderPattern final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_latesender", "mpi_point2point", "MPI late sender",
        "Time a receive waited before the matching send started; with several messages in "
        "a call, the latest send",
        "The sender has more work before it sends, or waits itself; receives could "
        "complete later (MPI_Irecv, work, MPI_Wait)."};
  }
  std::vector<Compound> wants() const override { return {Compound::kReceive}; }

  void receive(ReceiveCall& event) override {
    if (event.call.test) return;
    const Received* latest = nullptr;
    for (const Received& message : event.messages)
      if (latest == nullptr || message.sent > latest->sent) latest = &message;
    if (latest == nullptr) return;
    const Ticks wait = event.call.take(wait_until(event.call, latest->sent));
    if (wait == 0) return;
    charge(event.call, wait);
    others().late_sender({event.call, *latest, wait});
  }
};

}  // namespace

std::unique_ptr<Pattern> make_late_sender() {
  return std::make_unique<LateSenderPattern>();
}

namespace {

class LateReceiver final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_latereceiver", "mpi_point2point", "MPI late receiver",
        "Time a send waited before the matching receive was posted; with several messages "
        "in a call, the latest receive",
        "The receiver posts its receive late: it has more work before, or receives in another order. Post receives early (MPI_Irecv), or use MPI_Isend."};
  }
  std::vector<Compound> wants() const override { return {Compound::kSend}; }

  void send(SendCall& event) override {
    if (event.call.test || (event.call.multiple && event.late_sender)) return;
    Ticks wait = 0;
    for (const PostedReceive& posted : event.posted)
      if (posted.enter < event.call.leave)
        wait = std::max(wait, wait_until(event.call, posted.enter));
    // Both waits begin with the call: what lasted longer contains the other.
    const Ticks explained =
        event.late_sender ? event.call.leave - event.call.enter - event.call.left_over : 0;
    if (wait > explained) charge(event.call, event.call.take(wait - explained));
  }
};

}  // namespace

std::unique_ptr<Pattern> make_late_receiver() { return std::make_unique<LateReceiver>(); }

namespace {

class WrongOrderPattern final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_latesender_wo", "mpi_latesender", "MPI late sender, wrong order",
        "Late senders while an earlier message to the same receiver was still waiting to "
        "be received",
        "Messages are received in another order than they are sent: receive with MPI_ANY_SOURCE or MPI_ANY_TAG, "
        "or MPI_Waitany, or change the order."};
  }
  std::vector<Compound> wants() const override {
    return {Compound::kReceive, Compound::kLateSender};
  }

  // After late_sender() of the same call. Its own messages are compared with earlier calls' only, for it waits for all
  // of them.
  void receive(ReceiveCall& event) override {
    State& state = of(event.call.process);
    for (const Received& message : event.messages) {
      if (message.sent >= state.latest) continue;
      std::erase_if(state.waits, [&](const Wait& wait) {
        // (Threads that receive at the same time have no order.)
        if (wait.sent <= message.sent || wait.location != event.call.location) return false;
        charge(wait.location, wait.path, wait.ticks, wait.own);
        others().wrong_order({wait.location, wait.path, wait.ticks, wait.own,
                              wait.source == message.source});
        return true;
      });
      state.find_latest();
    }
    if (!state.of_this_call) return;
    if (state.waits.size() == kMaxWaits) state.waits.pop_front();
    state.waits.push_back(*state.of_this_call);
    state.of_this_call.reset();
    state.find_latest();
  }

  void late_sender(const LateSender& found) override {
    of(found.call.process).of_this_call =
        Wait{found.message.sent,  found.wait,      found.message.source,
             found.call.location, found.call.path, found.call.own};
  }

 private:
  // As Scalasca: a message that comes after more late senders than these is not compared with them.
  static constexpr std::size_t kMaxWaits = 100;

  struct Wait {
    Ticks sent = 0;
    Ticks ticks = 0;
    std::uint32_t source = 0;
    LocationId location{};
    PathId path{};
    Ticks own = 0;
  };
  struct State {
    std::deque<Wait> waits;
    std::optional<Wait> of_this_call;
    Ticks latest = 0;  // send of them
    void find_latest() {
      latest = 0;
      for (const Wait& wait : waits) latest = std::max(latest, wait.sent);
    }
  };

  State& of(ProcessId process) {
    if (process >= states_.size()) states_.resize(std::size_t{process} + 1);
    return states_[process];
  }

  std::vector<State> states_;
};

}  // namespace

std::unique_ptr<Pattern> make_wrong_order() {
  return std::make_unique<WrongOrderPattern>();
}

namespace {

class WrongOrderDifferent final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_lswo_different", "mpi_latesender_wo",
        "MPI late sender, wrong order, different sources",
        "The message sent earlier came from another process",
        "Messages of several processes are received in a fixed order: MPI_ANY_SOURCE or MPI_Waitany takes them as they come."};
  }
  std::vector<Compound> wants() const override { return {Compound::kWrongOrder}; }

  void wrong_order(const WrongOrder& found) override {
    if (!found.same_source) charge(found.location, found.path, found.wait, found.own);
  }
};

}  // namespace

std::unique_ptr<Pattern> make_wrong_order_different() {
  return std::make_unique<WrongOrderDifferent>();
}

namespace {

class WrongOrderSame final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_lswo_same", "mpi_latesender_wo", "MPI late sender, wrong order, same source",
        "The message sent earlier came from the same process",
        "Sender and receiver handle the messages of different tags in different orders: change one of them, or use MPI_ANY_TAG."};
  }
  std::vector<Compound> wants() const override { return {Compound::kWrongOrder}; }

  void wrong_order(const WrongOrder& found) override {
    if (found.same_source) charge(found.location, found.path, found.wait, found.own);
  }
};

}  // namespace

std::unique_ptr<Pattern> make_wrong_order_same() {
  return std::make_unique<WrongOrderSame>();
}

}  // namespace refrain::waits

namespace refrain::waits {
namespace {

// Of each process, what came from its neighbours behind until it sends ahead: a block. A block that came from others than
// the block before it is the first one of a new direction. Who has nobody ahead has neighbours behind in all dimensions.
class WavefrontRefill final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {"wavefront_refill", "", "Late senders when a wavefront changes direction",
            "Time of mpi_latesender in the first messages from new neighbours, on "
            "non-periodic Cartesian communicators of 2 or 3 dimensions: the pipeline is "
            "refilled, and the corner that it reaches last waits longest",
            ""};
  }
  std::vector<Compound> wants() const override {
    return {Compound::kReceive, Compound::kLateSender};
  }

  void late_sender(const LateSender& found) override {
    late_ = Late{found.message.sent, found.message.source, found.wait};
  }

  // After late_sender() of the same call.
  void receive(ReceiveCall& event) override {
    const std::optional<Late> late = std::exchange(late_, std::nullopt);
    if (event.call.process >= fronts_.size()) fronts_.resize(event.call.process + 1);
    Front& front = fronts_[event.call.process];
    for (const Received& message : event.messages) {
      if (message.step.dimensions == 0) continue;
      add(front, message.step, event.sends_before);
      if (!late || late->sent != message.sent || late->source != message.source) continue;
      if (front.waits.size() < kMaxGridDimensions)
        front.waits.push_back({event.call.location, event.call.path, late->ticks});
    }
  }

  void finish() override {
    for (Front& front : fronts_) close(front);
  }

 private:
  struct Late {
    Ticks sent = 0;
    std::uint32_t source = 0;
    Ticks ticks = 0;
  };
  struct Wait {
    LocationId location{};
    PathId path{};
    Ticks ticks;
  };
  struct Front {
    GridStep latest;
    std::uint32_t block = 0, before = 0;  // bit 2 d: up in dimension d, bit 2 d + 1: down
    std::uint64_t sends = 0;              // before its latest message
    std::vector<Wait> waits;              // of the block
  };

  void add(Front& front, const GridStep& step, std::uint64_t sends) {
    const std::uint32_t both = 3U << 2 * step.dimension;
    const std::uint32_t bit = 1U << (2 * step.dimension + (step.up ? 0 : 1));
    const bool other_grid = front.latest.dimensions != step.dimensions;
    if (front.sends != sends || (front.block & both) != 0 || other_grid) close(front);
    front.sends = sends;
    front.block |= bit;
    front.latest = step;
  }

  void close(Front& front) {
    if (front.block == 0) return;
    const bool changed = front.block != front.before;
    const auto direction = changed ? direction_of(front) : std::nullopt;
    if (direction)
      for (const Wait& wait : front.waits) {
        charge(wait.location, wait.path, wait.ticks);
        others().refill(
            {wait.location, wait.path, wait.ticks, front.latest.dimensions, *direction});
      }
    front.before = std::exchange(front.block, 0);
    front.waits.clear();
  }

  // Bit d: up. From a dimension in which nothing came there is no neighbour behind: the process is at that edge.
  static std::optional<std::uint32_t> direction_of(const Front& front) {
    std::uint32_t direction = 0;
    for (std::uint32_t d = 0; d < front.latest.dimensions; ++d) {
      const std::uint32_t came = front.block >> 2 * d & 3;
      const bool first = (front.latest.at_first >> d & 1) != 0;
      const bool last = (front.latest.at_last >> d & 1) != 0;
      if (came == 0 && !first && !last) return std::nullopt;
      if (came == 1 || (came == 0 && first)) direction |= 1U << d;
    }
    return direction;
  }

  std::vector<Front> fronts_;  // by process
  std::optional<Late> late_;
};

// One direction of it.
class WavefrontDirection final : public Pattern {
 public:
  WavefrontDirection(std::uint8_t dimensions, std::uint32_t direction)
      : dimensions_(dimensions), direction_(direction) {}

  MetricInfo metric() const override {
    std::string name = "wavefront_refill", title = "towards";
    for (std::uint32_t d = 0; d < dimensions_; ++d) {
      const bool up = (direction_ >> d & 1) != 0;
      name += std::string(up ? "_plus_" : "_minus_") + "xyz"[d];
      title += std::string(up ? " +" : " -") + "xyz"[d];
    }
    return {name, "wavefront_refill", "Wavefront refill " + title,
            "The part of it where the new direction is " + title, ""};
  }
  std::vector<Compound> wants() const override { return {Compound::kRefill}; }

  void refill(const Refill& found) override {
    if (found.dimensions == dimensions_ && found.direction == direction_)
      charge(found.location, found.path, found.wait);
  }

 private:
  std::uint8_t dimensions_;
  std::uint32_t direction_;
};

}  // namespace

std::unique_ptr<Pattern> make_wavefront_refill() {
  return std::make_unique<WavefrontRefill>();
}

void add_wavefront_directions(std::vector<std::unique_ptr<Pattern>>& patterns) {
  for (std::uint8_t dimensions = 2; dimensions <= kMaxGridDimensions; ++dimensions)
    for (std::uint32_t direction = 0; direction < 1U << dimensions; ++direction)
      patterns.push_back(std::make_unique<WavefrontDirection>(dimensions, direction));
}

}  // namespace refrain::waits
