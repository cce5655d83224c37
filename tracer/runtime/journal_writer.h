// The process' journal: texts, loops, iterations and gaps, as spool records.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Written by the thread that starts the session, then
// only by the primary thread; never by two at a time.
// Format: spool/format.h.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

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

}  // namespace refrain::runtime
