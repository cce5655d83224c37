// Which threads of a process began which others, and waited for their end, as far as the archive says so: for OTF2's ThreadCreate,
// ThreadBegin, ThreadWait and ThreadEnd.
//
// Place in the flow: ARCHITECTURE.md, stage 5. A first pass over locations of such threads collects them
// (writer/interpret/event_sink.h); with what is made of them here the second one writes.
// OTF2 wants a ThreadBegin for each ThreadCreate, and a ThreadEnd for each ThreadWait. Of a run any of them may be missing (in a gap,
// filtered, the process was killed). So a thread has these records if its start is in the archive at both ends.
// Thread-safety: const once made. Cost: a hash table of the threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace refrain::writer {

// What a region of the archive has to do with a thread that the program begins.
enum class ThreadAct : std::uint8_t {
  kNone,
  kCreate,  // it makes the thread
  kRun,     // it is all that the thread does: its function
  kWait,    // it waits for the thread's end
};

struct ThreadLink {
  ThreadAct act = ThreadAct::kNone;
  std::uint64_t thread = 0;  // its number in the process
};

class ThreadLinks {
 public:
  ThreadLinks() = default;
  // By location, in any order.
  explicit ThreadLinks(const std::vector<std::vector<ThreadLink>>& locations);

  // Whether there is a record of it.
  bool writes(const ThreadLink& link) const noexcept;
  // Whether somebody's wait for the thread's end is a record.
  bool is_waited_for(std::uint64_t thread) const noexcept;
  // Locations with a record, in their order.
  const std::vector<std::uint32_t>& members() const noexcept { return members_; }

 private:
  struct Known {
    bool created = false, run = false, waited = false;
  };
  const Known* find(std::uint64_t thread) const noexcept;

  std::unordered_map<std::uint64_t, Known> threads_;
  std::vector<std::uint32_t> members_;
};

}  // namespace refrain::writer
