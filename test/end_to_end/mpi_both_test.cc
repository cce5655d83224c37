// The same programs with MPICH and with Open MPI: their archives tell the same.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "test/end_to_end/left_behind.h"
#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"
#include "test/support/test_length.h"

namespace refrain::test::mpi_both_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Same {
  const char* program;
  const char* limit;
};

// Requests, communicators, collectives that do not block, one-sided, Fortran; in the long form more of them.
std::vector<Same> programs() {
  std::vector<Same> result{{"halo_gcc", "0"},
                           {"rowcol_cg_gcc", "0"},
                           {"icollective_gcc", "5"},
                           {"onesided_gcc", "0"},
                           {"ring_f08_gfortran", "5"}};
  if (test_length() != TestLength::kShort)
    result.insert(result.end(), {{"heat_mpif_gfortran", "5"},
                                 {"persistent_gcc", "5"},
                                 {"wave_mpi_gfortran", "0"},
                                 {"phases_gcc", "3"},
                                 {"sweep_clang", "0"},
                                 {"torus_gcc", "5"},
                                 {"hybrid_gcc", "0"}});
  return result;
}

bool is_count(const json& row) {
  const std::string figure = row.at("figure");
  return figure == "calls" || figure == "iterations" || figure == "sent" ||
         figure == "received" || figure == "ends" || figure == "messages an iteration";
}

