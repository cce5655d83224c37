#include "tracer/user/names.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace refrain::user {
namespace {

std::uint64_t mix(std::uint64_t hash, std::string_view text) noexcept {
  hash ^= text.size();
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t n = text.size() < 8 ? text.size() : 8;
    std::memcpy(&word, text.data(), n);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
    text.remove_prefix(n);
  }
  return hash;
}

}  // namespace

bool NameTable::Entry::is(std::uint64_t h, std::string_view text, std::string_view more,
                          std::uint32_t at_line) const noexcept {
  return hash == h && line == at_line && text == std::string_view(texts(), text_bytes) &&
         more == std::string_view(texts() + text_bytes, more_bytes);
}

NameTable::Found NameTable::number(std::string_view text, std::string_view more,
                                   std::uint32_t line) noexcept {
  const std::uint64_t hash = mix(mix(line * 0xBF58476D1CE4E5B9u, text), more);
  // Acquire: pairs with the release in add(); an entry does not change when it is there.
  const Entry* entry = slots_[hash % kSlots].load(std::memory_order_acquire);
  for (; entry != nullptr; entry = entry->next)
    if (entry->is(hash, text, more, line)) return {entry->number, false};
  return add(hash, text, more, line);
}

NameTable::Found NameTable::add(std::uint64_t hash, std::string_view text,
                                std::string_view more, std::uint32_t line) noexcept {
  constexpr std::size_t kMostBytes = 1 << 20;
  if (text.size() > kMostBytes || more.size() > kMostBytes) return {0, false};
  const std::lock_guard lock(mutex_);
  std::atomic<Entry*>& slot = slots_[hash % kSlots];
  Entry* first = slot.load(std::memory_order_relaxed);
  for (const Entry* entry = first; entry != nullptr; entry = entry->next)
    if (entry->is(hash, text, more, line)) return {entry->number, false};
  if (count_ == most_) return {0, false};
  void* memory = std::malloc(sizeof(Entry) + text.size() + more.size());
  if (memory == nullptr) return {0, false};
  auto* made = new (memory) Entry{first,
                                  hash,
                                  ++count_,
                                  line,
                                  static_cast<std::uint32_t>(text.size()),
                                  static_cast<std::uint32_t>(more.size())};
  char* texts = reinterpret_cast<char*>(made + 1);
  if (!text.empty()) std::memcpy(texts, text.data(), text.size());
  if (!more.empty()) std::memcpy(texts + text.size(), more.data(), more.size());
  slot.store(made, std::memory_order_release);
  return {count_, true};
}

}  // namespace refrain::user
