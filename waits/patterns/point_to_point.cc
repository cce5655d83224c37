#include <deque>
#include <optional>

#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
namespace {

class LateSenderPattern final : public Pattern {
 public:
  MetricInfo metric() const override {
    return {
        "mpi_latesender", "mpi_point2point", "MPI late sender",
        "Enter of the call that sends - enter of the call in which the receive completes, at most until its leave; of several messages of a call the latest",
        "The sender has more work before it sends, or itself waits for somebody; receives could complete later (MPI_Irecv, work, MPI_Wait)."};
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
        "Enter of the call that posts the receive - enter of the call in which the send completes, if that leaves after it; of several messages of a call the latest",
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
