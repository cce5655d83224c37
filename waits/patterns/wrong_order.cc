#include <deque>
#include <optional>

#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class WrongOrderPattern final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_latesender_wo", "mpi_latesender", "MPI late sender, wrong order",
        "Late senders while a message sent earlier to the same receiver was still to be received",
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
        if (wait.sent <= message.sent) return false;
        charge(wait.location, wait.path, wait.ticks, wait.own);
        others().wrong_order({wait.location, wait.path, wait.ticks, wait.own,
                              wait.source == message.source});
        return true;
      });
      state.find_latest();
    }
    if (!state.of_this_call) return;
    if (state.waits.size() == kMostWaits) state.waits.pop_front();
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
  static constexpr std::size_t kMostWaits = 100;

  struct Wait {
    Ticks sent = 0;
    Ticks ticks = 0;
    std::uint32_t source = 0;
    std::uint32_t location = 0;
    std::uint32_t path = 0;
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

  State& of(std::uint32_t process) {
    if (process >= states_.size()) states_.resize(std::size_t{process} + 1);
    return states_[process];
  }

  std::vector<State> states_;
};

}  // namespace

std::unique_ptr<Pattern> make_wrong_order() {
  return std::make_unique<WrongOrderPattern>();
}

}  // namespace refrain::waits
