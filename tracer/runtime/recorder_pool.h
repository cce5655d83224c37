// The recorders of the process' threads, and the memory and disk that they share.
//
// Place in the flow: ARCHITECTURE.md, stage 3. A thread takes a recorder when it begins to record and
// gives it back at its end; a later thread goes on with it, so there are as many locations as
// threads at a time.
// Thread-safety: under the session's lock; budget() from any thread.
// Ownership: owns all recorders, until the session ends.
// Errors: take() says why there is none, or throws std::bad_alloc; nothing else needs memory.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "filters/settings.h"
#include "spool/format.h"
#include "tracer/recorder/boards.h"
#include "tracer/recorder/spool_file.h"
#include "tracer/recorder/thread_recorder.h"
#include "tracer/runtime/recording_start.h"

namespace refrain::runtime {

class RecorderPool {
 public:
  // `has_mpi`: the program has an MPI library. Without, there is no event flow graph.
  RecorderPool(const filters::Settings& settings, bool has_mpi);

  recorder::Budget& budget() noexcept { return budget_; }
  // Threads have so many counters.
  void set_counters(unsigned count) noexcept { counters_ = count; }

  struct Taken {
    recorder::ThreadRecorder* recorder;  // null: there is none
    spool::LossCause cause;              // then: why
  };
  // A recorder that was given back, or a new one with a file in `folder`, which obeys what is
  // decided from now on. `descriptor`: of the directory, as long as the recorders live; -1: there is none.
  // `function`: spool::Header::thread_function; a recorder goes on with threads of one function only.
  Taken take(const std::string& folder, const RecordingStart& start,
             spool::LocationRole role, const recorder::DecisionBoard& board,
             int descriptor = -1, std::uint64_t function = 0);
  void give_back(recorder::ThreadRecorder* recorder) noexcept {
    recorder->thread_ends();
    free_.push_back(recorder);
  }

  // That a thread records with; null: none.
  recorder::ThreadRecorder* of_thread(pthread_t thread) const noexcept;

  // The recording has ended. Waits until the threads have left their recorders, but not for long: a
  // thread that a signal handler has interrupted to end the program does not come back; not at all for `own`, this thread's.
  void wait_until_idle(const recorder::ThreadRecorder* own) noexcept;
  // Brings all recorders that are not in use to what was decided, and closes their files.
  void close(const recorder::DecisionBoard& board,
             const recorder::IterationBoard& iterations) noexcept;
  // How many have been made.
  std::size_t count() const noexcept { return recorders_.size(); }
  // In a forked child: gives up the parent's files.
  void abandon() noexcept;

 private:
  const bool writes_;  // false: only summaries
  const std::uint64_t ring_bytes_;
  const std::uint64_t summary_bytes_;  // of a location, as far as memory goes
  const bool has_flow_;
  const std::uint32_t flow_components_;
  const std::uint64_t most_rows_;
  const std::uint64_t chunk_bytes_;
  unsigned counters_ = 0;
  recorder::Budget budget_;
  std::vector<std::unique_ptr<recorder::ThreadRecorder>> recorders_;
  std::vector<recorder::ThreadRecorder*> free_;
};

}  // namespace refrain::runtime
