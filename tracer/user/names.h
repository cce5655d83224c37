// NameTable: gives texts numbers, from 1 on, equal texts the same. Where two threads add one at the same time a number
// may stay unused.
//
// Place in the flow: ARCHITECTURE.md, stage 2, next to the user source: regions, parameters and
// their string values are recorded by number; their texts go to the journal when they are new.
// Thread-safety: any thread. Ownership: texts are copied, and stay until the process ends: what
// they came from may be unloaded.
// Errors: 0 where there is no room for another text: more than `most`, or no memory.
// Cost: a text that is known takes a hash of it, and one comparison in most cases. A new one allocates. No lock, no
// system call.
#pragma once

#include <cxxabi.h>

#include <array>
#include <atomic>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace refrain::user {

class NameTable {
 public:
  explicit constexpr NameTable(std::uint32_t most) : most_(most) {}

  struct Found {
    std::uint32_t number;
    bool is_new;
  };
  // `more` distinguishes texts that are otherwise equal (a file and line).
  Found number(std::string_view text, std::string_view more = {},
               std::uint32_t line = 0) noexcept;

 private:
  struct Wanted {
    std::uint64_t hash;
    std::string_view text;
    std::string_view more;
    std::uint32_t line;
  };
  struct Entry {
    Entry* next;  // in its slot
    std::uint64_t hash;
    std::uint32_t number;
    std::uint32_t line;
    std::uint32_t text_bytes;
    std::uint32_t more_bytes;
    // The texts follow.
    const char* texts() const noexcept { return reinterpret_cast<const char*>(this + 1); }
    bool is(const Wanted& wanted) const noexcept;
  };
  // Memory is taken by those that are used.
  static constexpr std::size_t kSlots = 1 << 16;

  // In a slot's list, up to `to`.
  static const Entry* find(const Entry* from, const Entry* to,
                           const Wanted& wanted) noexcept;
  Found add(std::atomic<Entry*>& slot, Entry* first, const Wanted& wanted) noexcept;

  std::uint32_t most_;
  std::atomic<std::uint32_t> count_{0};
  // No AppendOnlyMap: keys are texts of any length.
  std::array<std::atomic<Entry*>, kSlots> slots_{};
};

// Names of kernels that have no label: Kokkos gives typeid(functor).name(), followed by "/" and that of its tag.
//
// Pure. Thread-safety: any thread. Errors: what is no type's name stays as it is; throws for lack of memory.

// "N6solver5ScaleIdEE/3Tag" -> "solver::Scale<double>/Tag". Labels stay.
inline std::string kernel_type(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos)
    return kernel_type(name.substr(0, slash)) + '/' + kernel_type(name.substr(slash + 1));
  const std::string text(name);
  const bool may_be = !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) ||
                                        text[0] == 'N' || text[0] == 'Z');
  const std::unique_ptr<char, decltype(&std::free)> type(
      may_be ? abi::__cxa_demangle(text.c_str(), nullptr, nullptr, nullptr) : nullptr,
      std::free);
  return type == nullptr ? text : type.get();
}

// "solver::Scale<double>/Tag" -> "solver::Scale/Tag": without parameters, arguments of templates and unnamed
// namespaces. Lambdas keep their numbers: "run(int)::{lambda(int)#2}" -> "run::{lambda#2}".
inline std::string short_type(std::string_view type) {
  std::string name;
  int depth = 0;
  for (const char c : type) {
    if (c == '<' || c == '(') ++depth;
    const bool begins = name.empty() || name.ends_with('/') || name.ends_with("::");
    if (depth == 0 && !(c == ':' && begins)) name += c;
    if (c == '>' || c == ')') --depth;
  }
  return name;
}

}  // namespace refrain::user
