// The file next to the journal: records and texts that any thread may report (communicators, clock offsets, names, numbers of
// messages), while the journal is the primary thread's alone.
//
// Place in the flow: ARCHITECTURE.md, stage 3. `facts.spool`, with the header of a journal and nothing but a log. It is made
// when the first fact comes from another thread; the primary's are in the journal until then, and here from then on, so that
// they have an order. They survive a kill, and take no memory.
// Thread-safety: under the session's lock. Errors: not open where there is no disk or memory for it.
// Cost: as the journal's; open() makes a file, and may throw.
#pragma once

#include <fcntl.h>

#include <string>

#include "spool/format.h"
#include "tracer/runtime/journal_writer.h"

namespace refrain::runtime {

class FactFile {
 public:
  bool is_open() const noexcept { return journal_.file().is_open(); }
  Journal& journal() noexcept { return journal_; }

  // In `folder`, tried once.
  void open(const std::string& folder, const spool::Header& header,
            std::uint64_t chunk_bytes, recorder::Budget& budget) {
    if (tried_) return;
    tried_ = true;
    journal_.file().open(AT_FDCWD, (folder + "/facts.spool").c_str(), header,
                         {.ring_bytes = 0, .tree_bytes = 0, .chunk_bytes = chunk_bytes},
                         budget);
  }
  void close() noexcept {
    if (is_open()) journal_.file().close();
  }
  void abandon() noexcept {
    if (is_open()) journal_.file().abandon();
  }

 private:
  Journal journal_;
  bool tried_ = false;
};

}  // namespace refrain::runtime
