#include "tracer/user/names.h"

#include <cstdlib>
#include <cstring>
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

bool NameTable::Entry::is(const Wanted& wanted) const noexcept {
  return hash == wanted.hash && line == wanted.line &&
         wanted.text == std::string_view(texts(), text_bytes) &&
         wanted.more == std::string_view(texts() + text_bytes, more_bytes);
}

const NameTable::Entry* NameTable::find(const Entry* from, const Entry* to,
                                        const Wanted& wanted) noexcept {
  while (from != to && !from->is(wanted)) from = from->next;
  return from == to ? nullptr : from;
}

NameTable::Found NameTable::number(std::string_view text, std::string_view more,
                                   std::uint32_t line) noexcept {
  const Wanted wanted{mix(mix(line * 0xBF58476D1CE4E5B9u, text), more), text, more, line};
  std::atomic<Entry*>& slot = slots_[wanted.hash % kSlots];
  // Acquire: pairs with the release in add(); an entry does not change when it is there.
  Entry* const first = slot.load(std::memory_order_acquire);
  if (const Entry* entry = find(first, nullptr, wanted); entry != nullptr)
    return {entry->number, false};
  return add(slot, first, wanted);
}

// What another thread may have added before `first` is looked at as well.
NameTable::Found NameTable::add(std::atomic<Entry*>& slot, Entry* first,
                                const Wanted& wanted) noexcept {
  constexpr std::size_t kMaxBytes = 1 << 20;
  const auto [hash, text, more, line] = wanted;
  if (text.size() > kMaxBytes || more.size() > kMaxBytes) return {0, false};
  if (count_.load(std::memory_order_relaxed) >= most_) return {0, false};
  void* memory = std::malloc(sizeof(Entry) + text.size() + more.size());
  if (memory == nullptr) return {0, false};
  const std::uint32_t number = count_.fetch_add(1, std::memory_order_relaxed) + 1;
  auto* made = new (memory) Entry{first,
                                  hash,
                                  number,
                                  line,
                                  static_cast<std::uint32_t>(text.size()),
                                  static_cast<std::uint32_t>(more.size())};
  char* texts = reinterpret_cast<char*>(made + 1);
  if (!text.empty()) std::memcpy(texts, text.data(), text.size());
  if (!more.empty()) std::memcpy(texts + text.size(), more.data(), more.size());
  Found found{number, true};
  while (number <= most_ &&
         !slot.compare_exchange_strong(made->next, made, std::memory_order_release,
                                       std::memory_order_acquire)) {
    const Entry* const known = first;
    first = made->next;
    if (const Entry* other = find(first, known, wanted); other != nullptr) {
      found = {other->number, false};
      break;
    }
  }
  if (number <= most_ && found.is_new) return found;
  std::free(memory);  // its number stays unused
  return number <= most_ ? found : Found{0, false};
}

}  // namespace refrain::user
