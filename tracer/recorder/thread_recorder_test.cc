#include "tracer/recorder/thread_recorder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <random>
#include <thread>

#include "tracer/recorder/recorder_model.h"

namespace refrain::recorder::thread_recorder_test {
namespace {

using spool::kStageRecords;
using spool::Record;

TEST_CASE("ThreadRecorder: a lock that is left out - the log goes on before it") {
  Bench bench;
  bench.epochs(1, 3);
  const std::size_t before = log_of(bench.read()).size();
  for (int i = 0; i != 3; ++i) {
    std::uint64_t ticks = 1000;
    for (const spool::Kind kind :
         {spool::kMutexAcquire, spool::kMutexAcquired, spool::kMutexReleased})
      bench.recorder->append(spool::record_words(kind, ++ticks, 0));
    bench.recorder->leave_out_lock();
  }
  CHECK(log_of(bench.read()).size() == before);
  CHECK(bench.read().facts().locks_left_out == 3);
  bench.events(2);
  bench.check();
}

TEST_CASE("ThreadRecorder: a poll is the newest, but for locks that were released again") {
  Bench bench;
  std::uint64_t ticks = 100;
  const auto put = [&](spool::Kind kind) {
    bench.recorder->append(spool::record_words(kind, ++ticks, 0));
  };
  const auto poll = [&] {
    put(spool::kMpiEnter);
    put(spool::kMpiLeave);
    bench.recorder->end_poll(ticks);
  };
  const auto lock = [&] {
    put(spool::kMutexAcquire);
    put(spool::kMutexAcquired);
    put(spool::kMutexReleased);
  };
  CHECK_FALSE(bench.recorder->polls_now());
  poll();
  CHECK(bench.recorder->polls_now());
  lock();
  lock();
  CHECK(bench.recorder->newest_locks() == 6);
  CHECK(bench.recorder->polls_now());
  put(spool::kMutexAcquire);
  CHECK_FALSE(bench.recorder->polls_now());
  put(spool::kMutexAcquired);
  put(spool::kMutexReleased);
  CHECK(bench.recorder->polls_now());
  put(spool::kMpiEnter);
  put(spool::kMpiLeave);  // of a call that does not poll
  CHECK_FALSE(bench.recorder->polls_now());
}

TEST_CASE("ThreadRecorder: write - records are in the file as they were given") {
  const std::uint64_t count =
      GENERATE(std::uint64_t{0}, std::uint64_t{1}, kStageRecords - 1, kStageRecords,
               kStageRecords + 1, 5 * kStageRecords + 17);
  Bench bench;
  bench.events(count);
  bench.check();
  bench.recorder->close();
  bench.check();
  CHECK(bench.read().facts().ended);
  CHECK(bench.lost() == 0);
}

TEST_CASE("ThreadRecorder: write - two at once, wherever a block ends") {
  for (const std::uint64_t before :
       {kStageRecords - 3, kStageRecords - 2, kStageRecords - 1, kStageRecords}) {
    Bench bench;
    bench.events(before);
    for (int i = 0; i < 3; ++i) {
      const Record first = make_record(spool::kFlush, ++bench.ticks, 1);
      const Record second = make_record(spool::kFlush, bench.ticks, 2);
      bench.recorder->append(spool::RecordWords::load(first),
                             spool::RecordWords::load(second));
      bench.model.append(first);
      bench.model.append(second);
      bench.check();
    }
    CHECK(bench.recorder->own_ticks() != 0);  // a block was written
  }
}

// A handler's frame lies below that of what it interrupts.
[[gnu::noinline]] bool can_enter_below(ThreadRecorder& recorder) {
  FrameMark mark;
  return recorder.enter(mark);
}

TEST_CASE("ThreadRecorder: write - events are counted, one inside another is lost") {
  Bench bench;
  FrameMark mark;
  REQUIRE(bench.recorder->enter(mark));
  CHECK_FALSE(can_enter_below(*bench.recorder));
  bench.recorder->count_event();
  bench.recorder->leave();
  REQUIRE(bench.recorder->enter(mark));
  bench.recorder->leave();
  CHECK(bench.read().facts().events_seen == 3);
  CHECK(bench.lost(spool::kLossReentrant) == 1);
}

sigjmp_buf g_back;

[[gnu::noinline]] void enter_and_jump(ThreadRecorder& recorder) {
  FrameMark mark;
  if (recorder.enter(mark)) siglongjmp(g_back, 1);
}

// A signal handler that interrupts a callback and does not come back.
TEST_CASE("ThreadRecorder: write - a jump out of a callback leaves it usable") {
  static Bench* bench;  // keeps its value where the jump comes back
  const bool suspended = GENERATE(false, true);
  bench = new Bench;
  bench->epochs(3, 2000);
  if (suspended) bench->suspend(2);
  if (sigsetjmp(g_back, 0) == 0) enter_and_jump(*bench->recorder);
  CHECK(bench->recorder->busy());
  FrameMark mark;
  CHECK(bench->recorder->enter(mark));
  bench->recorder->leave();
  CHECK(bench->lost(spool::kLossReentrant) == 1);
  bench->events(5000);
  bench->check();
  delete bench;
}

// Events may come at any time then: that one is in progress says nothing about the end.
TEST_CASE("ThreadRecorder: write - after the end nobody is in it") {
  Bench bench;
  FrameMark mark;
  REQUIRE(bench.recorder->enter(mark));
  CHECK(bench.recorder->busy());
  bench.recorder->leave_for_good(spool::kLossDiskFull);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(bench.recorder->enter(mark));
  bench.recorder->free_if_left(mark);
  CHECK_FALSE(bench.recorder->busy());
  CHECK(bench.recorder->at_rest());
  CHECK(bench.lost(spool::kLossDiskFull) == 4);
  CHECK(bench.lost() == 4);
}

TEST_CASE("ThreadRecorder: write - what a jump left unfinished is dropped") {
  Bench bench;
  bench.epochs(3, 2000);
  const bool suspended = GENERATE(false, true);
  if (suspended) bench.suspend(2);
  bench.recorder->drop_unfinished();  // nothing was
  bench.events(GENERATE(std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}));
  bench.recorder->drop_unfinished();
  bench.events(9000);
  if (suspended) bench.resume(3);
  bench.events(100);
  bench.check();
}

TEST_CASE("ThreadRecorder: write - regions deeper than the stack are counted") {
  Bench bench;
  for (std::size_t i = 0; i < spool::kMaxDepth + 3; ++i)
    bench.recorder->begin(spool::record_words(spool::kWorkBegin, i + 1, 0));
  CHECK(bench.recorder->depth() == spool::kMaxDepth);
  CHECK(bench.lost(spool::kLossDepth) == 3);
}

// Two counters; the second one does not count from the start of its thread.
class Counters final : public MetricReader {
 public:
  unsigned count() const noexcept override { return 2; }
  void read(std::uint64_t* values) noexcept override {
    values[0] = ++reads;
    values[1] = 100 * reads;
  }
  std::uint64_t reads = 0;
};

TEST_CASE("ThreadRecorder: metrics - of an end that is extended are those of then") {
  constexpr std::uint64_t kMpi = std::uint64_t{3} << spool::kMpiEnter;
  const std::uint64_t before = GENERATE(std::uint64_t{0}, std::uint64_t{7});
  Bench bench;
  Counters counters;
  bench.recorder->set_metrics(&counters, kMpi, 2);
  // The end stands after its values in this block, or is the first record of the next one.
  const std::uint64_t at = before == 0 ? kStageRecords - 2 : before;
  for (std::uint64_t i = 0; i + 3 < at; ++i) bench.event();
  bench.recorder->begin(spool::record_words(spool::kMpiEnter, ++bench.ticks, 5));
  bench.recorder->end(spool::record_words(spool::kMpiLeave, ++bench.ticks, 5));
  const std::vector<Record> first = log_of(bench.read());
  const bool extended = bench.recorder->extend_end(1'000'000);
  const std::vector<Record> log = log_of(bench.read());
  REQUIRE(log.size() == first.size());
  CHECK(extended == (before != 0));
  const Record* const end = &log.back();
  CHECK(end->kind == spool::kMpiLeave);
  CHECK(end->a48() == (extended ? 1 : 0));
  for (int i = 0; i < 2; ++i) {
    const Record& value = end[i - 2];
    CHECK(value.kind == spool::kMetric);
    CHECK(value.sub == i);
    CHECK(value.ticks == end->ticks);
    CHECK(value.payload == (extended ? 3U : 2U) * (i == 0 ? 1 : 100));
  }
  CHECK(end->ticks == (extended ? 1'000'000 : bench.ticks));
}

TEST_CASE("ThreadRecorder: an end that is extended - what is behind it in the block goes") {
  const bool suspended = GENERATE(false, true);
  const std::uint64_t events = GENERATE(std::uint64_t{5}, std::uint64_t{9000});
  Bench bench;
  bench.epochs(3, events);
  if (suspended) bench.suspend(2);
  bench.begin();
  bench.end();
  const std::vector<spool::Kind> behind = {spool::kMutexAcquire, spool::kMutexAcquired,
                                           spool::kMutexReleased};
  if (bench.recorder->last(behind.size()) == nullptr) return;
  for (const spool::Kind kind : behind)
    bench.recorder->append(spool::record_words(kind, bench.ticks, 7));
  REQUIRE(bench.recorder->last(behind.size())->kind == spool::kWorkEnd);
  CHECK(bench.recorder->last(bench.recorder->depth() + 1'000'000) == nullptr);
  REQUIRE(bench.recorder->extend_end(++bench.ticks, behind.size()));
  bench.model.extend_end(bench.ticks);
  bench.check();
  bench.events(100);
  if (suspended) bench.resume(3);
  bench.check();
}

TEST_CASE("ThreadRecorder: metrics - an end from before there were any is not extended") {
  Bench bench;
  Counters counters;
  bench.events(4);
  bench.begin();
  bench.end();
  bench.recorder->set_metrics(&counters, std::uint64_t{3} << spool::kWorkBegin, 0);
  CHECK_FALSE(bench.recorder->extend_end(1'000'000));
  bench.check();
}

TEST_CASE("ThreadRecorder: suspend - trims the log to the Sync and moves the rest") {
  const std::uint64_t each = GENERATE(3, 500, 1200);  // the cut: here, or stages back
  Bench bench;
  bench.epochs(20, each);
  const std::uint64_t from = GENERATE(1, 7, 15, 20);
  bench.suspend(from);
  REQUIRE(bench.recorder->suspended());
  REQUIRE(bench.model.skipped().front().a48() == from);
  bench.check();
  bench.epochs(2, each);
  bench.check();
}

int descriptor_of(const std::string& file) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry.path(), error) == file)
      return std::stoi(entry.path().filename().string());
  }
  return -1;
}

