#include "waits/replay/problems.h"

#include <fmt/format.h>

#include <algorithm>

namespace refrain::waits {

void Problems::add(const Problems& others) {
  sends_without_receive += others.sends_without_receive;
  receives_without_send += others.receives_without_send;
  unknown_ends += others.unknown_ends;
  incomplete_collectives += others.incomplete_collectives;
  mixed_collectives += others.mixed_collectives;
  unknown_collectives += others.unknown_collectives;
  lone_epochs += others.lone_epochs;
  leaves_without_enter += others.leaves_without_enter;
  enters_without_leave += others.enters_without_leave;
  clock_violations += others.clock_violations;
  worst_violation = std::max(worst_violation, others.worst_violation);
  gaps += others.gaps;
}

std::vector<std::string> Problems::lines(double ticks_per_second) const {
  std::vector<std::string> out;
  const auto say = [&](std::uint64_t count, const char* what) {
    if (count != 0) out.push_back(fmt::format("{} {}", count, what));
  };
  say(sends_without_receive,
      "sends have no receive in the archive: their late receivers are not known");
  say(receives_without_send,
      "receives have no send in the archive: their late senders are not known");
  say(unknown_ends, "ends of messages name a partner or communicator that is not defined");
  say(incomplete_collectives,
      "collective operations lack a member in the archive: their waits are not known");
  say(mixed_collectives,
      "collective operations are named differently by their members: they were left out");
  say(unknown_collectives,
      "ends of collective operations are on communicators without known members: they were left out");
  say(lone_epochs,
      "epochs of one-sided communication lack the other side's: their waits are not known");
  say(leaves_without_enter, "leaves have no enter: they were ignored");
  say(enters_without_leave,
      "enters have no leave: their regions end with the region around them or the run");
  if (clock_violations != 0)
    out.push_back(fmt::format(
        "{} times an effect comes before its cause, by {:.3g} us at most: clocks differ, waits shorter than that are "
        "uncertain",
        clock_violations, static_cast<double>(worst_violation) / ticks_per_second * 1e6));
  return out;
}

}  // namespace refrain::waits
