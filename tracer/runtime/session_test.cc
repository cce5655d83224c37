// A session with real threads, as an event source drives it: for the thread sanitizer, which does
// not see the synchronisation of an OpenMP runtime.
#include "tracer/runtime/session.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "spool/journal.h"
#include "spool/spool_reader.h"
#include "test/end_to_end/raw_spool.h"
#include "test/support/files.h"
#include "test/support/trace_checks.h"
#include "tracer/recorder/clock.h"
#include "writer/archive_writer.h"

namespace refrain::runtime::session_test {
namespace {

using recorder::Clock;
using recorder::ThreadRecorder;

std::unique_ptr<Session> start(const test::TemporaryFolder& folder, std::uint64_t limit) {
  filters::Settings settings;
  settings.archive = (folder / "archive").string();
  settings.limit = limit;
  settings.window_events = settings.max_period_events = 8;
  settings.min_gap_s = 0;
  // What repeats, not the loop of these tests; and nothing that depends on the machine.
  settings.detector = "nested";
  settings.slow_factor = 0;
  settings.quiet = true;
  auto session = Session::create(settings, "test", false);
  INFO(session.error());
  REQUIRE(session);
  return std::move(*session);
}

// A callback as an event source makes it: false if nothing is recorded any more.
template <typename Body>
bool callback(Session& session, ThreadRecorder& recorder, Body body) {
  recorder::FrameMark mark;
  if (!recorder.enter(mark)) return true;
  if (!session.state().recording()) {
    recorder.leave_for_good(session.state().stop_cause());
    return false;
  }
  recorder.measure();
  body();
  recorder.leave();
  return true;
}

spool::RecordWords make(spool::Kind kind, std::uint64_t payload, std::uint64_t a48,
                        std::uint8_t sub = 0) {
  return spool::record_words(kind, Clock::now(), payload, sub, a48);
}

// One member of a team that opens `regions` outermost regions; member 0 is the primary.
struct Team {
  Session& session;
  std::uint64_t size;
  std::barrier<> fork, join;
  std::uint64_t epoch = 0;

  Team(Session& of, std::uint64_t threads)
      : session(of),
        size(threads),
        fork(static_cast<std::ptrdiff_t>(threads)),
        join(static_cast<std::ptrdiff_t>(threads)) {}

  void member(std::uint64_t index, int regions, bool varied) {
    ThreadRecorder* recorder =
        session.attach(index == 0 ? spool::kRoleRoot : spool::kRoleWorker);
    if (recorder == nullptr) std::abort();  // Catch2 is for one thread
    if (index == 0) session.primary().claim(recorder);
    for (int i = 0; i < regions; ++i) {
      // A few regions in another order now and then: loops are left and come back.
      const std::uint64_t code = 0x1000 + (varied && i % 97 > 90 ? i % 7 : i % 3) * 0x10;
      if (index == 0) begin_region(*recorder, code);
      fork.arrive_and_wait();
      task(*recorder, index);
      join.arrive_and_wait();
      if (index == 0) end_region(*recorder, code);
    }
    session.detach(recorder);
  }