TEST_CASE("ThreadRecorder: suspend - the program has made the descriptor its own") {
  Bench bench;
  const int number = descriptor_of(bench.path());
  REQUIRE(number > 2);
  bench.epochs(6, 1500);  // more than the stage has room for
  const test::TemporaryFolder folder;
  const std::string other = folder / "results.bin";
  const int own = open(other.c_str(), O_RDWR | O_CREAT, 0666);
  // Wherever a record may begin in it, it is a cut, and all after it would be moved.
  const std::vector<std::uint64_t> words(
      300000, spool::record_words(spool::kSync, 0, 0, 0, 5).meta);
  const std::size_t bytes = words.size() * sizeof(std::uint64_t);
  REQUIRE(write(own, words.data(), bytes) == static_cast<ssize_t>(bytes));
  REQUIRE(dup2(own, number) == number);
  const std::uint64_t before = log_of(bench.read()).size();
  bench.board->publish({++bench.gap, 2, true});
  bench.recorder->follow(*bench.board);
  CHECK(bench.recorder->suspended());
  bench.recorder->append(
      spool::RecordWords::load(make_record(spool::kFlush, ++bench.ticks)));
  // What could not be moved to the ring is in the log still, and nothing else is in either.
  const spool::SpoolFile file = bench.read();
  CHECK(file.complaints().empty());
  std::vector<Record> all = log_of(file);
  std::erase_if(all, [](const Record& record) { return record.kind == spool::kSuspend; });
  const std::vector<Record> ring = ring_of(file);
  all.insert(all.end(), ring.begin(), ring.end());
  CHECK(all.size() == before + 1);
  for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(all[i].ticks == i + 1);
  CHECK(bench.lost() == 0);
  bench.recorder->close();
  CHECK(fcntl(number, F_GETFD) >= 0);
  close(number);
  close(own);
}

