#include "tracer/mpi/call.h"

#include "tracer/mpi/environment.h"

namespace refrain::mpi {

using recorder::ThreadRecorder;
using runtime::g_session;
using runtime::t_thread;

std::atomic<bool> g_tracing{false};
constinit thread_local int t_depth __attribute__((tls_model("initial-exec"))) = 0;

namespace {

// Whether what the primary thread does here it does in every run: not if chance has chosen it
// among the threads of a team.
bool in_order(const ThreadRecorder& recorder) noexcept {
  if (t_thread.teams_open == 0) return true;
  const spool::Record* top = recorder.top();
  return t_thread.teams_open == 1 && top != nullptr &&
         (top->kind == spool::kImplicitTaskBegin || top->kind == spool::kMaskedBegin);
}

// Handles are used again when what they stood for is gone, so a loop that makes a
// communicator and frees it repeats itself.
periodicity::Symbol symbol_of(std::uint64_t payload, Handle handle) noexcept {
  std::uint64_t hash = (payload ^ std::uint64_t{static_cast<std::uint32_t>(handle)} << 24) *
                       0x9E3779B97F4A7C15u;
  hash = (hash ^ hash >> 29) * 0xBF58476D1CE4E5B9u;
  return std::uint64_t{spool::kMpiEnter} << runtime::kPlaceKindShift | hash >> 6;
}

}  // namespace

bool Call::start() noexcept { return start_tracing(); }

void Call::attach() noexcept { runtime::attach_thread(spool::kRoleRoot, true); }

namespace {

// Who is alone in a communicator has no company.
filters::Company company_of(Stream stream, const Communicator& comm) noexcept {
  if (comm.peers() < 2 && comm.remote_size == 0) return filters::Company::kNone;
  if (stream == Stream::kMessage) return filters::Company::kMessage;
  return stream == Stream::kMeeting ? filters::Company::kMeeting : filters::Company::kNone;
}

}  // namespace

void Call::enter(Procedure procedure, Stream stream, const void* returns_to,
                 Handle handle) noexcept {
  runtime::Scope scope;
  if (!scope) return;
  const std::uint64_t site = reinterpret_cast<std::uint64_t>(returns_to) & spool::kAddressMask;
  payload_ = site | std::uint64_t{static_cast<std::uint16_t>(procedure)}
                        << spool::kMpiProcedureShift;
  ticks_ = recorder::Clock::now();
  std::uint8_t cut = 0;
  std::uint64_t epoch = 0;
  if (stream != Stream::kPolling && g_session->auto_symbols() &&
      (t_thread.teams_open == 0 ? g_session->claim_primary(&*scope)
                                : g_session->is_primary(&*scope)) &&
      in_order(*scope)) {
    if (t_thread.teams_open == 0) {
      cut = g_session->begin_epoch(*scope, ticks_);
      epoch = scope->epoch();
    }
    g_session->on_symbol(*scope, symbol_of(payload_, handle),
                         runtime::make_symbol(spool::kMpiEnter,
                                              static_cast<std::uint16_t>(procedure), site),
                         ticks_, company_of(stream, *comm_));
    fed_ = true;
  }
  scope->begin(spool::record_words(spool::kMpiEnter, ticks_, payload_, cut, epoch));
}

void Call::leave() noexcept {
  runtime::Scope scope;
  if (!scope) return;
  const std::uint64_t ticks = leave_ticks();
  if (ticks_ == 0) return;  // it was not entered
  scope->end(spool::record_words(spool::kMpiLeave, ticks, payload_));
  if (fed_) g_session->on_symbol_end(ticks, scope->depth());
}

}  // namespace refrain::mpi
