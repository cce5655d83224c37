#include <algorithm>
#include <optional>
#include <utility>

#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

// Of each process, what came from its neighbours behind until it sends ahead: a block. A block that came from others than
// the block before it is the first one of a new direction. Who has nobody ahead has neighbours behind in all dimensions.
class WavefrontRefill final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "wavefront_refill", "", "Late senders at a change of a wavefront's direction",
        "Time of mpi_latesender, on Cartesian communicators of 2 or 3 dimensions that are not periodic, in the first messages "
        "from other neighbours than before: the pipeline is filled again, and the corner that it reaches last waits longest",
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
      if (front.waits.size() < kMostGridDimensions)
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
  for (std::uint8_t dimensions = 2; dimensions <= kMostGridDimensions; ++dimensions)
    for (std::uint32_t direction = 0; direction < 1U << dimensions; ++direction)
      patterns.push_back(std::make_unique<WavefrontDirection>(dimensions, direction));
}

}  // namespace refrain::waits
