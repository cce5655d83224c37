// What the journal is told from any thread: it is written by the primary's, with its next symbol.
#include <mutex>
#include <string>

#include "tracer/recorder/attempt.h"
#include "tracer/runtime/session.h"

namespace refrain::runtime {

using recorder::ThreadRecorder;
using spool::RecordWords;

void Session::put_fact(const ThreadRecorder* by, RecordWords record) noexcept {
  const std::lock_guard lock(mutex_);
  put_fact_locked(by, [&] { facts_.push_back({record, {}, {}}); });
}

template <typename Add>
void Session::put_fact_locked(const ThreadRecorder* by, const Add& add) noexcept {
  if (finished_) return;
  if (!recorder::attempted(add)) return journal_.file().count_loss(spool::kLossMemory);
  if (is_primary(by))
    put_facts_locked();
  else
    waiting_.fetch_or(kFactsWait, std::memory_order_relaxed);
}

void Session::put_fact(const ThreadRecorder* by, spool::TextKey key,
                       std::string_view text) noexcept {
  const std::lock_guard lock(mutex_);
  put_fact_locked(by, [&] {
    facts_.push_back({spool::record_words(spool::kText, 0, 0), key, std::string(text)});
  });
}

void Session::do_what_waits(ThreadRecorder& recorder, periodicity::Symbol place) noexcept {
  const unsigned waiting = waiting_.load(std::memory_order_relaxed);
  if ((waiting & kFactsWait) != 0) put_waiting_facts();
  if ((waiting & kChainsWanted) != 0) put_call_chain(recorder, place);
}

// Of an event of a loop whose body has just become known.
void Session::put_call_chain(ThreadRecorder& recorder, periodicity::Symbol place) noexcept {
  if (chains_.wants(place)) {
    const recorder::SlowPath slow_path;
    const std::uint64_t begin = recorder::Clock::now();
    const std::uint64_t kind = place >> kPlaceKindShift;
    const bool number = kind == spool::kUserEnter || kind == spool::kUserPhase ||
                        kind == spool::kFunctionEnter;
    const std::string_view text =
        chains_.take(place, number ? 0 : place & spool::kAddressMask);
    bool all_known = true;
    for (std::size_t i = 0; i != chains_.frames() && !text.empty(); ++i)
      all_known &= modules_.covers(chains_.frame(i));
    if (!all_known) put_new_modules();
    if (!text.empty()) journal_.text(spool::kTextCallers, text);
    recorder.add_own_ticks(recorder::Clock::now() - begin);
  }
  if (!chains_.armed()) waiting_.fetch_and(~kChainsWanted, std::memory_order_relaxed);
}

void Session::put_waiting_facts() noexcept {
  const std::lock_guard lock(mutex_);
  put_facts_locked();
}

void Session::put_facts_locked() noexcept {
  for (const Fact& fact : facts_) {
    if (fact.record.kind() == spool::kText)
      journal_.text(fact.key, fact.text);
    else
      journal_.file().append(fact.record);
  }
  facts_.clear();
  waiting_.fetch_and(~kFactsWait, std::memory_order_relaxed);
}

void Session::put_new_modules() noexcept {
  const bool done = recorder::attempted([this] {
    for (const std::string& text : modules_.scan_new())
      journal_.text(spool::kTextModule, text);
  });
  if (!done) journal_.file().count_loss(spool::kLossMemory);
}

}  // namespace refrain::runtime
