#include "tracer/files/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tracer/files/file_table.h"
#include "tracer/files/files_api.h"
#include "tracer/recorder/clock.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/slow_path.h"

namespace refrain::files {
namespace {

using base::FileUse;
using recorder::Clock;
using spool::FileAct;
using spool::FileOperation;

constinit FileTable g_early;  // times are ns by the kernel's clock
constinit FileTable g_kept;   // in the spool
enum class State : std::uint8_t { kNotAsked, kAsking, kOff, kOn };
constinit std::atomic<State> g_state{State::kNotAsked};
constinit std::atomic<FileTable*> g_table{nullptr};
constinit std::atomic<std::uint64_t> g_threshold{0};
constinit std::atomic<void (*)(const SlowCall&) noexcept> g_record{nullptr};

// --- Which file a descriptor is of: known from its first call on until it is closed. ---

constexpr std::uint32_t kUnknown = 0;
constexpr std::uint32_t kNoFile = 1;
constexpr std::uint32_t kFirstFile = 2;       // plus the slot
constexpr std::uint32_t kOfEarly = 1U << 31;  // the slot is one of g_early
constexpr std::int64_t kNotKnown = -1;
constexpr std::int64_t kShared = -2;  // and will not be, until it is closed

// Zeros at first: a table with other values would be a megabyte of the library's file.
class Descriptor {
 public:
  std::uint32_t file() const noexcept { return file_.load(std::memory_order_relaxed); }
  std::int64_t position() const noexcept {
    return ~not_position_.load(std::memory_order_relaxed);
  }
  void is_of(std::uint32_t file) noexcept { file_.store(file, std::memory_order_relaxed); }
  void stands_at(std::int64_t position) noexcept {
    not_position_.store(~position, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> file_{0};
  std::atomic<std::int64_t> not_position_{0};
};
static_assert(kUnknown == 0 && ~kNotKnown == 0);
constexpr unsigned kMaxDescriptors = 1 << 16;
constinit std::array<Descriptor, kMaxDescriptors> g_descriptors{};
constinit std::atomic<unsigned> g_used{0};  // those from here on were never used

std::uint64_t now(const FileTable& table) noexcept {
  return &table == &g_early ? Clock::monotonic_ns() : Clock::now();
}

void forget(unsigned first, unsigned last) {
  const unsigned end = std::min(last, kMaxDescriptors - 1);
  for (unsigned i = first; i <= end && i < g_used.load(std::memory_order_relaxed); ++i) {
    g_descriptors[i].is_of(kUnknown);
    g_descriptors[i].stands_at(kNotKnown);
  }
}

// A child of vfork() has its parent's memory, and descriptors of its own.
bool is_own_process(const FileTable& table) noexcept {
  return static_cast<std::uint64_t>(syscall(SYS_getpid)) == table.pid();
}

// Neither of the kernel's own, nor memory.
bool is_of_interest(std::string_view path) noexcept {
  for (const std::string_view begin : {"/proc/", "/sys/", "/dev/shm/", "/memfd:", "/SYSV"})
    if (path.starts_with(begin)) return false;
  return true;
}

// The slot of an open file, as a Descriptor has it; kNoFile.
std::uint32_t look_at(FileTable& table, int descriptor) noexcept {
  struct stat file;
  if (fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode)) return kNoFile;
  std::array<char, 32> link{"/proc/self/fd/"};
  std::to_chars(link.data() + std::strlen(link.data()), link.data() + link.size() - 1,
                descriptor);
  // What is longer is known by its beginning. A handler's stack may be small.
  std::array<char, 1024> text;
  const ssize_t bytes = readlink(link.data(), text.data(), text.size());
  if (bytes <= 0) return kNoFile;
  std::string_view path(text.data(), static_cast<std::size_t>(bytes));
  constexpr std::string_view kDeleted = " (deleted)";
  if (file.st_nlink == 0 && path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  if (!is_of_interest(path)) return kNoFile;
  return (kFirstFile + table.find(path)) | (&table == &g_early ? kOfEarly : 0);
}

void keep(Descriptor& known, unsigned number, std::uint32_t file,
          std::int64_t position) noexcept {
  unsigned used = g_used.load(std::memory_order_relaxed);
  while (used <= number && !g_used.compare_exchange_weak(used, number + 1)) {
  }
  if (known.position() != kShared) known.stands_at(position);
  known.is_of(file);
}

std::int64_t position_of(int descriptor) noexcept {
  return syscall(SYS_lseek, descriptor, 0, SEEK_CUR);
}

bool appends(int descriptor) noexcept {
  return (syscall(SYS_fcntl, descriptor, F_GETFL) & O_APPEND) != 0;
}

__attribute__((noinline, cold)) std::uint32_t first_sight(FileTable& table, int descriptor,
                                                          Descriptor& known) noexcept {
  if (!is_own_process(table)) return kNoFile;
  const recorder::KeepErrno keep_errno;
  const std::uint32_t file = look_at(table, descriptor);
  const std::int64_t position =
      file == kNoFile || appends(descriptor) ? kNotKnown : position_of(descriptor);
  keep(known, static_cast<unsigned>(descriptor), file, std::max(position, kNotKnown));
  return file;
}

// kFirstFile plus the slot, or kNoFile. `anew`: also of one that was not seen before.
std::uint32_t file_of(FileTable& table, int descriptor, bool anew = true) noexcept {
  if (static_cast<unsigned>(descriptor) >= kMaxDescriptors) return kNoFile;
  Descriptor& known = g_descriptors[static_cast<unsigned>(descriptor)];
  std::uint32_t file = known.file();
  if (file == kNoFile || (file == kUnknown && !anew)) return kNoFile;
  const bool early = &table == &g_early;
  if (file == kUnknown || ((file & kOfEarly) != 0) != early) [[unlikely]]
    file = first_sight(table, descriptor, known);
  return file & ~kOfEarly;
}

// --- Calls ---

// The library is there because this was set. What else the settings say is known when a session starts; here, perhaps before
// the program's own malloc is ready, nothing may be allocated.
__attribute__((noinline, cold)) bool ask() noexcept {
  State before = State::kNotAsked;
  if (!g_state.compare_exchange_strong(before, State::kAsking)) return false;
  const recorder::KeepErrno keep_errno;
  const char* const text = std::getenv("REFRAIN_FILES");
  const bool on = text != nullptr && *text != '\0' && (g_early.usable() || g_early.make());
  FileTable* none = nullptr;
  if (on) g_table.compare_exchange_strong(none, &g_early);
  // A session may have started meanwhile.
  before = State::kAsking;
  g_state.compare_exchange_strong(before, on ? State::kOn : State::kOff);
  return on;
}

FileTable* table_now() noexcept {
  const State state = g_state.load(std::memory_order_acquire);
  if (recorder::OwnCode::is_here()) return nullptr;
  if (state != State::kOn && (state != State::kNotAsked || !ask())) [[unlikely]]
    return nullptr;
  return g_table.load(std::memory_order_acquire);
}

bool begin(Call* call, FileOperation operation, int descriptor) {
  FileTable* const table = table_now();
  if (table == nullptr) return false;
  // Programs close all descriptors that there may be.
  const std::uint32_t file =
      file_of(*table, descriptor, operation != FileOperation::kClose);
  if (file == kNoFile || (operation == FileOperation::kClose && !is_own_process(*table)))
      [[likely]]
    return false;
  call->table = table;
  call->file = file - kFirstFile;
  call->descriptor = descriptor;
  call->operation = operation;
  const bool stream = spool::kFileOperations[static_cast<std::size_t>(operation)].stream;
  call->offset =
      stream ? kNotKnown : g_descriptors[static_cast<unsigned>(descriptor)].position();
  call->begin = now(*table);
  return true;
}

struct Columns {
  std::uint64_t FileUse::*calls;
  std::uint64_t FileUse::*ns;
  std::uint64_t FileUse::*bytes = nullptr;
};
constexpr Columns columns_of(FileAct act) noexcept {
  switch (act) {
    case FileAct::kOpen:
      return {&FileUse::opens, &FileUse::open_ns};
    case FileAct::kClose:
      return {&FileUse::closes, &FileUse::close_ns};
    case FileAct::kRead:
      return {&FileUse::reads, &FileUse::read_ns, &FileUse::read_bytes};
    case FileAct::kWrite:
      return {&FileUse::writes, &FileUse::write_ns, &FileUse::written_bytes};
    default:
      return {&FileUse::syncs, &FileUse::sync_ns};
  }
}

// Counts it as its columns say.
template <FileAct act>
void count(FileTable& table, std::uint32_t file, std::uint64_t took,
           std::uint64_t bytes) noexcept {
  constexpr Columns kColumns = columns_of(act);
  table.add(file, kColumns.calls, 1);
  table.add(file, kColumns.ns, took);
  if constexpr (kColumns.bytes != nullptr) table.add(file, kColumns.bytes, bytes);
}

void count(FileTable& table, std::uint32_t file, FileAct act, std::uint64_t took,
           std::uint64_t bytes) noexcept {
  switch (act) {
    case FileAct::kOpen:
      return count<FileAct::kOpen>(table, file, took, bytes);
    case FileAct::kClose:
      return count<FileAct::kClose>(table, file, took, bytes);
    case FileAct::kRead:
      return count<FileAct::kRead>(table, file, took, bytes);
    case FileAct::kWrite:
      return count<FileAct::kWrite>(table, file, took, bytes);
    default:
      return count<FileAct::kSync>(table, file, took, bytes);
  }
}

bool moves(FileAct act) noexcept { return act == FileAct::kRead || act == FileAct::kWrite; }

// Where the call has read or written; `given` by itself, or where its descriptor stood. The descriptor goes on.
std::int64_t follow_position(const Call& call, std::int64_t moved,
                             std::int64_t given) noexcept {
  if (given >= 0 || call.offset < 0) return std::max(given, kNotKnown);
  if (moved != 0)
    g_descriptors[static_cast<unsigned>(call.descriptor)].stands_at(call.offset + moved);
  return call.offset;
}

void record(const Call& call, const FileTable& table, std::uint64_t end,
            std::uint64_t bytes, std::int64_t offset, std::uint16_t flags = 0) noexcept {
  const auto to = g_record.load(std::memory_order_acquire);
  if (to == nullptr || &table != &g_kept) return;
  to({.operation = call.operation,
      .file = call.file,
      .name = table.name(call.file),
      .descriptor = call.descriptor,
      .flags = flags,
      .begin = call.begin,
      .end = end,
      .bytes = bytes,
      .offset = offset < 0 ? SlowCall::kNoOffset : static_cast<std::uint64_t>(offset)});
}

bool is_slow(const FileTable& table, std::uint64_t took) noexcept {
  return &table == &g_kept && took >= g_threshold.load(std::memory_order_relaxed);
}

void end(Call* call, std::int64_t result, std::uint64_t asked, std::int64_t given) {
  auto& table = *static_cast<FileTable*>(call->table);
  const std::uint64_t end_time = now(table);
  const std::uint64_t took = end_time > call->begin ? end_time - call->begin : 0;
  const spool::FileOperationRow& operation =
      spool::kFileOperations[static_cast<std::size_t>(call->operation)];
  const std::int64_t moved = moves(operation.act) ? std::max<std::int64_t>(result, 0) : 0;
  const bool slow = is_slow(table, took);
  const recorder::KeepErrno keep_errno;
  std::int64_t offset = kNotKnown;
  count(table, call->file, operation.act, took, static_cast<std::uint64_t>(moved));
  if (moves(operation.act)) {
    if (operation.stream) {
      table.add(call->file, &FileUse::stream_calls, 1);
    } else {
      offset = follow_position(*call, moved, given);
      if (asked < base::kSmallCall) table.add(call->file, &FileUse::small, 1);
      if (offset > 0 && offset % std::int64_t{base::kSmallCall} != 0)
        table.add(call->file, &FileUse::unaligned, 1);
    }
  }
  if (result < 0) table.add(call->file, &FileUse::errors, 1);
  table.note_slowest(call->file, took);
  if (!slow) [[likely]]
    return;
  table.add(call->file, &FileUse::slow, 1);
  if (offset < 0 && moved != 0 && !operation.stream)
    offset = position_of(call->descriptor) - moved;
  record(*call, table, end_time, static_cast<std::uint64_t>(moved), offset);
}

bool begin_open(Call* call, FileOperation operation) {
  FileTable* const table = table_now();
  if (table == nullptr) return false;
  call->table = table;
  call->operation = operation;
  call->begin = now(*table);
  return true;
}

// Of a call that failed it is not known whether it would have been a file. Where one that appends writes is not known.
void end_open(Call* call, int descriptor, std::uint16_t flags) {
  auto& table = *static_cast<FileTable*>(call->table);
  const std::uint64_t end_time = now(table);
  if (static_cast<unsigned>(descriptor) >= kMaxDescriptors || !is_own_process(table))
    return;
  const recorder::KeepErrno keep_errno;
  const std::uint32_t file = look_at(table, descriptor);
  Descriptor& known = g_descriptors[static_cast<unsigned>(descriptor)];
  const bool stream =
      spool::kFileOperations[static_cast<std::size_t>(call->operation)].stream;
  known.stands_at(kNotKnown);
  keep(known, static_cast<unsigned>(descriptor), file,
       stream                              ? kShared
       : (flags & spool::kFileAppend) != 0 ? kNotKnown
                                           : 0);
  if (file == kNoFile) return;
  call->file = (file & ~kOfEarly) - kFirstFile;
  call->descriptor = descriptor;
  const std::uint64_t took = end_time > call->begin ? end_time - call->begin : 0;
  count(table, call->file, FileAct::kOpen, took, 0);
  table.note_slowest(call->file, took);
  if (!is_slow(table, took)) return;
  table.add(call->file, &FileUse::slow, 1);
  record(*call, table, end_time, 0, kNotKnown, flags);
}

void share(int descriptor) {
  const unsigned number = static_cast<unsigned>(descriptor);
  if (number >= kMaxDescriptors) return;
  Descriptor& known = g_descriptors[number];
  keep(known, number, known.file(), kShared);
}

void seek(int descriptor, std::int64_t result) {
  FileTable* const table = table_now();
  if (table == nullptr) return;
  const std::uint32_t file = file_of(*table, descriptor);
  if (file == kNoFile) return;
  table->add(file - kFirstFile, &FileUse::seeks, 1);
  Descriptor& known = g_descriptors[static_cast<unsigned>(descriptor)];
  if (result >= 0 && known.position() >= 0) known.stands_at(result);
}

constexpr Api kApi = {begin, end, begin_open, end_open, forget, share, seek};

// In a child it may be the parent's.
bool keeps() noexcept { return g_kept.usable() && is_own_process(g_kept); }

void take_early() noexcept {
  if (g_early.usable() && is_own_process(g_early))
    g_kept.drain(g_early, Clock::ticks_per_second() / 1e9);
}

}  // namespace

std::string start(const std::string& path, double threshold_s,
                  void (*record)(const SlowCall&) noexcept) {
  if (g_state.load() == State::kOff || keeps()) return {};
  const recorder::SlowPath slow_path;
  const recorder::NoLowDescriptors no_low_descriptors;
  if (std::string error = g_kept.open(path); !error.empty()) return error;
  g_threshold.store(Clock::ticks_of_seconds(threshold_s));
  g_record.store(record);
  g_state.store(State::kOn);
  g_table.store(&g_kept);
  take_early();
  return {};
}

void stop() noexcept {
  if (g_table.load() != &g_kept || !keeps()) return;
  g_state.store(State::kOff);
  g_table.store(nullptr);
  take_early();
  g_kept.end();
}

void abandon() noexcept {
  g_record.store(nullptr);
  g_table.store(nullptr);
  g_early.clear();
  forget(0, kMaxDescriptors - 1);
  g_state.store(State::kNotAsked);
}

}  // namespace refrain::files

// What librefrain_files.so looks for.
extern "C" __attribute__((visibility("default"))) const refrain::files::Api*
refrain_files_api() {
  return &refrain::files::kApi;
}
