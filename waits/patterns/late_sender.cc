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

}  // namespace refrain::waits
