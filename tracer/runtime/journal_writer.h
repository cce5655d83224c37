// The process' journal: texts, loops, iterations and gaps, as spool records.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Written by the thread that starts the session, then
// only by the primary thread; never by two at a time.
// Format: spool/format.h.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "filters/settings.h"
#include "spool/format.h"
#include "tracer/recorder/thread_recorder.h"

namespace refrain::runtime {

class Journal {
 public:
  recorder::ThreadRecorder& file() noexcept { return file_; }
  const recorder::ThreadRecorder& file() const noexcept { return file_; }

  void put(spool::Kind kind, std::uint64_t ticks, std::uint64_t a48, std::uint64_t payload,
           std::uint8_t sub = 0) noexcept {
    file_.append(spool::record_words(kind, ticks, payload, sub, a48));
  }

  void text(spool::TextKey key, std::string_view text) noexcept {
    put(spool::kText, recorder::Clock::now(), text.size(), 0, key);
    while (!text.empty()) {
      spool::Record record{};
      const std::size_t n = std::min(text.size(), sizeof record);
      std::memcpy(static_cast<void*>(&record), text.data(), n);
      file_.append(spool::RecordWords::load(record));
      text.remove_prefix(n);
    }
  }

  // Ties the clock to real time; the more often, the better the resolution is known.
  void clock_pair() noexcept {
    const std::uint64_t before = recorder::Clock::now();
    const std::uint64_t ns = recorder::Clock::monotonic_ns();
    const std::uint64_t after = recorder::Clock::now();
    put(spool::kClockPair, before + (after - before) / 2, 0, ns);
  }

 private:
  recorder::ThreadRecorder file_;
};

// The file next to the journal: records and texts that any thread may report (communicators, clock offsets, names, numbers of
// messages), while the journal is the primary thread's alone.
//
// Place in the flow: ARCHITECTURE.md, stage 3. `facts.spool`, with the header of a journal and nothing but a log. It is made
// when the first fact comes from another thread; the primary's are in the journal until then, and here from then on, so that
// they have an order. They survive a kill, and take no memory.
// Thread-safety: under the session's lock. Errors: not open where there is no disk or memory for it.
// Cost: as the journal's; open() makes a file, and may throw.

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

// The first texts of the journal: what program this is, how it was called and with which settings.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: the thread that starts the session. May
// throw std::bad_alloc.

// The path of the program's file.
std::string program_path();

// `runtime_name` may be null.
void put_preamble(Journal& journal, const filters::Settings& settings,
                  const char* runtime_name, const std::string& program);

}  // namespace refrain::runtime