 private:
  void begin_region(ThreadRecorder& recorder, std::uint64_t code) {
    callback(session, recorder, [&] {
      const std::uint64_t now = Clock::now();
      const std::uint8_t cut = session.begin_epoch(recorder, now);
      session.on_symbol(recorder, make_symbol(spool::kParallelBegin, 0, code), now);
      epoch = recorder.epoch();
      recorder.begin(make(spool::kParallelBegin, code, epoch, cut));
    });
  }
  void end_region(ThreadRecorder& recorder, std::uint64_t code) {
    callback(session, recorder, [&] {
      recorder.end(make(spool::kParallelEnd, code, epoch));
      session.on_symbol_end(Clock::now(), recorder.depth());
    });
  }
  void task(ThreadRecorder& recorder, std::uint64_t index) {
    const std::uint64_t member = size << 32 | index;
    callback(session, recorder, [&] {
      const std::uint8_t cut =
          index != 0 ? session.join_epoch(recorder, epoch, Clock::now()) : 0;
      recorder.begin(make(spool::kImplicitTaskBegin, member, epoch, cut));
    });
    callback(session, recorder,
             [&] { recorder.end(make(spool::kImplicitTaskEnd, member, epoch)); });
  }
};

void run_team(Session& session, std::uint64_t threads, int regions, bool varied) {
  Team team(session, threads);
  std::vector<std::thread> workers;
  for (std::uint64_t i = 1; i < threads; ++i)
    workers.emplace_back([&, i] { team.member(i, regions, varied); });
  team.member(0, regions, varied);
  for (std::thread& worker : workers) worker.join();
}

test::Trace archive_of(Session& session, writer::WriteResult& result) {
  session.finish();
  writer::WriteOptions options;
  options.archive = session.folder().archive();
  const auto written = writer::write_archive(options);
  INFO(written.error());
  REQUIRE(written);
  result = *written;
  test::Trace trace = test::read_trace(session.folder().archive());
  CHECK(test::text(test::check_all(trace)) == "");
  return trace;
}

}  // namespace

TEST_CASE("Session: start - the program began when the library was loaded") {
  const test::TemporaryFolder folder;
  const auto session = start(folder, 10);
  const std::uint64_t now = Clock::now();
  session->begin();
  ThreadRecorder* recorder = session->attach(spool::kRoleRoot);
  REQUIRE(recorder != nullptr);
  session->primary().claim(recorder);
  callback(*session, *recorder, [&] { recorder->append(make(spool::kThreadBegin, 1, 0)); });
  session->detach(recorder);
  writer::WriteResult result;
  const test::Trace trace = archive_of(*session, result);
  REQUIRE(trace.locations.size() == 1);
  REQUIRE(trace.locations[0].events.size() == 2);
  CHECK(trace.locations[0].events[0].type == test::EventType::kProgramBegin);
  CHECK(trace.locations[0].events[0].time < now);
  CHECK(trace.clock.global_offset < now);
}

TEST_CASE("Session: job - the provisional folder becomes that of its rank") {
  const test::TemporaryFolder folder;
  filters::Settings settings;
  settings.archive = (folder / "archive").string();
  const auto made = Session::create(settings, "test", true);
  REQUIRE(made);
  const std::unique_ptr<Session>& session = *made;
  CHECK_FALSE(session->folder().settled());
  ThreadRecorder* early = session->attach(spool::kRoleRoot);
  REQUIRE(early != nullptr);
  session->primary().claim(early);
  callback(*session, *early, [&] { early->append(make(spool::kFlush, 0x1000, 0)); });
  std::filesystem::create_directories(folder / "job/spool");
  CHECK(session->settle(folder / "job", 3, 8));
  CHECK(session->folder().settled());
  CHECK(session->folder().size() == 8);
  ThreadRecorder* late = session->attach(spool::kRoleWorker);
  REQUIRE(late != nullptr);
  callback(*session, *early, [&] { early->append(make(spool::kFlush, 0x2000, 0)); });
  session->put_fact(early, spool::record_words(spool::kMpiComm, 1, 77, 0, 5));
  // A fact of another thread is next to the journal, at once; those after it as well.
  session->put_fact(late, spool::kTextCommName, "0 rows");
  session->put_fact(early, spool::kTextCommName, "0 columns");
  const auto facts =
      spool::SpoolFile::open((folder / "job/spool/process-3/facts.spool").string());
  CHECK(facts.log().size() == 4);
  session->finish();
  std::set<std::string> entries;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    entries.insert(std::filesystem::relative(entry.path(), folder.path()).string());
  CHECK(entries == std::set<std::string>{"job", "job/spool", "job/spool/process-3",
                                         "job/spool/process-3/facts.spool",
                                         "job/spool/process-3/journal.spool",
                                         "job/spool/process-3/location-0.spool",
                                         "job/spool/process-3/location-1.spool"});
  const auto log =
      spool::SpoolFile::open((folder / "job/spool/process-3/location-0.spool").string());
  CHECK(log.log().size() == 2);
  const auto journal =
      spool::SpoolFile::open((folder / "job/spool/process-3/journal.spool").string());
  const spool::Journal parsed = spool::parse_journal(journal.log(), facts.log());
  CHECK(parsed.mpi.rank == 3);
  CHECK(parsed.mpi.size == 8);
  REQUIRE(parsed.mpi.comms.contains(0));
  CHECK(parsed.mpi.comms.at(0).identity == 77);
  CHECK(parsed.mpi.comms.at(0).name == "columns");
}

TEST_CASE("Session: the primary thread ends - another one goes on with its recorder") {
  const test::TemporaryFolder folder;
  const std::unique_ptr<Session> session = start(folder, 3);
  ThreadRecorder* const first = session->attach(spool::kRoleRoot);
  ThreadRecorder* const second = session->attach(spool::kRoleRoot);
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(session->primary().claim(first));
  CHECK_FALSE(session->primary().claim(second));
  CHECK_FALSE(session->primary().vacant());
  CHECK(session->take_over(second) == nullptr);
  session->detach(first);
  CHECK(session->primary().vacant());
  CHECK(session->take_over(second) == first);
  CHECK_FALSE(session->primary().vacant());
  CHECK(session->primary().is(first));
  // What the second one had is for the next thread.
  CHECK(session->attach(spool::kRoleWorker) == second);
  session->finish();
}

TEST_CASE("Session: job - a folder that is not there") {
  const test::TemporaryFolder folder;
  filters::Settings settings;
  settings.archive = (folder / "archive").string();
  const auto made = Session::create(settings, "test", true);
  REQUIRE(made);
  const std::unique_ptr<Session>& session = *made;
  CHECK(session->settle(folder / "nowhere", 0, 2).error().find("cannot move") == 0);
  CHECK_FALSE(session->folder().settled());
  // Its place is recorded before its spool moves: none is there without.
  const auto journal = spool::SpoolFile::open(session->folder().spool() + "/journal.spool");
  const spool::MpiJournal place = spool::parse_journal(journal.log()).mpi;
  CHECK(place.known);
  CHECK(place.size == 2);
  session->finish();
}

TEST_CASE("Session: errno - stays the program's where a slow path fails") {
  const test::TemporaryFolder folder;
  const std::unique_ptr<Session> session = start(folder, 10);
  ThreadRecorder* primary = session->attach(spool::kRoleRoot);
  REQUIRE(primary != nullptr);
  session->primary().claim(primary);
  // From here on no file can be opened or made: not the list of mappings, not a thread's spool.
  std::filesystem::remove_all(session->folder().archive());
  rlimit files{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
  const rlimit none{0, files.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  errno = 0;
  std::ifstream cannot("/proc/self/maps");
  const int refused = errno;
  errno = EDOM;
  session->on_symbol(*primary, make_symbol(spool::kParallelBegin, 0, 0x10), Clock::now());
  const int after_symbol = errno;
  errno = EDOM;
  const ThreadRecorder* other = session->attach(spool::kRoleWorker);
  const int after_attach = errno;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
  CHECK(refused == EMFILE);
  CHECK(after_symbol == EDOM);
  CHECK(after_attach == EDOM);
  CHECK(other == nullptr);
  session->finish();
}

TEST_CASE("Session: a team - every event of every thread") {
  const test::TemporaryFolder folder;
  const auto session = start(folder, 0);
  run_team(*session, 4, 2000, false);
  writer::WriteResult result;
  const test::Trace trace = archive_of(*session, result);
  CHECK(trace.locations.size() == 4);
  CHECK(result.events_written == 2000 * (2 + 4 * 2));
  CHECK(result.events_seen == result.events_written);
}

TEST_CASE("Session: a team - all threads are suspended and resumed alike") {
  const test::TemporaryFolder folder;
  const auto session = start(folder, 3);
  run_team(*session, 4, 3000, true);
  writer::WriteResult result;
  const test::Trace trace = archive_of(*session, result);
  CHECK(result.gaps >= 10);
  CHECK(result.events_seen == 3000 * (2 + 4 * 2));
  CHECK(result.events_written < result.events_seen);
  REQUIRE(trace.locations.size() == 4);
  for (const test::Location& location : trace.locations)
    CHECK(test::gaps(location).size() == result.gaps);
}

TEST_CASE("Session: threads that come and go - locations are used again") {
  const test::TemporaryFolder folder;
  const auto session = start(folder, 0);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&] {
        ThreadRecorder* recorder = session->attach(spool::kRoleWorker);
        for (int k = 0; k < 50; ++k)
          callback(*session, *recorder,
                   [&] { recorder->append(make(spool::kFlush, 0x2000, 0)); });
        session->detach(recorder);
      });
    for (std::thread& thread : threads) thread.join();
  }
  writer::WriteResult result;
  const test::Trace trace = archive_of(*session, result);
  CHECK(trace.locations.size() <= 6);
  CHECK(result.events_written == 40 * 6 * 50);
}