TEST_CASE("ThreadRecorder: suspend - waits for an epoch that is still to come") {
  Bench bench;
  bench.epochs(3, 10);
  bench.suspend(5);
  CHECK_FALSE(bench.recorder->suspended());
  bench.epochs(1, 10);
  CHECK_FALSE(bench.recorder->suspended());
  bench.sync();
  CHECK(bench.recorder->suspended());
  bench.model.suspend(1, 5);
  bench.check();
}

TEST_CASE("ThreadRecorder: suspend - ends of regions open at the cut are in the log") {
  Bench bench;
  bench.begin();
  bench.begin();
  bench.begin();
  bench.epochs(3, 5);
  bench.end();  // before the suspend is known
  bench.events(5);
  bench.suspend(2);
  bench.check();
  bench.begin();
  bench.end();  // opened since: not carried
  bench.check();
  bench.end();  // after
  bench.sync();
  bench.end();
  bench.check();
  const std::vector<Record>& log = bench.model.log();
  REQUIRE(log.size() > 4);
  CHECK(log[log.size() - 4].kind == spool::kSuspend);
  for (std::size_t i = log.size() - 3; i < log.size(); ++i)
    CHECK(log[i].kind == spool::kWorkEnd);
  bench.resume(4);
  bench.check();
}

TEST_CASE("ThreadRecorder: resume - what follows the Sync is in the log again") {
  const std::uint64_t each = GENERATE(3, 900);
  const std::uint64_t from = GENERATE(3, 8, 17, 20, 21);  // 3: undone; 21: nothing yet
  Bench bench;
  bench.epochs(10, each);
  bench.suspend(3);
  bench.epochs(10, each);
  bench.resume(from);
  REQUIRE_FALSE(bench.recorder->suspended());
  bench.check();
  bench.epochs(10, each);
  bench.check();
  bench.recorder->close();
  bench.check();
  CHECK(bench.lost() == 0);
}

