// Records and texts of the journal that any thread may report (communicators, clock offsets, names):
// they wait for the primary thread, which alone writes the journal, with its next symbol.
//
// Place in the flow: ARCHITECTURE.md, step 5. Thread-safety: under the session's lock.
// Errors: without memory a fact is not taken. Cost: allocates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spool/format.h"
#include "tracer/runtime/journal_writer.h"
#include "tracer/runtime/waiting_work.h"

namespace refrain::runtime {

class FactQueue {
 public:
  explicit FactQueue(WaitingWork& waiting) noexcept : waiting_(waiting) {}

  // False: no memory. Call announce() or write() afterwards.
  bool add(spool::RecordWords record) noexcept;
  bool add(spool::TextKey key, std::string_view text) noexcept;

  // The primary thread is to write them with its next symbol.
  void announce() noexcept { waiting_.add(WaitingWork::kFacts); }
  // The primary thread writes them now, in their order.
  void write(Journal& journal) noexcept;

 private:
  struct Fact {
    spool::RecordWords record;
    spool::TextKey key;
    std::string text;  // if the record's kind is kText
  };
  WaitingWork& waiting_;
  std::vector<Fact> facts_;
};

}  // namespace refrain::runtime