TEST_CASE("Session: the end - while threads still record") {
  for (int round = 0; round < 20; ++round) {
    const test::TemporaryFolder folder;
    const auto session = start(folder, 0);
    std::atomic<int> started{0};
    std::vector<std::uint64_t> recorded(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < recorded.size(); ++i)
      threads.emplace_back([&, i] {
        ThreadRecorder* recorder = session->attach(spool::kRoleWorker);
        ++started;
        while (callback(*session, *recorder,
                        [&] { recorder->append(make(spool::kFlush, 0x2000, 0)); }))
          ++recorded[i];
      });
    while (started < 4) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    session->finish();
    for (std::thread& thread : threads) thread.join();
    writer::WriteResult result;
    archive_of(*session, result);
    std::uint64_t sum = 0;
    for (const std::uint64_t one : recorded) sum += one;
    CHECK(result.events_written == sum);
    CHECK(result.lost[spool::kLossLateThread] == 4);
  }
}

// What comes late is in use for a moment, to be counted: nothing is in progress for all that.
TEST_CASE("Session: the end - while threads go on with events") {
  for (int round = 0; round < 20; ++round) {
    const test::TemporaryFolder folder;
    const auto session = start(folder, 0);
    std::atomic<int> started{0};
    std::atomic<bool> ended{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        ThreadRecorder* recorder = session->attach(spool::kRoleRoot);
        session->primary().claim(recorder);
        ++started;
        while (!ended)
          callback(*session, *recorder,
                   [&] { recorder->append(make(spool::kFlush, 0x2000, 0)); });
      });
    while (started < 2) std::this_thread::yield();
    session->finish();
    ended = true;
    for (std::thread& thread : threads) thread.join();
    for (const char* name : {"journal", "location-0", "location-1"}) {
      CAPTURE(round, name);
      const auto file = spool::SpoolFile::open(
          (folder / "archive/spool/process-0" / name).string() + ".spool");
      CHECK(file.facts().ended);
    }
  }
}

