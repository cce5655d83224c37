#include "waits/patterns/pattern_makers.h"

namespace refrain::waits {
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

}  // namespace refrain::waits
