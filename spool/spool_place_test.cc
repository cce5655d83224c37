#include "spool/spool_place.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "spool/spool_folder.h"
#include "test/support/files.h"
#include "writer/testing/spool_builder.h"

namespace refrain::spool::spool_place_test {
namespace {

namespace fs = std::filesystem;

// The directory of a node with the spool of a process, as the tracer makes it.
std::string placed_spool(const fs::path& node, const std::string& name) {
  const fs::path root = node / (kPlacePrefix + name);
  SpoolBuilder(1).write(root);
  return (root / "spool" / "process-0").string();
}

struct Job {
  test::TemporaryFolder folder;
  std::string archive = (folder / "run").string();
  std::string near = placed_spool(folder / "here", "app-here-1");
  std::string far = placed_spool(folder / "there", "app-there-2");
  std::string unseen =
      (folder / "unseen/refrain-spool-app-there-2/spool/process-0").string();

  Job() {
    fs::create_directories(fs::path(archive) / "spool");
    REQUIRE(write_place(archive, 0, {own_host(), near}));
    REQUIRE(write_place(archive, 1, {"there", unseen}));
  }
};

}  // namespace

TEST_CASE("SpoolPlace: note - says where the spool is; nonsense counts as absent") {
  const Job job;
  CHECK(read_place(job.archive, 1)->host == "there");
  CHECK(read_place(job.archive, 1)->folder == job.unseen);
  CHECK_FALSE(read_place(job.archive, 2));
  const fs::path note = fs::path(job.archive) / "spool/process-2.place";
  for (const char* text : {"", "host a", "host a\nspool /etc\n",
                           "host a\nspool refrain-spool-a/spool/process-0\n",
                           "host a\nspool /x/refrain-spool-a/../b/spool/process-0\n",
                           "spool /x/refrain-spool-a/spool/process-0\n",
                           "host a\nspool /x/refrain-spool-a/spool/process-0"}) {
    std::ofstream(note, std::ios::trunc) << text;
    INFO(text);
    CHECK_FALSE(read_place(job.archive, 2));
  }
  std::ofstream(note, std::ios::trunc)
      << "host a\nspool /x/refrain-spool-a/spool/process-0\n";
  CHECK(read_place(job.archive, 2));
}

TEST_CASE("SpoolPlace: spools - read where they are, listed where they cannot be seen") {
  const Job job;
  const SpoolFolder found = open_spool_folder(job.archive);
  REQUIRE(found.processes.size() == 1);
  CHECK(found.processes[0].process == 0);
  CHECK(found.processes[0].folder == job.near);
  CHECK(found.complaints.empty());
  REQUIRE(found.distant.size() == 1);
  CHECK(found.distant[0].process == 1);
  CHECK(places_text(found.distant) ==
        "1 process is on there (process 1: " + job.unseen + ")");
  // On this host it would be there: it is gone.
  REQUIRE(write_place(job.archive, 1, {own_host(), job.unseen}));
  const SpoolFolder gone = open_spool_folder(job.archive);
  CHECK(gone.distant.empty());
  REQUIRE(gone.complaints.size() == 1);
  CHECK_THAT(gone.complaints[0], Catch::EndsWith(": is gone"));
}

TEST_CASE("SpoolPlace: a folder that was moved - found by its name") {
  const Job job;
  CHECK(find_moved_spools(job.archive, (job.folder / "here").string()) == 0);
  CHECK(find_moved_spools(job.archive, (job.folder / "there").string()) == 1);
  CHECK(read_place(job.archive, 1)->folder == job.far);
  CHECK(distant_spools(job.archive).empty());
  CHECK(open_spool_folder(job.archive).processes.size() == 2);
}

TEST_CASE("SpoolPlace: collected - in the archive's folder, and gone from the node") {
  const Job job;
  CHECK(*collect_spools(job.archive) == 1);
  CHECK_FALSE(fs::exists(place_root(job.near)));
  CHECK_FALSE(read_place(job.archive, 0));
  CHECK(process_path(job.archive, 0) ==
        (fs::path(job.archive) / "spool/process-0").string());
  CHECK(open_spool_folder(job.archive).processes.size() == 1);
  CHECK(distant_spools(job.archive).size() == 1);
  CHECK(*collect_spools(job.archive) == 0);
}

TEST_CASE("SpoolPlace: removed - with the node's folder, and nothing else") {
  const Job job;
  name_archive(place_root(job.near), job.archive);
  CHECK(archive_of_place(place_root(job.near)) == job.archive);
  std::error_code error;
  remove_spools(job.archive, error);
  CHECK_FALSE(error);
  CHECK_FALSE(fs::exists(fs::path(job.archive) / "spool"));
  CHECK(fs::is_empty(job.folder / "here"));
  CHECK(fs::exists(job.far));
}

TEST_CASE("SpoolPlace: recordings that were left - the job's, not those of its processes") {
  const Job job;
  name_archive(place_root(job.near), job.archive);
  const auto left = [](const fs::path& in) {
    return find_archives("", in.string(), 0).left;
  };
  CHECK(left(job.folder / "here").empty());
  CHECK(left(job.folder / "there").size() == 1);  // killed before it knew its job
}

TEST_CASE("SpoolPlace: recordings that were left - not those of processes that start") {
  const Job job;
  const auto left = [&](const std::string& host, const std::string& process,
                        std::time_t age) {
    const fs::path in = job.folder / ("jobs-" + host + process);
    const fs::path recording = in / (kProvisionalPrefix + ("app-" + host + '-' + process));
    SpoolBuilder(1).write(recording);
    fs::last_write_time(recording,
                        fs::file_time_type::clock::now() - std::chrono::seconds(age));
    return find_archives("", in.string(), 0).left.size();
  };
  CHECK(left(own_host(), std::to_string(getpid()), 3600) == 0);
  CHECK(left(own_host(), "999999999", 0) == 1);  // no process has this number
  CHECK(left("another", std::to_string(getpid()), 0) == 0);
  CHECK(left("another", "1", 3600) == 1);
  // One that has ended, and that its parent has not waited for yet.
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  siginfo_t info{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT) == 0);
  CHECK(left(own_host(), std::to_string(ended), 0) == 1);
  waitpid(ended, nullptr, 0);
}

