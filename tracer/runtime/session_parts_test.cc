// Parts of the session that need files and nothing else.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "spool/spool_place.h"
#include "tracer/runtime/code_places.h"
#include "tracer/runtime/fact_queue.h"
#include "tracer/runtime/journal_bench.h"
#include "tracer/runtime/process_folder.h"
#include "tracer/runtime/recorder_pool.h"

namespace refrain::runtime::session_parts_test {
namespace {

std::uint64_t address_of_this_code() {
  return reinterpret_cast<std::uint64_t>(&address_of_this_code);
}

TEST_CASE("FactQueue: records and texts - in their order, once") {
  JournalBench bench;
  WaitingWork waiting;
  FactQueue facts(waiting);
  REQUIRE(facts.add(spool::record_words(spool::kMpiComm, 1, 77, 0, 5)));
  REQUIRE(facts.add(spool::kTextCommName, "1 rows"));
  CHECK(waiting.bits() == 0);
  facts.announce();
  CHECK(waiting.bits() == WaitingWork::kFacts);
  CHECK(bench.records().empty());
  facts.write(bench.journal);
  CHECK(waiting.bits() == 0);
  facts.write(bench.journal);
  const auto records = bench.records();
  REQUIRE(records.size() == 3);
  CHECK(records[0].payload == 77);
  CHECK(records[1].kind == spool::kText);
  CHECK(records[1].sub == spool::kTextCommName);
}

TEST_CASE("CodePlaces: a place of unknown code - the modules come into the journal, once") {
  JournalBench bench;
  WaitingWork waiting;
  CodePlaces code(bench.journal, waiting);
  code.note(make_symbol(spool::kUserEnter, 0, address_of_this_code()));  // a number
  CHECK(bench.records(spool::kText).empty());
  code.note(make_symbol(spool::kParallelBegin, 0, address_of_this_code()));
  const std::size_t modules = bench.records(spool::kText).size();
  CHECK(modules != 0);
  code.note(make_symbol(spool::kParallelBegin, 0, address_of_this_code() + 4));
  CHECK(bench.records(spool::kText).size() == modules);
}

TEST_CASE("CodePlaces: call chains - of the next events of a loop") {
  JournalBench bench;
  WaitingWork waiting;
  CodePlaces code(bench.journal, waiting);
  code.put_modules();
  const std::size_t before = bench.records(spool::kText).size();
  const auto place = make_symbol(spool::kUserEnter, 0, 3);
  code.arm(1, 2);
  CHECK(waiting.bits() == WaitingWork::kCallChains);
  code.put_call_chain(place);
  CHECK(bench.records(spool::kText).size() == before + 1);
  CHECK(waiting.bits() == WaitingWork::kCallChains);
  code.put_call_chain(place);
  CHECK(waiting.bits() == 0);
}

TEST_CASE("RecorderPool: recorders - go from one thread to the next") {
  JournalBench bench;
  filters::Settings settings;
  RecorderPool pool(settings, true);
  const recorder::DecisionBoard board;
  const auto take = [&] {
    return pool.take(bench.folder.path().string(), bench.start, spool::kRoleWorker, board)
        .recorder;
  };
  recorder::ThreadRecorder* const first = take();
  recorder::ThreadRecorder* const second = take();
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(first->header().location == 0);
  CHECK(second->header().location == 1);
  pool.give_back(first);
  CHECK(take() == first);
  pool.wait_until_idle();
  pool.close(board, recorder::IterationBoard());
  for (const char* name : {"location-0.spool", "location-1.spool"}) {
    const auto file = spool::SpoolFile::open(bench.folder / name);
    CHECK(file.facts().ended);
    CHECK(file.facts().role == spool::kRoleWorker);
  }
}

TEST_CASE("RecorderPool: no disk - says why there is no recorder") {
  JournalBench bench;
  filters::Settings settings;
  settings.disk_limit_bytes = 1;
  RecorderPool pool(settings, true);
  const RecorderPool::Taken taken =
      pool.take(bench.folder.path().string(), bench.start, spool::kRoleWorker, {});
  CHECK(taken.recorder == nullptr);
  CHECK(taken.cause == spool::kLossDiskLimit);
}

TEST_CASE("ProcessFolder: of a job - moves once its rank is known") {
  const test::TemporaryFolder temporary;
  filters::Settings settings;
  settings.archive = (temporary / "archive").string();
  ProcessFolder folder;
  REQUIRE(folder.make(settings, "/bin/program", true) == "");
  CHECK_FALSE(folder.settled());
  const std::string provisional = folder.archive();
  CHECK(folder.settle((temporary / "nowhere").string(), 3, 8) != "");
  CHECK_FALSE(folder.settled());
  CHECK(folder.archive() == provisional);
  std::filesystem::create_directories(temporary / "job/spool");
  REQUIRE(folder.settle((temporary / "job").string(), 3, 8) == "");
  CHECK(folder.settled());
  CHECK(folder.rank() == 3);
  CHECK(folder.size() == 8);
  CHECK(folder.spool() == (temporary / "job/spool/process-3").string());
  CHECK_FALSE(std::filesystem::exists(provisional));
  folder.discard();  // it has settled: nothing goes
  CHECK(std::filesystem::exists(folder.spool()));
}

TEST_CASE(
    "ProcessFolder: elsewhere - the spool stays there, the archive's folder has a note") {
  const test::TemporaryFolder temporary;
  filters::Settings settings;
  settings.archive = (temporary / "archive").string();
  settings.spool_dir = (temporary / "node").string();
  ProcessFolder folder;
  REQUIRE(folder.make(settings, "/bin/program", true) == "");
  CHECK_FALSE(folder.settled());
  const std::string spool = folder.spool();
  CHECK(spool.starts_with(settings.spool_dir + "/refrain-spool-program-"));
  CHECK(folder.settle((temporary / "nowhere").string(), 3, 8) != "");
  std::filesystem::create_directories(temporary / "job/spool");
  REQUIRE(folder.settle((temporary / "job").string(), 3, 8) == "");
  CHECK(folder.archive() == (temporary / "job").string());
  CHECK(folder.spool() == spool);
  REQUIRE(spool::read_place(folder.archive(), 3));
  CHECK(spool::read_place(folder.archive(), 3)->folder == spool);
  CHECK(spool::archive_of_place(spool::place_root(spool)) == folder.archive());
  folder.discard();  // it has settled: nothing goes
  CHECK(std::filesystem::exists(spool));
}

TEST_CASE(
    "ProcessFolder: elsewhere - of one process, and nothing left of what is not used") {
  const test::TemporaryFolder temporary;
  filters::Settings settings;
  settings.archive = (temporary / "archive").string();
  settings.spool_dir = (temporary / "node").string();
  ProcessFolder alone;
  REQUIRE(alone.make(settings, "/bin/program", false) == "");
  CHECK(alone.settled());
  CHECK(spool::read_place(settings.archive, 0)->folder == alone.spool());
  CHECK_FALSE(std::filesystem::exists(settings.archive + "/spool/process-0"));
  alone.remove_empty();
  CHECK_FALSE(std::filesystem::exists(settings.archive));
  ProcessFolder of_job;
  REQUIRE(of_job.make(settings, "/bin/program", true) == "");
  of_job.discard();
  CHECK(std::filesystem::is_empty(settings.spool_dir));
  // Where there can be no archive.
  std::ofstream(temporary / "file") << "?";
  settings.archive = (temporary / "file/archive").string();
  ProcessFolder none;
  CHECK(none.make(settings, "/bin/program", false) != "");
  CHECK(std::filesystem::is_empty(settings.spool_dir));
}

TEST_CASE("ProcessFolder: discard - nothing is left of a process that never settled") {
  const test::TemporaryFolder temporary;
  filters::Settings settings;
  settings.archive = (temporary / "archive").string();
  ProcessFolder folder;
  REQUIRE(folder.make(settings, "/bin/program", true) == "");
  folder.discard();
  CHECK_FALSE(std::filesystem::exists(folder.archive()));
  CHECK(std::filesystem::is_empty(temporary.path()));
}

}  // namespace
}  // namespace refrain::runtime::session_parts_test
