// KnownCalls: what was found of a call of the primary thread when it came this way before.
//
// Place in the flow: ARCHITECTURE.md, stage 2. In a loop the same calls come from the same sites,
// with the same communicator and the same callers above them. What follows from that (the
// communicator's entry, the symbol's number, the communication) is remembered here, so that it is
// compared and not computed again.
//
// An entry belongs to a call path (tracer/runtime/paths.h), which has the procedure, and to a handle, and
// is valid while no communicator comes or goes.
// Thread-safety: owner() from any thread; all else for the primary thread alone, which is the owner
// once an entry has been made. No memory is allocated.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "filters/event_history.h"
#include "periodicity/symbol.h"
#include "tracer/mpi/communicators.h"
#include "tracer/recorder/thread_recorder.h"
#include "tracer/runtime/paths.h"

namespace refrain::mpi {

using Site = runtime::CallSite;

struct alignas(64) KnownCall {
  std::uint64_t generation = 0;  // of the communicators; 0: no entry
  Handle handle = kNoHandle;
  filters::Communication communication = filters::Communication::kNone;
  std::uint32_t path = 0;  // in the recorder's FlowGraph
  const Communicator* comm = nullptr;
  periodicity::Symbol number = 0;  // Session::on_known_symbol()
  std::uint64_t payload = 0;       // place and procedure
};

class KnownCalls {
 public:
  static const recorder::ThreadRecorder* owner() noexcept {
    return g_owner.load(std::memory_order_relaxed);
  }
  // It may be asked for next.
  void expect(std::uint32_t path) const noexcept { __builtin_prefetch(&calls_[path]); }
  // Null: it is not known.
  const KnownCall* find(std::uint32_t path, Handle handle,
                        std::uint64_t generation) const noexcept {
    const KnownCall& call = calls_[path];
    return call.generation == generation && call.handle == handle ? &call : nullptr;
  }
  void learn(const recorder::ThreadRecorder& owner, std::uint32_t path,
             const KnownCall& call) noexcept {
    if (path == 0) return;
    calls_[path] = call;
    used_ = std::max(used_, std::size_t{path} + 1);
    g_owner.store(&owner, std::memory_order_relaxed);
  }
  // The number of a path's callers in the owner's FlowGraph; 0: not known yet. For polls, which are no symbols.
  std::uint32_t flow_path(std::uint32_t path) const noexcept { return flow_paths_[path]; }
  void learn_flow_path(std::uint32_t path, std::uint32_t number) noexcept {
    flow_paths_[path] = number;
    used_ = std::max(used_, std::size_t{path} + 1);
  }
  // A session begins.
  void forget() noexcept {
    g_owner.store(nullptr, std::memory_order_relaxed);
    std::fill_n(flow_paths_.begin(), used_, 0);
    std::fill_n(calls_.begin(), std::exchange(used_, 0), KnownCall{});
  }

 private:
  static std::atomic<const recorder::ThreadRecorder*> g_owner;
  std::size_t used_ = 0;  // of both
  std::array<std::uint32_t, runtime::Paths::kMax + 1> flow_paths_{};
  // No AppendOnlyMap: a new call replaces the one in its place.
  std::array<KnownCall, runtime::Paths::kMax + 1> calls_{};
};

}  // namespace refrain::mpi
