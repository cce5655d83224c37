// A signal handler that jumps out of the recorder after any of its instructions: what was committed
// is in the file, nothing else is, and recording goes on.
//
// The processor's trap flag stops after every instruction (SIGTRAP); the handler counts, and
// jumps when it is time. Where signals are blocked no handler would run, and none jumps here.
// In its short form (test_length.h) after each third instruction.
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <catch2/catch.hpp>
#include <vector>

#include "test/support/test_length.h"
#include "tracer/recorder/recorder_model.h"

namespace refrain::recorder::jump_test {
namespace {

constexpr greg_t kTrapFlag = 0x100;
sigjmp_buf g_back;
volatile bool g_stepping = false;
volatile long g_steps = 0;  // instructions that are still to come

void on_trap(int, siginfo_t*, void* context) {
  auto& interrupted = *static_cast<ucontext_t*>(context);
  greg_t& flags = interrupted.uc_mcontext.gregs[REG_EFL];
  if (!g_stepping) {
    flags &= ~kTrapFlag;
    return;
  }
  flags |= kTrapFlag;
  if (sigismember(&interrupted.uc_sigmask, SIGUSR1) == 1) return;
  if (g_steps == 0) siglongjmp(g_back, 1);
  g_steps = g_steps - 1;
}

[[gnu::noinline]] void callback(ThreadRecorder& recorder, std::uint64_t ticks) {
  FrameMark mark;
  if (!recorder.enter(mark)) return;
  recorder.begin(spool::record_words(spool::kWorkBegin, ticks, 0x1000));
  recorder.end(spool::record_words(spool::kWorkEnd, ticks + 1, 0x1000));
  recorder.leave();
}

// In the log, or in the ring.
std::uint64_t records_in(const Bench& bench) {
  const spool::Header& header = bench.recorder->header();
  return bench.recorder->suspended() ? header.ring_commit.load() >> 8
                                     : header.log_commit.load() >> 1;
}

// Returns true if it ended before `steps` instructions were done.
bool stepped_to_end(ThreadRecorder& recorder, std::uint64_t ticks, long steps) {
  static volatile bool ended;
  ended = false;
  g_steps = steps;
  if (sigsetjmp(g_back, 1) == 0) {
    g_stepping = true;
    raise(SIGTRAP);
    callback(recorder, ticks);
    g_stepping = false;
    ended = true;
  }
  g_stepping = false;
  return ended;
}

// Of the whole log: times in order, and both records of what was surely recorded.
void check_log(const std::vector<Record>& log, const std::vector<std::uint64_t>& sure) {
  std::size_t next = 0;
  std::uint64_t before = 0;
  for (const Record& record : log) {
    const bool known = record.kind == spool::kWorkBegin || record.kind == spool::kWorkEnd ||
                       record.kind == spool::kFlush || record.kind == spool::kSync ||
                       record.kind == spool::kSuspend;
    const bool later = record.kind == spool::kSuspend || record.ticks > before;
    // Catch2 would count millions of them, one by one.
    if (!known || !later) {
      CAPTURE(record.kind, record.ticks, before);
      REQUIRE(known);
      REQUIRE(later);
    }
    if (record.kind != spool::kSuspend) before = record.ticks;
    if (next < sure.size() && record.ticks == sure[next]) ++next;
  }
  CHECK(next == sure.size());
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCanStep =
    false;  // these delay signals, or keep their own account of the stack
#else
constexpr bool kCanStep = true;
#endif

TEST_CASE(
    "ThreadRecorder: a jump - after any instruction, nothing but that event is lost") {
  if (!kCanStep) return;
  const bool suspended = GENERATE(false, true);
  // Whether the stage, or the ring, is full before the event, or within it.
  const auto room = GENERATE(std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{100});
  Bench bench;
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  struct sigaction kept {};
  sigaction(SIGTRAP, &action, &kept);
  bench.epochs(1, 1);
  if (suspended) bench.suspend(1);
  std::vector<std::uint64_t> sure;
  long steps = 0;
  // Each stop takes long where the machine is a virtual one.
  const long stride = test::test_length() == test::TestLength::kShort ? 3 : 1;
  for (; steps < 5000; steps += stride) {
    // Both are of so many records, or of a multiple.
    while ((records_in(bench) + room) % spool::kStageRecords != 0 && room != 100)
      bench.event();
    bench.ticks += 10;
    const bool ended = stepped_to_end(*bench.recorder, bench.ticks - 9, steps);
    callback(*bench.recorder, bench.ticks - 5);  // in full
    sure.push_back(bench.ticks - 5);
    sure.push_back(bench.ticks - 4);
    if (ended) break;
  }
  sigaction(SIGTRAP, &kept, nullptr);
  CHECK(steps > 30);
  CHECK(steps < 5000);
  CHECK(bench.recorder->depth() <= 1 + static_cast<std::uint32_t>(steps));
  const spool::SpoolFile file = bench.read();
  CHECK(file.complaints().empty());
  std::vector<Record> all = log_of(file);
  const std::vector<Record> ring = ring_of(file);
  all.insert(all.end(), ring.begin(), ring.end());
  // What the ring has forgotten need not be there.
  if (suspended)
    std::erase_if(sure, [&](std::uint64_t at) { return at < ring.front().ticks; });
  REQUIRE_FALSE(sure.empty());
  check_log(all, sure);
}

}  // namespace refrain::recorder::jump_test
