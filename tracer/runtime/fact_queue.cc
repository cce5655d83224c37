#include "tracer/runtime/fact_queue.h"

#include "tracer/recorder/attempt.h"

namespace refrain::runtime {

bool FactQueue::add(spool::RecordWords record) noexcept {
  return recorder::attempted([&] { facts_.push_back({record, {}, {}}); });
}

bool FactQueue::add(spool::TextKey key, std::string_view text) noexcept {
  return recorder::attempted([&] {
    facts_.push_back({spool::record_words(spool::kText, 0, 0), key, std::string(text)});
  });
}

void FactQueue::write(Journal& journal) noexcept {
  for (const Fact& fact : facts_) {
    if (fact.record.kind() == spool::kText)
      journal.text(fact.key, fact.text);
    else
      journal.file().append(fact.record);
  }
  facts_.clear();
  waiting_.remove(WaitingWork::kFacts);
}

}  // namespace refrain::runtime