TEST_CASE("ThreadRecorder: resume - a gap undone leaves every record in place") {
  Bench bench, other;
  for (Bench* b : {&bench, &other}) b->begin(), b->epochs(6, 1500), b->end();
  bench.suspend(2);
  bench.epochs(3, 1500);
  bench.resume(2);
  other.epochs(3, 1500);
  std::vector<Record> records = log_of(bench.read());
  const auto suspend = std::find_if(records.begin(), records.end(), [](const Record& r) {
    return r.kind == spool::kSuspend;
  });
  REQUIRE(suspend != records.end());
  REQUIRE(suspend[1].kind == spool::kWorkEnd);
  REQUIRE(suspend[2].kind == spool::kResume);
  records.erase(suspend, suspend + 3);
  const bool same = alike(records, log_of(other.read()));
  CHECK(same);
}

TEST_CASE("ThreadRecorder: follow - too late, all that is kept is written") {
  Bench bench;
  bench.epochs(4, 10);
  bench.suspend(2);
  bench.epochs(4, 10);
  for (std::uint64_t i = 0; i < DecisionBoard::kKept; ++i)
    bench.board->publish({100 + i / 2, 1, i % 2 == 0});
  REQUIRE(bench.recorder->suspended());
  bench.recorder->follow(*bench.board);
  CHECK_FALSE(bench.recorder->suspended());
  bench.model.resume(0, 0);
  bench.check();
  bench.gap = 1000;
  bench.suspend(7);
  bench.check();
}