void check_same_counts(const fs::path& a, const fs::path& b) {
  const Result result = run_refrain({"compare", "--json", "--min-share", "0", a, b});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  const json compared = json::parse(result.output);
  CHECK(compared.at("only_a").empty());
  CHECK(compared.at("only_b").empty());
  int counts = 0;
  for (const json& row : compared.at("rows")) {
    if (!is_count(row)) continue;
    INFO(row.dump());
    CHECK(row.at("difference") == 0.0);
    ++counts;
  }
  CHECK(counts > 5);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

std::uint64_t enters_of(const Trace& trace, const std::string& name) {
  const auto counts = count_by_name(trace);
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

// What unusual.c does, traced, must print what it prints untraced; every barrier is recorded.
Traced trace_unusual(MpiJob job, const fs::path& archive) {
  const Result plain = run_mpi(job);
  REQUIRE(plain.exit_status == 0);
  job.settings["LIMIT"] = "0";
  Traced traced = trace_mpi(job, MpiWay::kInside, archive);
  CHECK(traced.result.output == plain.output);
  CHECK(traced.result.errors == plain.errors);
  CHECK(MpiProcesses(traced.trace).size() == 2);
  CHECK(enters_of(traced.trace, "MPI_Barrier") == 2 * 50);
  return traced;
}

}  // namespace

TEST_CASE("MPI both: attributes and an error handler of the program - are not called") {
  for (const std::string mpi : {"mpich", "openmpi"})
    for (const char* every : {"0", "10"}) {
      INFO(mpi << " " << every);
      TemporaryFolder folder;
      const MpiJob job{.program = "unusual_gcc",
                       .arguments = {"attributes"},
                       .settings = {{"CLOCK_EVERY", every}},
                       .mpi = mpi};
      trace_unusual(job, folder / "archive");
    }
}

TEST_CASE("MPI both: as many communicators as there can be - and an archive") {
  for (const std::string mpi : {"mpich", "openmpi"}) {
    INFO(mpi);
    TemporaryFolder folder;
    const MpiJob job{.program = "unusual_gcc", .arguments = {"communicators"}, .mpi = mpi};
    trace_unusual(job, folder / "archive");
  }
}

TEST_CASE("MPI both: OpenMP starts before MPI, which ends in a destructor - one archive") {
  for (const std::string mpi : {"mpich", "openmpi"}) {
    INFO(mpi);
    TemporaryFolder folder;
    const std::string library = data_file("test/tools/early_late_" + mpi + ".so");
    const MpiJob job{.program = "unusual_gcc",
                     .arguments = {"no-finalize"},
                     .environment = {{"LD_PRELOAD", library}},
                     .mpi = mpi};
    trace_unusual(job, folder / "archive");
    CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
  }
}

TEST_CASE("MPI both: a receive whose buffer is too small - messages keep their numbers") {
  for (const std::string mpi : {"mpich", "openmpi"}) {
    INFO(mpi);
    TemporaryFolder folder;
    const MpiJob job{.program = "unusual_gcc", .arguments = {"truncated"}, .mpi = mpi};
    const Traced traced = trace_unusual(job, folder / "archive");
    // The second of each pair; sent and received with the same size, which check_mpi() sees.
    CHECK(text(check_mpi(traced.trace)) == "");
    CHECK(replay(traced.trace).pairs() == 4);
    CHECK(property_number(traced.trace, "MESSAGE_BYTES") == 4 * 4);
    CHECK(property_number(traced.trace, "SENDS_DROPPED") == 4);
  }
}

TEST_CASE("MPI both: messages without a receive - why, and not that -n 0 would keep them") {
  for (const std::string mpi : {"mpich", "openmpi"}) {
    INFO(mpi);
    TemporaryFolder folder;
    Command command;
    command.arguments = {data_file("tools/refrain"), "run", "-n", "0", "-o",
                         folder / "archive",         "--"};
    for (const std::string& word : mpirun(2, mpi)) command.arguments.push_back(word);
    command.arguments.push_back(data_file(std::string("test/programs/mpi/unusual_gcc") +
                                          (mpi == "openmpi" ? "_openmpi" : "")));
    command.arguments.push_back("freed");
    command.environment = clean_environment();
    set_mpirun_environment(command);
    put_mpi_sanitizer_first(command);
    const Result result = run(command);
    INFO(result.errors);
    CHECK(result.exit_status == 0);
    CHECK(count(result.errors,
                "1 of 3 messages were left out because their receives were not recorded: 1 "
                "with a freed request (MPI_Request_free)\n") == 1);
  }
}

TEST_CASE(
    "MPI both: threads make communicators in another order - distinguished by the tag") {
  for (const std::string mpi : {"mpich", "openmpi"}) {
    INFO(mpi);
    TemporaryFolder folder;
    const MpiJob job{.program = "unusual_gcc", .arguments = {"groups"}, .mpi = mpi};
    const Traced traced = trace_unusual(job, folder / "archive");
    CHECK(replay(traced.trace).pairs() == 15);
    CHECK(property_number(traced.trace, "SENDS_DROPPED") == 0);
  }
}

TEST_CASE("MPI both: what other threads report - takes no memory until the end") {
  for (const std::string mpi : {"mpich", "openmpi"}) {
    INFO(mpi);
    TemporaryFolder folder;
    const MpiJob job{.program = "unusual_gcc",
                     .arguments = {"any-source"},
                     .ranks = 1,
                     .settings = {{"SUMMARY_ONLY", "yes"}},
                     .mpi = mpi};
    const Result plain = run_mpi(job);
    REQUIRE(plain.output.find("memory has not grown") == 0);
    CHECK(run_mpi(job, MpiWay::kInside, folder / "archive").output == plain.output);
  }
}

TEST_CASE("MPI both: the same program - archives that tell the same") {
  const std::vector<Same> all = programs();
  const Same same = GENERATE_COPY(from_range(all));
  CAPTURE(same.program, same.limit);
  TemporaryFolder folder;
  MpiJob job{.program = same.program,
             .settings = {{"LIMIT", same.limit}, {"MIN_GAP", "0"}, {"SLOW_FACTOR", "0"}}};
  job.mpi = "mpich";
  const Result mpich = run_mpi(job, MpiWay::kInside, folder / "mpich");
  REQUIRE(mpich.exit_status == 0);
  job.mpi = "openmpi";
  const Traced openmpi = trace_mpi(job, MpiWay::kOutside, folder / "openmpi");
  CHECK(openmpi.result.output == mpich.output);
  CHECK(openmpi.result.errors == "");
  check_same_counts(folder / "mpich", folder / "openmpi");
}

TEST_CASE("MPI both: a killed rank - the job's archive is recovered") {
  TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  MpiJob job{.program = "ring_gcc",
             .arguments = {"400", "100", "4", "1", "30"},
             .settings = {{"LIMIT", "0"}}};
  job.mpi = "openmpi";
  const Result result = run_mpi(job, MpiWay::kInside, archive);
  CHECK_FALSE(result.timed_out);
  CHECK(result.exit_status != 0);
  REQUIRE(fs::exists(archive / "spool"));
  const Trace trace = recover_job(archive);
  REQUIRE(MpiProcesses(trace).size() == 2);
  CHECK(replay(trace).pairs() >= 2 * 29);
}

TEST_CASE("MPI both: several processes share an analysis - the output is that of one") {
  TemporaryFolder folder;
  MpiJob job{.program = "halo_gcc", .settings = {{"LIMIT", "0"}}};
  job.mpi = "openmpi";
  REQUIRE(run_mpi(job, MpiWay::kInside, folder / "archive").exit_status == 0);
  const std::vector<std::string> words = {"analyze",   folder / "archive", "--json",
                                          "--no-cube", "--threads",        "1"};
  const Result alone = run_refrain(words);
  REQUIRE(alone.exit_status == 0);
  REQUIRE(alone.output.size() > 1000);
  for (const std::string mpi : {"mpich", "openmpi"}) {
    Command command;
    command.arguments = mpirun(2, mpi);
    command.arguments.push_back(data_file("tools/refrain"));
    command.arguments.insert(command.arguments.end(), words.begin(), words.end());
    command.environment = clean_environment();
    set_mpirun_environment(command);
    const Result result = run(command);
    INFO(mpi << ": " << result.errors);
    CHECK(result.exit_status == 0);
    CHECK(result.errors == "");
    CHECK((result.output == alone.output));
  }
}

// Of one rank, by the names of regions from the outermost on.
std::map<std::string, long> visits_of(const json& profile, int rank) {
  std::map<std::string, long> visits;
  std::map<int, std::string> names;
  for (const json& path : profile.at("paths")) {
    const std::string name = path.at("name");
    std::string whole = name.substr(0, name.find(" @"));
    if (!path.at("parent").is_null())
      whole = names.at(path.at("parent").get<int>()) + " > " + whole;
    names[path.at("path").get<int>()] = whole;
    for (const json& sums : path.at("locations"))
      if (profile.at("locations")
              .at(sums.at("location").get<std::size_t>())
              .at("process") == rank)
        visits[whole] += sums.at("visits").get<long>();
  }
  return visits;
}

TEST_CASE("MPI both: calls of a thread that the program begins - belong to it") {
  for (const std::string mpi : {"mpich", "openmpi"}) {
    INFO(mpi);
    TemporaryFolder folder;
    const MpiJob job{.program = "test/programs/threads/ranks_gcc",
                     .settings = {{"THREADS", "yes"}, {"LIMIT", "0"}},
                     .mpi = mpi};
    const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
    const Result result = run_refrain({"profile", "--json", folder / "archive"});
    REQUIRE(result.exit_status == 0);
    const json profile = json::parse(result.output);
    CHECK(profile.at("locations").size() == 4);
    for (const int rank : {0, 1}) {
      std::map<std::string, long> visits = visits_of(profile, rank);
      CHECK(visits["talk > MPI_Sendrecv"] == 30);
      CHECK(visits["MPI_Allreduce"] == 20);
      CHECK(visits["MPI_Sendrecv"] == 0);
      CHECK(visits["pthread_create"] == 1);
      CHECK(visits["pthread_join"] == 1);
      const std::string line = "rank " + std::to_string(rank) + " waits ";
      const std::size_t at = traced.result.output.find(line);
      REQUIRE(at != std::string::npos);
      CHECK(visits["pthread_cond_wait"] ==
            std::stol(traced.result.output.substr(at + line.size())));
    }
  }
}

TEST_CASE(
    "MPI both: Kokkos - kernels of each rank, and the one that makes others wait by its name") {
  constexpr long kSteps = 60;
  for (const std::string mpi : {"mpich", "openmpi"}) {
    INFO(mpi);
    TemporaryFolder folder;
    const MpiJob job{.program = "test/programs/user/kokkos_mpi_gcc",
                     .arguments = {"ranks", std::to_string(kSteps)},
                     .settings = {{"LIMIT", "5"}},
                     .mpi = mpi};
    const Traced traced = trace_mpi(job, MpiWay::kInside, folder / "archive");
    CHECK(traced.result.output == "fences=0\nfences=0\n");
    const Result result = run_refrain({"profile", "--json", folder / "archive"});
    REQUIRE(result.exit_status == 0);
    const json profile = json::parse(result.output);
    for (const int rank : {0, 1}) {
      INFO(rank);
      std::map<std::string, long> visits = visits_of(profile, rank);
      for (const char* path :
           {"step", "step > assemble", "step > dot", "step > MPI_Allreduce"}) {
        INFO(path);
        CHECK(visits[path] == kSteps);
      }
    }
    const json info =
        json::parse(run_refrain({"info", "--json", folder / "archive"}).output);
    CHECK(info.at("structure").get<std::string>().find("assemble") != std::string::npos);
    // On a busy machine cores may be missing as well, and the place be another one.
    const Result analyzed =
        run_refrain({"analyze", "--json", "--no-cube", folder / "archive"});
    REQUIRE(analyzed.exit_status == 0);
    const json conclusions = json::parse(analyzed.output).at("conclusions");
    INFO(conclusions.at("causes").dump(1));
    bool cores = false, named = false;
    for (const json& cause : conclusions.at("causes")) {
      cores = cores || cause.at("account") == "cores";
      named = named ||
              (cause.at("account") == "uneven_ranks" && cause.at("ranks") == json({1}) &&
               cause.at("where").get<std::string>().find("assemble") != std::string::npos);
    }
    CHECK((named || cores));
  }
}

TEST_CASE("MPI both: --mpi of the other one - is refused, with what would work") {
  const std::string program = data_file("test/programs/mpi/ring_gcc_openmpi");
  const Result refused = run_refrain({"run", "--mpi", "mpich", "--", program});
  CHECK(refused.exit_status == 2);
  CHECK_THAT(refused.errors, Catch::Contains("uses Open MPI; use --mpi openmpi"));
}

// Scripts that a launcher starts by `refrain run`, one of them a second later, when the first program of the other one has ended.
TEST_CASE("MPI both: --overwrite by ranks of a launcher - their archives are of one run") {
  const std::string mpi = GENERATE("mpich", "openmpi");
  CAPTURE(mpi);
  const TemporaryFolder folder;
  const std::string archive = folder / "archive";
  const auto archives = [&] {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder.path()))
      count += fs::exists(entry.path() / "traces.otf2");
    return count;
  };
  const std::string job = data_file(std::string("test/programs/mpi/ring_gcc") +
                                    (mpi == "openmpi" ? "_openmpi" : ""))
                              .string() +
                          "; true";
  const std::string serial = data_file("test/programs/cg_clang").string() + " 2; ";
  for (const bool both : {true, true, false}) {
    CAPTURE(both);
    const std::string run = "exec '" + data_file("tools/refrain").string() +
                            "' run --quiet --overwrite -o '" + archive +
                            "' -- /bin/sh -c '" + (both ? serial : "") + job + "'";
    Command command;
    command.arguments = mpirun(1, mpi);
    for (const std::string& word :
         {std::string("/bin/sh"), std::string("-c"), run, std::string(":"),
          std::string("-n"), std::string("1"), std::string("/bin/sh"), std::string("-c"),
          "sleep 1; " + run})
      command.arguments.push_back(word);
    command.environment = clean_environment();
    set_mpirun_environment(command);
    const Result result = refrain::test::run(command);
    INFO(result.errors);
    CHECK(result.exit_status == 0);
    // That of the job, and of each rank's program before it.
    CHECK(archives() == (both ? 3U : 1U));
  }
}