TEST_CASE("SpoolPlace: recordings with nothing in them - are not left, and go") {
  const test::TemporaryFolder folder;
  const auto make = [&](const std::string& name, std::time_t age, const char* part) {
    const fs::path recording = folder / name;
    fs::create_directories(recording / part);
    const auto then = fs::file_time_type::clock::now() - std::chrono::seconds(age);
    for (fs::path at = recording / part; at != folder.path(); at = at.parent_path())
      fs::last_write_time(at, then);
    return recording.string();
  };
  constexpr const char* kDead = "-999999999";  // no process has this number
  const std::string ours = ".refrain-app-" + own_host();
  const std::string old = make(ours + kDead, 3600, "spool");
  const std::string with_process = make(ours + kDead + ".2", 3600, "spool/process-0");
  const std::string fresh = make(ours + kDead + ".3", 0, "spool");
  const std::string alive = make(ours + '-' + std::to_string(getpid()), 3600, "spool");
  const std::string another = make(".refrain-app-another-1", 3600, "spool");
  const std::string archive = make("refrain-run", 3600, "spool");
  CHECK(recording_in(alive) == Recording::kStarting);
  CHECK(recording_in((folder / "none").string()) == Recording::kNone);
  const FoundArchives found = find_archives("", folder.path().string(), 0);
  CHECK(found.left.empty());
  CHECK(found.any);  // the one that may begin to record
  CHECK(found.empty.size() == 5);
  for (const std::string& empty : found.empty) {
    CAPTURE(empty);
    CHECK(recording_in(empty) == Recording::kEmpty);
    CHECK(remove_empty_recording(empty) == (empty == old || empty == with_process));
  }
  CHECK_FALSE(remove_empty_recording(alive));
  for (const std::string& kept : {fresh, alive, another, archive}) CHECK(fs::exists(kept));
  CHECK_FALSE(fs::exists(old));
  CHECK_FALSE(fs::exists(with_process));
}

TEST_CASE("SpoolPlace: a file of a spool - blank ones are nothing, others are kept") {
  const test::TemporaryFolder folder;
  const fs::path recording = folder / (".refrain-app-" + own_host() + "-999999999");
  const fs::path process = recording / "spool/process-0";
  fs::create_directories(process);
  std::ofstream(process / "journal.spool") << std::string(4096, '\0');
  CHECK(recording_in(recording.string()) == Recording::kEmpty);
  std::ofstream(process / "journal.spool") << "of another version";
  CHECK(recording_in(recording.string()) == Recording::kUnreadable);
  for (const fs::path& at : {process, recording / "spool", recording})
    fs::last_write_time(at, fs::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK_FALSE(remove_empty_recording(recording.string()));
  CHECK(fs::exists(process / "journal.spool"));
  SpoolBuilder(1).write(recording);
  CHECK(recording_in(recording.string()) == Recording::kReadable);
}

TEST_CASE("SpoolPlace: an archive that was not begun - its parts lie next to it") {
  const test::TemporaryFolder folder;
  const auto write = [&](const std::string& name, const fs::path& archive,
                         const char* run) {
    SpoolBuilder spool(1);
    spool.journal().text(kTextSettings, "limit=10\narchive=" + archive.string() + "\n");
    spool.journal().text(kTextRun, run);
    spool.write(folder / name);
    return (folder / name).string();
  };
  const std::string first = write(".refrain-app-node-1", folder / "run", "a");
  const std::string second = write(".refrain-app-node-2", folder / "run", "b");
  write(".refrain-app-node-3", folder / "run.2", "a");
  const std::string placed = write("node/refrain-spool-app-node-4", folder / "run", "a");
  for (const fs::path& each : {fs::path(first), fs::path(second)})
    fs::last_write_time(each, fs::file_time_type::clock::now() - std::chrono::hours(1));
  for (const char* slash : {"", "/"}) {
    const std::vector<PartOfJob> parts = parts_of((folder / "run").string() + slash);
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].folder == first);
    CHECK(parts[0].run == "a");
    CHECK(parts[1].folder == second);
  }
  CHECK(parts_of((folder / "run").string(), {(folder / "node").string()}).size() == 3);
  CHECK(parts_of((folder / "other").string()).empty());
  CHECK(run_in(placed) == "a");
}

TEST_CASE(
    "SpoolPlace: recordings that were left - not those whose archive is being written") {
  const test::TemporaryFolder folder;
  const pid_t writer = fork();
  if (writer == 0) {
    pause();
    _exit(0);
  }
  SpoolBuilder spool(1);
  spool.journal().pid = static_cast<std::uint64_t>(writer);
  spool.write(folder / "run");
  const auto left = [&] {
    return find_archives((folder / "run").string(), "", 0).left.size();
  };
  CHECK(left() == 0);
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
  CHECK(left() == 1);
}

}  // namespace refrain::spool::spool_place_test