TEST_CASE("ThreadRecorder: follow - a late recorder follows the last decision only") {
  Bench bench;
  for (std::uint64_t i = 1; i <= 6; ++i) bench.board->publish({i, i, i % 2 == 1});
  bench.board->publish({7, 1, true});
  bench.recorder->follow_from_now(*bench.board);
  bench.recorder->sync(5, 1);
  bench.recorder->follow(*bench.board);
  CHECK(bench.recorder->suspended());
  const std::vector<Record> log = log_of(bench.read());
  REQUIRE(log.size() == 1);
  CHECK(log[0].kind == spool::kSuspend);
  CHECK(log[0].a48() == 7);
}

TEST_CASE("ThreadRecorder: disk limit - loss is counted, suspended still works") {
  const std::uint64_t head = 128 * 1024 + 4096 * spool::kRecordBytes;
  Bench bench(1024, head + (1 << 20) + 65536);
  const std::uint64_t total = 80000;  // 1.9 MB; 43690 fit into a chunk
  bench.epochs(1, 1000);
  bench.epochs(1, total);
  REQUIRE(bench.recorder->out_of_space());
  const std::uint64_t lost = bench.lost(spool::kLossDiskLimit);
  const std::uint64_t written = log_of(bench.read()).size();
  CHECK(lost > 0);
  CHECK(written + lost == total + 1002);
  bench.suspend(2);
  CHECK(bench.recorder->suspended());
  CHECK(bench.lost(spool::kLossDiskLimit) == lost);
  CHECK(log_of(bench.read()).size() == 1002);  // up to the Sync, and kSuspend
  bench.events(10);
  CHECK(ring_of(bench.read()).back().ticks == bench.ticks);
  bench.resume(3);
  CHECK(log_of(bench.read()).size() == 1003);
  bench.events(20000);  // there is room again
  CHECK(log_of(bench.read()).size() == 21003);
  CHECK(bench.lost(spool::kLossDiskLimit) == lost);
}

TEST_CASE("ThreadRecorder: abandon - the file stays as it is") {
  Bench bench;
  bench.epochs(3, 100);
  const bool suspended = GENERATE(false, true);
  if (suspended) bench.suspend(2);
  FrameMark mark;
  REQUIRE(bench.recorder->enter(mark));
  bench.recorder->leave();
  bench.recorder->abandon();
  CHECK_FALSE(bench.recorder->is_open());
  bench.check();
  REQUIRE(bench.recorder->enter(mark));
  bench.recorder->leave();
  bench.recorder->count_loss(spool::kLossLateThread);
  CHECK(bench.read().facts().events_seen == 1);
  CHECK(bench.lost() == 0);
  CHECK_FALSE(bench.read().facts().ended);
}