TEST_CASE("MPI both: the launcher of the other one - is reported in one line") {
  TemporaryFolder folder;
  Command command;
  command.arguments = mpirun(2, "mpich");
  for (const std::string word :
       {"tools/refrain", "run", "--", "test/programs/mpi/ring_gcc_openmpi", "4"})
    command.arguments.push_back(
        word.find('/') == std::string::npos ? word : data_file(word).string());
  command.environment = clean_environment();
  set_mpirun_environment(command);
  command.folder = folder.path();
  const Result result = run(command);
  CHECK(result.exit_status == 0);
  CHECK(count(result.output, "ranks=1 ") == 2);
  CHECK(count(result.errors, "and the launcher of MPICH starts it") == 1);
}

TEST_CASE("MPI both: mpi4py - it is traced by the library of its MPI") {
  const auto run_words = [](const std::vector<std::string>& words) {
    Command command;
    command.arguments = words;
    command.environment = clean_environment();
    set_mpirun_environment(command);
    return run(command);
  };
  const Result vendor =
      run_words({"/usr/bin/python3", "-c",
                 "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; "
                 "print(MPI.get_vendor()[0])"});
  if (vendor.exit_status != 0) {
    WARN("no mpi4py (python3-mpi4py) is installed: not tested");
    return;
  }
  TemporaryFolder folder;
  std::ofstream(folder / "script") << "#!/usr/bin/python3\n"
                                      "from mpi4py import MPI\n"
                                      "comm = MPI.COMM_WORLD\n"
                                      "peer = comm.rank ^ 1\n"
                                      "for i in range(30):\n"
                                      "    sent = comm.isend([i], dest=peer, tag=7)\n"
                                      "    assert comm.recv(source=peer, tag=7) == [i]\n"
                                      "    sent.wait()\n"
                                      "    comm.Barrier()\n";
  fs::permissions(folder / "script", fs::perms::owner_all);
  std::vector<std::string> words = refrain_run({{"LIMIT", "0"}}, folder / "archive");
  for (const std::string& word :
       mpirun(2, vendor.output.rfind("MPICH", 0) == 0 ? "mpich" : "openmpi"))
    words.push_back(word);
  words.push_back(folder / "script");
  const Result result = run_words(words);
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  CHECK(result.errors == "");
  const Trace trace = read_checked(folder / "archive");
  REQUIRE(MpiProcesses(trace).size() == 2);
  CHECK(text(check_mpi(trace)) == "");
  CHECK(replay(trace).pairs() == 2 * 30);
}

}  // namespace refrain::test::mpi_both_test