std::vector<spool::Record> journal_of(const test::TemporaryFolder& folder) {
  return test::read_raw_spool(folder / "archive").journal;
}

// A signal handler ends the program while the primary thread is in the detector.
TEST_CASE("Session: the end - in the middle of a symbol of the primary thread") {
  for (const bool inside : {false, true}) {
    const test::TemporaryFolder folder;
    const auto session = start(folder, 0);
    ThreadRecorder* recorder = session->attach(spool::kRoleRoot);
    REQUIRE(recorder != nullptr);
    session->primary().claim(recorder);
    for (int i = 0; i < 200; ++i)
      callback(*session, *recorder, [&] {
        session->on_symbol(*recorder,
                           make_symbol(spool::kParallelBegin, 0, 0x1000 + i % 3 * 0x10),
                           Clock::now());
        recorder->append(make(spool::kFlush, 0x2000, 0));
      });
    recorder::FrameMark mark;
    if (inside) REQUIRE(recorder->enter(mark));
    const std::size_t before = journal_of(folder).size();
    session->finish();
    const std::vector<spool::Record> journal = journal_of(folder);
    const auto left = std::count_if(
        journal.begin(), journal.end(),
        [](const spool::Record& record) { return record.kind == spool::kLoopLeft; });
    INFO((inside ? "inside" : "outside"));
    CHECK(left == (inside ? 0 : 1));
    // The callback in progress may append to the journal itself.
    CHECK((journal.size() == before) == inside);
  }
}

}  // namespace refrain::runtime::session_test