TEST_CASE("ThreadRecorder: random operations - the file is as the model says") {
  const unsigned seed = GENERATE(range(1u, 25u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const std::uint64_t longest = seed % 3 == 0 ? 1500 : 40;
  Bench bench;
  std::uint64_t first = 1;  // epoch from which on a suspend may be
  int suspends = 0;
  int extended = 0;
  for (int step = 0; step < 600; ++step) {
    const std::uint64_t kind = below(20);
    if (below(3) == 0 && bench.extend_end()) ++extended;
    if (kind < 8) {
      bench.events(below(longest));
    } else if (kind < 11 && bench.model.stack().size() < 20) {
      bench.begin();
    } else if (kind < 14 && !bench.model.stack().empty()) {
      bench.end();
    } else if (kind < 16 && bench.model.stack().size() < 20) {
      bench.begin_team();
    } else if (kind < 18 || bench.epoch <= first) {
      bench.sync();
    } else if (bench.model.suspended()) {
      if (bench.model.skipped().size() < kLargeRing / 2 && below(2) == 0) continue;
      const std::uint64_t from = first + below(bench.epoch - first + 2);
      bench.resume(from);
      first = std::max(first, from + 1);
      bench.check();
    } else {
      first += below(bench.epoch - first);
      bench.suspend(first);
      ++suspends;
      bench.check();
    }
  }
  bench.check();
  bench.recorder->close();
  bench.check();
  CHECK(suspends > 3);
  CHECK(extended > 3);
  CHECK(bench.lost() == 0);
}

TEST_CASE("ThreadRecorder: two threads - decisions of one are followed by the other") {
  Bench bench;
  std::atomic<std::uint64_t> epoch{0};
  std::atomic<bool> stop{false};
  std::thread follower([&] {
    std::uint64_t ticks = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      bench.recorder->sync(epoch.fetch_add(1) + 1, ++ticks);
      bench.recorder->follow(*bench.board);
      for (int i = 0; i < 5; ++i)
        bench.recorder->append(spool::record_words(spool::kFlush, ++ticks, 0));
    }
  });
  while (epoch.load() == 0) std::this_thread::yield();
  for (std::uint64_t gap = 1; gap <= 3000; ++gap) {
    const std::uint64_t now = epoch.load() + 1;
    bench.board->publish({gap, now, true});
    bench.board->set_keep_from(now);
    if (gap % 8 == 0) std::this_thread::yield();
    bench.board->publish({gap, now + 1, false});
  }
  stop.store(true);
  follower.join();
  bench.recorder->follow(*bench.board);
  // Suspends and resumes alternate, and epochs never go back.
  std::uint64_t last_epoch = 0;
  bool suspended = false;
  for (const Record& r : log_of(bench.read())) {
    if (r.kind == spool::kSuspend || r.kind == spool::kResume) {
      REQUIRE(suspended == (r.kind == spool::kResume));
      suspended = r.kind == spool::kSuspend;
    }
    if (r.kind != spool::kSync) continue;
    REQUIRE_FALSE(suspended);
    REQUIRE(r.a48() > last_epoch);
    last_epoch = r.a48();
  }
  CHECK(last_epoch > 0);
  // The ring may be too small for what passes while the other thread sleeps.
  CHECK(bench.lost() == bench.lost(spool::kLossRingOverflow));
}

}  // namespace
TEST_CASE("ThreadRecorder: summary only - the call tree, and no records") {
  test::TemporaryFolder folder;
  Budget budget(0, 0);
  const auto record = [&](const char* name, bool writes) {
    ThreadRecorder recorder;
    const std::string path = folder / name;
    spool::Header header{};
    fill_header(header);
    REQUIRE(recorder.open(AT_FDCWD, path.c_str(), header,
                          {.ring_bytes = 0,
                           .tree_bytes = 1 << 17,
                           .chunk_bytes = 4096,
                           .summary_bytes = 1 << 16,
                           .writes = writes},
                          budget) == SpoolResult::kOk);
    DecisionBoard board;
    for (std::uint64_t i = 1; i <= 10000; ++i) {
      FrameMark mark;
      REQUIRE(recorder.enter(mark));
      recorder.sync(i, 10 * i);
      recorder.follow(board);
      recorder.begin(spool::record_words(spool::kWorkBegin, 10 * i + 1, 0x1000 + i % 3));
      recorder.end(spool::record_words(spool::kWorkEnd, 10 * i + 4, 0x1000 + i % 3));
      recorder.leave();
    }
    CHECK_FALSE(recorder.out_of_space());
    recorder.close();
    return spool::SpoolFile::open(path);
  };
  const spool::SpoolFile whole = record("location-0.spool", true);
  const spool::SpoolFile summary = record("location-1.spool", false);
  CHECK(whole.log().size() == 30000);
  CHECK(summary.log().size() == 0);
  CHECK(summary.complaints().empty());
  CHECK(summary.facts().events_seen == whole.facts().events_seen);
  CHECK(summary.facts().last_ticks > 99000);
  CHECK(summary.disk_bytes() < whole.disk_bytes());
  const spool::CallTree a = whole.call_tree();
  const spool::CallTree b = summary.call_tree();
  REQUIRE(a.nodes.size() == 4);
  REQUIRE(b.nodes.size() == a.nodes.size());
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    CHECK(a.nodes[i].key == b.nodes[i].key);
    CHECK(a.nodes[i].visits == b.nodes[i].visits);
    CHECK(a.nodes[i].time == b.nodes[i].time);
  }
}

