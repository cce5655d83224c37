// Parts of the session that need files and nothing else.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/new_file.h"
#include "spool/journal.h"
#include "spool/spool_folder.h"
#include "spool/spool_place.h"
#include "spool/spool_reader.h"
#include "test/support/files.h"
#include "tracer/runtime/code_places.h"
#include "tracer/runtime/journal_bench.h"
#include "tracer/runtime/journal_writer.h"
#include "tracer/runtime/recorder_pool.h"
#include "tracer/runtime/recording_folder.h"

namespace refrain::runtime::session_parts_test {
namespace {

std::uint64_t address_of_this_code() {
  return reinterpret_cast<std::uint64_t>(&address_of_this_code);
}

TEST_CASE("FactFile: texts and records - in their order, in the file at once") {
  test::TemporaryFolder folder;
  recorder::Budget budget(0, 0);
  spool::Header header{};
  std::copy_n(spool::kMagic, sizeof spool::kMagic, header.magic);
  header.version = spool::kVersion;
  header.byte_order = spool::kByteOrder;
  header.file_kind = spool::kJournalFile;
  header.ticks_per_second = 1e9;
  FactFile facts;
  CHECK_FALSE(facts.is_open());
  facts.open(folder.path().string(), header, 1 << 16, budget);
  REQUIRE(facts.is_open());
  facts.journal().put(spool::kMpiComm, 1, std::uint64_t{5} << 32, 77);
  facts.journal().text(spool::kTextCommName, "5 rows");
  // Not closed: as after a kill.
  const auto file = spool::SpoolFile::open((folder / "facts.spool").string());
  REQUIRE(file.usable());
  const spool::Journal journal = spool::parse_journal({}, file.log());
  REQUIRE(journal.mpi.comms.size() == 1);
  CHECK(journal.mpi.comms.at(5).identity == 77);
  CHECK(journal.mpi.comms.at(5).name == "rows");
  facts.close();
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
  pool.wait_until_idle(nullptr);
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
  REQUIRE(folder.make(settings, "/bin/program", true));
  CHECK_FALSE(folder.settled());
  const std::string provisional = folder.archive();
  CHECK(folder.settle((temporary / "nowhere").string(), 3, 8).error() != "");
  CHECK_FALSE(folder.settled());
  CHECK(folder.archive() == provisional);
  std::filesystem::create_directories(temporary / "job/spool");
  REQUIRE(folder.settle((temporary / "job").string(), 3, 8));
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
  REQUIRE(folder.make(settings, "/bin/program", true));
  CHECK_FALSE(folder.settled());
  const std::string spool = folder.spool();
  CHECK(spool.starts_with(settings.spool_dir + "/refrain-spool-program-"));
  CHECK(folder.settle((temporary / "nowhere").string(), 3, 8).error() != "");
  std::filesystem::create_directories(temporary / "job/spool");
  REQUIRE(folder.settle((temporary / "job").string(), 3, 8));
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
  REQUIRE(alone.make(settings, "/bin/program", false));
  CHECK(alone.settled());
  CHECK(spool::read_place(settings.archive, 0)->folder == alone.spool());
  CHECK_FALSE(std::filesystem::exists(settings.archive + "/spool/process-0"));
  alone.remove();
  CHECK_FALSE(std::filesystem::exists(settings.archive));
  ProcessFolder of_job;
  REQUIRE(of_job.make(settings, "/bin/program", true));
  of_job.discard();
  CHECK(std::filesystem::is_empty(settings.spool_dir));
  // Where there can be no archive.
  std::ofstream(temporary / "file") << "?";
  settings.archive = (temporary / "file/archive").string();
  ProcessFolder none;
  CHECK(none.make(settings, "/bin/program", false).error() != "");
  CHECK(std::filesystem::is_empty(settings.spool_dir));
}

mode_t mode_of(const std::filesystem::path& path) {
  struct stat file {};
  REQUIRE(lstat(path.c_str(), &file) == 0);
  return file.st_mode & 07777;
}

TEST_CASE("ProcessFolder: of a job - each has its own, also with the number of another") {
  const test::TemporaryFolder temporary;
  filters::Settings settings;
  settings.archive = (temporary / "archive").string();
  // As in containers, where processes have one number and one host name.
  for (const bool elsewhere : {false, true}) {
    if (elsewhere) settings.spool_dir = (temporary / "node").string();
    ProcessFolder first, second;
    REQUIRE(first.make(settings, "/bin/program", true));
    std::ofstream(first.spool() + "/journal.spool") << "mine";
    REQUIRE(second.make(settings, "/bin/program", true));
    CHECK(first.spool() != second.spool());
    CHECK(test::read_file(first.spool() + "/journal.spool") == "mine");
    CHECK(std::filesystem::is_empty(second.spool()));
    second.discard();
    CHECK(std::filesystem::exists(first.spool()));
    first.discard();
  }
}

TEST_CASE("ProcessFolder: several that replace an archive at once - each has its own") {
  for (int round = 0; round < 20; ++round) {
    const test::TemporaryFolder folder;
    const std::filesystem::path wanted = folder / "a";
    std::filesystem::create_directories(wanted);
    std::ofstream(wanted / "traces.otf2") << "of an earlier run";
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        const auto made = make_archive_folder(wanted.string(), true);
        if (!made) _exit(1);
        const std::string own = made->spool + "/" + std::to_string(i);
        std::ofstream(own) << "mine";
        usleep(20'000);
        // Nobody else's, and still there.
        const bool alone = std::distance(std::filesystem::directory_iterator(made->spool),
                                         std::filesystem::directory_iterator()) == 1;
        _exit(alone && std::filesystem::exists(own) ? 0 : 2);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      REQUIRE(waitpid(child, &status, 0) == child);
      CHECK(status == 0);
    }
  }
}

TEST_CASE("ProcessFolder: folders of others - are refused in a line, and not touched") {
  const test::TemporaryFolder temporary;
  filters::Settings settings;
  settings.archive = (temporary / "archive").string();
  SECTION("that others can change") {
    std::filesystem::create_directory(settings.archive);
    chmod(settings.archive.c_str(), 0775);
    ProcessFolder folder;
    CHECK(folder.make(settings, "/bin/program", false).error() ==
          "'" + settings.archive + "' can be changed by other users (chmod go-w)");
    CHECK(std::filesystem::is_empty(settings.archive));
    chmod(settings.archive.c_str(), 0755);
    ProcessFolder safe;
    CHECK(safe.make(settings, "/bin/program", false));
    CHECK(safe.archive() == settings.archive);
    CHECK(mode_of(settings.archive) == 0755);
  }
  SECTION("that belong to somebody else") {
    if (geteuid() != 0) return;  // cannot be made
    std::filesystem::create_directory(settings.archive);
    REQUIRE(chown(settings.archive.c_str(), 65534, 65534) == 0);
    ProcessFolder folder;
    CHECK(folder.make(settings, "/bin/program", false).error() ==
          "'" + settings.archive + "' belongs to another user");
    CHECK(std::filesystem::is_empty(settings.archive));
    // The place that a process of a job, or its spool, is to have.
    for (const bool elsewhere : {false, true}) {
      if (elsewhere) settings.spool_dir = (temporary / "node").string();
      ProcessFolder own;
      REQUIRE(own.make(settings, "/bin/program", true));
      const std::string taken = own.archive();
      own.discard();
      std::filesystem::create_directory(taken);
      REQUIRE(chown(taken.c_str(), 65534, 65534) == 0);
      ProcessFolder second;
      CHECK(second.make(settings, "/bin/program", true).error() ==
            "'" + taken + "' belongs to another user");
      CHECK(std::filesystem::is_empty(taken));
    }
  }
  SECTION("a link to one of another") {
    if (geteuid() != 0) return;
    std::filesystem::create_directory(temporary / "real");
    std::filesystem::create_symlink(temporary / "real", settings.archive);
    REQUIRE(lchown(settings.archive.c_str(), 65534, 65534) == 0);
    ProcessFolder folder;
    CHECK(folder.make(settings, "/bin/program", false).error() ==
          "'" + settings.archive + "' belongs to another user");
    CHECK(std::filesystem::is_empty(temporary / "real"));
  }
}

TEST_CASE("ProcessFolder: a link in a folder of the node - is not followed") {
  const test::TemporaryFolder temporary;
  filters::Settings settings;
  settings.archive = (temporary / "archive").string();
  settings.spool_dir = (temporary / "node").string();
  std::ofstream(temporary / "victim") << "of the user";
  ProcessFolder folder;
  REQUIRE(folder.make(settings, "/bin/program", true));
  std::filesystem::create_symlink(temporary / "victim",
                                  spool::place_root(folder.spool()) + "/archive");
  std::filesystem::create_directories(temporary / "job/spool");
  REQUIRE(folder.settle((temporary / "job").string(), 0, 1));
  CHECK(test::read_file(temporary / "victim") == "of the user");
}

TEST_CASE("ProcessFolder: modes - the user's alone, or to be read by the group") {
  const test::TemporaryFolder temporary;
  filters::Settings settings;
  settings.archive = (temporary / "archive").string();
  settings.spool_dir = GENERATE("", "node");
  if (!settings.spool_dir.empty()) settings.spool_dir = (temporary / "node").string();
  settings.group_readable = GENERATE(false, true);
  const mode_t of_folders = settings.group_readable ? 0750 : 0700;
  const mode_t before = umask(settings.group_readable ? 077 : 0);
  ProcessFolder folder;
  REQUIRE(folder.make(settings, "/bin/program", false));
  recorder::SpoolFile file;
  recorder::Budget budget(0, 0);
  REQUIRE(file.create(folder.descriptor(), "journal.spool", spool::Header{},
                      {.ring = 0, .tree = 0, .chunk = 1 << 16},
                      budget) == recorder::SpoolResult::kOk);
  umask(before);
  base::let_group_read(false);
  CHECK(mode_of(folder.archive()) == of_folders);
  CHECK(mode_of(folder.archive() + "/spool") == of_folders);
  CHECK(mode_of(folder.spool()) == of_folders);
  CHECK(mode_of(folder.spool() + "/journal.spool") ==
        (settings.group_readable ? 0640 : 0600));
  if (settings.spool_dir.empty()) return;
  CHECK(mode_of(spool::place_root(folder.spool())) == of_folders);
  if (!settings.group_readable)
    CHECK(mode_of(spool::place_root(folder.spool()) + "/archive") == 0600);
}

TEST_CASE("ProcessFolder: another file system - the spool stays, with a note") {
  const test::TemporaryFolder temporary;
  const std::string other = "/dev/shm/refrain-test-" + std::to_string(getpid());
  std::error_code error;
  std::filesystem::create_directory(other, error);
  struct stat here {
  }, there{};
  if (error || stat(temporary.path().c_str(), &here) != 0 ||
      stat(other.c_str(), &there) != 0 || here.st_dev == there.st_dev) {
    std::filesystem::remove_all(other, error);
    return;  // this machine has no second one
  }
  filters::Settings settings;
  settings.archive = other + "/archive";
  ProcessFolder folder;
  REQUIRE(folder.make(settings, "/bin/program", true));
  const std::string spool = folder.spool();
  std::ofstream(spool + "/journal.spool") << "?";
  std::filesystem::create_directories(temporary / "job/spool");
  CHECK(folder.settle((temporary / "job").string(), 2, 4));
  CHECK(folder.spool() == spool);
  CHECK(spool::process_path(folder.archive(), 2) == spool);
  spool::remove_spools(folder.archive(), error);
  CHECK(std::filesystem::is_empty(other));
  std::filesystem::remove_all(other, error);
}

TEST_CASE(
    "ProcessFolder: the archive's place - is that of the start, whereto the program goes") {
  const test::TemporaryFolder temporary;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(temporary.path());
  ProcessFolder folder, named;
  filters::Settings settings;
  REQUIRE(folder.make(settings, "/bin/program", true));
  settings.archive = "name";
  REQUIRE(named.make(settings, "/bin/program", true));
  std::filesystem::current_path(before);
  const std::string at = std::filesystem::canonical(temporary.path()).string();
  CHECK(folder.wanted().starts_with(at + "/refrain-program-"));
  CHECK(named.wanted() == at + "/name");
  folder.discard();
  named.discard();
}

TEST_CASE("ProcessFolder: discard - nothing is left of a process that never settled") {
  const test::TemporaryFolder temporary;
  filters::Settings settings;
  settings.archive = (temporary / "archive").string();
  ProcessFolder folder;
  REQUIRE(folder.make(settings, "/bin/program", true));
  folder.discard();
  CHECK_FALSE(std::filesystem::exists(folder.archive()));
  CHECK(std::filesystem::is_empty(temporary.path()));
}

}  // namespace
}  // namespace refrain::runtime::session_parts_test
