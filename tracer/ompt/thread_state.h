// The OMPT source's own state of a thread: the teams it works in.
//
// Place in the flow: ARCHITECTURE.md, stage 2. One a thread, thread-local.
#pragma once

#include <cstdint>

#include "tracer/ompt/team.h"
#include "tracer/runtime/this_thread.h"

namespace refrain::ompt {

struct Membership {
  TeamWord team;
  std::uint32_t index = 0;  // thread number; 0 is the thread that opened the region
  std::uint64_t begin_ticks =
      0;  // not 0: the time from the fork to here has not been counted
  std::uint64_t after =
      0;  // instance of the outermost region that it was in before; 0: none
};

struct ThreadState {
  static constexpr int kMostTeams = 8;

  bool root = false;  // a thread that the program made, not the runtime
  bool begin_reported = false;
  bool helper = false;  // one of the runtime's own (helper_threads.h)
  bool sync_end_reported =
      false;  // the end of the innermost sync region is recorded already
  std::uint64_t sync_end_ticks = 0;
  std::uint64_t latest_work = 0;  // where the worksharing construct is that has just ended
  const void* latest_fork =
      nullptr;  // where the call returns to that opened the latest region
  std::uint64_t latest_outermost = 0;  // instance of the latest one whose epochs count
  Membership teams[kMostTeams] = {};

  // Teams open may be more than kMostTeams; the innermost then is unknown.
  Membership* team() noexcept {
    const int open = runtime::t_thread.teams_open;
    return open > 0 && open <= kMostTeams ? &teams[open - 1] : nullptr;
  }
  void enter_team(Membership team) noexcept {
    int& open = runtime::t_thread.teams_open;
    if (open < kMostTeams) teams[open] = team;
    ++open;
  }
  void leave_team() noexcept {
    if (runtime::t_thread.teams_open > 0) --runtime::t_thread.teams_open;
  }
};

// As runtime::t_thread.
extern constinit thread_local ThreadState t_state
    __attribute__((tls_model("initial-exec")));

}  // namespace refrain::ompt