// Another process of the user's, or of the group's with an old umask, may map the file for writing.
TEST_CASE(
    "ThreadRecorder: a file that others write to - numbers are wrong, and nothing else") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "location-0.spool";
  Budget budget(0, 0);
  ThreadRecorder recorder;
  spool::Header header{};
  fill_header(header);
  REQUIRE(recorder.open(AT_FDCWD, path.c_str(), header,
                        {.ring_bytes = 1 << 20,
                         .tree_bytes = 1 << 19,
                         .chunk_bytes = 1 << 16,
                         .flow_bytes = 1 << 16,
                         .summary_bytes = 1 << 18,
                         .flow_components = 15,
                         .rows_bytes = 1 << 17,
                         .most_rows = 256},
                        budget) == SpoolResult::kOk);
  const std::uint64_t bytes = recorder.header().log_offset;
  const int file = ::open(path.c_str(), O_RDWR);
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const words = static_cast<std::uint64_t*>(mapped);
  std::mt19937_64 random(11);
  const auto write_over_all = [&](int how) {
    for (std::uint64_t i = 0; i < bytes / sizeof *words; ++i)
      words[i] = how == 0   ? 0x4141414141414140
                 : how == 1 ? ~std::uint64_t{0}
                 : how == 2 ? random()
                            : random() % 64;
  };
  const auto board = std::make_unique<DecisionBoard>();
  const auto iterations = std::make_unique<IterationBoard>();
  std::uint64_t ticks = 0, epoch = 0, gap = 0;
  for (int round = 0; round < 40; ++round) {
    if (round != 0) write_over_all(round % 4);
    for (int i = 0; i < 3000; ++i) {
      FrameMark mark;
      REQUIRE(recorder.enter(mark));
      recorder.sync(++epoch, ++ticks);
      if (i % 500 == 0)
        board->publish({.gap = gap++ / 2, .epoch = epoch, .suspend = gap % 2 == 1});
      recorder.follow(*board);
      IterationStep step{
          .first = i == 0, .loop = 1, .number = std::uint64_t(i), .total = epoch};
      if (i % 10 == 0) recorder.step(step, epoch, ++ticks);
      recorder.follow(*iterations, ticks);
      for (std::uint64_t depth = random() % 4; depth-- > 0;) {
        const std::uint64_t payload = std::uint64_t{7} << 48 | random() % 20;
        recorder.begin_call(spool::record_words(spool::kMpiEnter, ++ticks, payload),
                            payload, spool::kNoPath);
        recorder.moved(random() % 9, 0);
        if (random() % 4 == 0)
          recorder.task_schedule(spool::record_words(spool::kTaskSchedule, ++ticks,
                                                     random(), 1, random() % 5));
        if (random() % 4 != 0)
          recorder.end_call(spool::record_words(spool::kMpiLeave, ++ticks, payload));
      }
      recorder.end(spool::record_words(spool::kWorkEnd, ++ticks, 1));
      recorder.leave();
    }
  }
  recorder.close();
  munmap(mapped, bytes);
  ::close(file);
  spool::SpoolFile::open(path);
}

}  // namespace refrain::recorder::thread_recorder_test
