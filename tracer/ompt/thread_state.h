// What the OMPT source knows of a thread: its recorder, and the teams it works in.
//
// Place in the flow: ARCHITECTURE.md, step 2. One a thread, thread-local.
#pragma once

#include <cstdint>

#include "tracer/ompt/team.h"
#include "tracer/recorder/thread_recorder.h"

namespace refrain::ompt {

struct Membership {
  TeamWord team;
  std::uint32_t index = 0;  // thread number; 0 is the thread that opened the region
};

struct ThreadState {
  static constexpr int kMostTeams = 8;

  recorder::ThreadRecorder* recorder = nullptr;
  std::uint32_t location = 0;
  bool sync_end_told = false;  // the end of the innermost sync region is recorded already
  std::uint64_t sync_end_ticks = 0;
  int teams_open = 0;  // may exceed kMostTeams; the innermost then is unknown
  Membership teams[kMostTeams] = {};

  Membership* team() noexcept {
    return teams_open > 0 && teams_open <= kMostTeams ? &teams[teams_open - 1] : nullptr;
  }
  void enter_team(Membership team) noexcept {
    if (teams_open < kMostTeams) teams[teams_open] = team;
    ++teams_open;
  }
  void leave_team() noexcept {
    if (teams_open > 0) --teams_open;
  }
};

// Initial-exec: a register and an offset away, also in a library that is loaded late.
// Constinit: without it every access asks first whether the thread has made it.
extern constinit thread_local ThreadState t_state
    __attribute__((tls_model("initial-exec")));

}  // namespace refrain::ompt
