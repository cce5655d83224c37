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
    facts_wait_.store(true, std::memory_order_relaxed);
}

void Session::put_fact(const ThreadRecorder* by, spool::TextKey key,
                       std::string_view text) noexcept {
  const std::lock_guard lock(mutex_);
  put_fact_locked(by, [&] {
    facts_.push_back({spool::record_words(spool::kText, 0, 0), key, std::string(text)});
  });
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
  facts_wait_.store(false, std::memory_order_relaxed);
}

void Session::put_new_modules() noexcept {
  const bool done = recorder::attempted([this] {
    for (const std::string& text : modules_.scan_new())
      journal_.text(spool::kTextModule, text);
  });
  if (!done) journal_.file().count_loss(spool::kLossMemory);
}

}  // namespace refrain::runtime
