// The executable mappings of the process, as texts for the journal: what a later reader
// needs to turn code addresses into names.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Not for signal handlers.
#pragma once

#include <link.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace refrain::recorder {
class HandlerSafeMutex;
}

namespace refrain::runtime {

struct ModuleText {
  std::uint64_t begin;  // as recorded: see code_address.h; of no module: 0
  std::uint64_t end;
  std::string text;  // "start end offset build-id path" (see spool::kTextModule)
};

// Where code is that was loaded in the place of other code, or was unloaded. One thread at a time adds; any
// thread asks. Cost: two comparisons for code that lies elsewhere than all that was unloaded, else a look at each range.
class ReusedCode {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};
  static constexpr std::uint64_t kGone = 1;  // nothing is known of what is there now
  static constexpr std::uint64_t kFirst = std::uint64_t{1}
                                          << 47;  // recorded; above all programs

  // Later ranges lie over earlier ones. kNone: no room.
  std::size_t add(std::uint64_t begin, std::uint64_t end, std::uint64_t shift) noexcept;
  // What recorded addresses have more than true ones.
  void set_shift(std::size_t range, std::uint64_t shift) noexcept;

  struct Found {
    std::uint64_t address;  // as recorded
    bool gone;
  };
  Found find(std::uint64_t address) const noexcept;
  // The other way: 0 if the code with this recorded address is not there now.
  std::uint64_t loaded(std::uint64_t recorded) const noexcept;

 private:
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::atomic<std::uint64_t> shift{0};
  };
  bool in_none(std::uint64_t address) const noexcept {
    return address < lowest_.load(std::memory_order_relaxed) ||
           address >= highest_.load(std::memory_order_relaxed);
  }

  std::array<Range, 256> ranges_{};
  std::atomic<std::size_t> count_{0};
  // All ranges lie between: most code, the program's own, does not.
  std::atomic<std::uint64_t> lowest_{~std::uint64_t{0}};
  std::atomic<std::uint64_t> highest_{0};
};

// Thread-safety: one thread at a time; takes the loader's lock for a moment.
class Modules {
 public:
  explicit Modules(ReusedCode& reused) noexcept : reused_(reused) {}

  // Looks at what is loaded now and returns what was not seen before.
  std::vector<ModuleText> scan_new();
  // Notes what is not loaded any more. True if there is such.
  bool note_unloaded();

  // True if this address is in a mapping that is known and was not unloaded.
  bool covers(std::uint64_t address) const noexcept;

 private:
  struct Known {
    std::uint64_t begin;
    std::uint64_t end;
    std::string name;  // as the loader has it
    std::string id;    // build id
    std::uint64_t shift = 0;
    std::size_t range = ReusedCode::kNone;
    bool gone = false;
    bool there = false;
  };
  Known* find(const dl_phdr_info& info, std::uint64_t begin, std::uint64_t end);
  std::uint64_t shift_for(std::uint64_t begin, std::uint64_t end) noexcept;

  ReusedCode& reused_;
  std::vector<Known> known_;
  std::uint64_t next_free_ = ReusedCode::kFirst;
};

// Those of the process. Thread-safety: any thread. Throw for lack of memory.

// Looks at what is loaded now and returns all that was ever seen, from number `known` on.
std::vector<ModuleText> look_at_modules(std::size_t known);

// A parallel region is opened by the call that returns to `call`, and this is its function, which has the line of the
// directive; some compilers give the call another one. Once each.
void note_region_function(std::uint64_t call, std::uint64_t function) noexcept;

// This address, of no code, is a place with this text (spool::kTextModule). False: there is no journal, or no memory.
bool note_place(std::uint64_t address, std::string text) noexcept;

// Around the system's dlclose().
void before_unloading() noexcept;
void after_unloading() noexcept;

// For lock_at_fork() alone.
recorder::HandlerSafeMutex& modules_mutex() noexcept;

}  // namespace refrain::runtime
