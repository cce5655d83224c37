// Real programs with --format otf2,paraver: the Paraver trace, read by a parser of the
// format alone, equals the archive, event by event; and the archive in other formats.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "test/end_to_end/mpi_run.h"
#include "test/support/files.h"
#include "test/support/mpi_checks.h"
#include "test/support/paraver.h"
#include "test/support/trace_checks.h"

namespace refrain::test::convert_command_test {
namespace {

namespace fs = std::filesystem;

// Nanoseconds from the archive's begin, to the nearest.
std::uint64_t ns(const Trace& trace, std::uint64_t ticks) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t rate = trace.clock.ticks_per_second;
  return static_cast<std::uint64_t>(
      (Wide{ticks - trace.clock.global_offset} * 1'000'000'000 + rate / 2) / rate);
}

struct Entry {
  std::uint64_t time, type, value;
  std::string name;
  auto operator<=>(const Entry&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Entry& entry) {
  return out << entry.time << ' ' << entry.type << ':' << entry.value << ' ' << entry.name;
}

// Event type of a region that is compared, by its name; 0: none.
std::uint64_t type_of(const Region& region) {
  const std::string& name = region.name;
  const auto is = [&](const char* part) { return name.rfind(part, 0) == 0; };
  if (is("!$omp parallel") || is("!$omp teams @")) return 60000018;
  if (is("!$omp for") || is("!$omp distribute") || is("!$omp taskloop") ||
      is("!$omp sections") ||
      (is("!$omp single") && name.find("sblock") == std::string::npos))
    return 60000002;
  if (name.find("barrier") != std::string::npos && name.find("wait") == std::string::npos)
    return is("MPI_") ? 50000002 : 60000005;
  if (is("!$omp task @")) return 60000023;
  if (is("!$omp create task")) return 60000024;
  if (is("MPI_Send") || is("MPI_Isend") || is("MPI_Recv") || is("MPI_Irecv") ||
      is("MPI_Wait") || is("MPI_Ssend"))
    return is("MPI_Sendrecv") ? 0 : 50000001;
  if (is("MPI_Allreduce") || is("MPI_Bcast") || is("MPI_Barrier")) return 50000002;
  return 0;
}

std::uint64_t value_of(const Region& region) {
  for (const char* loop : {"!$omp for", "!$omp distribute", "!$omp taskloop"})
    if (region.name.rfind(loop, 0) == 0) return 4;
  if (region.name.rfind("!$omp sections", 0) == 0) return 5;
  if (region.name.rfind("!$omp single", 0) == 0) return 6;
  if (type_of(region) == 60000005) return 1;
  return 0;  // a number of the trace's own, or compared by its name
}

bool compared(std::uint64_t type) {
  return std::set<std::uint64_t>{60000018, 60000002, 60000005, 60000023,
                                 60000024, 50000001, 50000002, 40000012}
      .contains(type);
}

// From the archive: enters and leaves of these regions, and measurement on and off.
std::vector<Entry> expected(const Trace& trace, const Location& location) {
  std::vector<Entry> result;
  for (const Event& event : location.events) {
    if (is_edge(event)) continue;  // the gap goes on
    if (event.type == EventType::kMeasurementOn || event.type == EventType::kMeasurementOff)
      result.push_back({ns(trace, event.time), 40000012,
                        event.type == EventType::kMeasurementOn ? 1U : 0U, ""});
    if (event.type != EventType::kEnter && event.type != EventType::kLeave) continue;
    const Region& region = trace.regions.at(event.reference);
    const std::uint64_t type = type_of(region);
    if (type == 0 || is_phase(trace, event)) continue;
    if (event.type == EventType::kLeave)
      result.push_back({ns(trace, event.time), type, 0, ""});
    else
      result.push_back({ns(trace, event.time), type, value_of(region),
                        value_of(region) == 0 ? region.name : ""});
  }
  return result;
}

std::vector<Entry> entries_of(const ParaverTrace& paraver,
                              const std::vector<ParaverEvent>& events) {
  std::vector<Entry> result;
  bool first = true;
  for (const ParaverEvent& event : events) {
    if (!compared(event.type)) continue;
    // Measurement on at the start has no event in the archive.
    if (event.type == 40000012 && std::exchange(first, false)) continue;
    Entry entry{event.time, event.type, event.value, ""};
    const bool named = event.value != 0 && event.type != 60000002 &&
                       event.type != 60000005 && event.type != 40000012;
    if (named) {
      entry.name = paraver.value_names.at(event.type).at(event.value);
      entry.value = 0;
    }
    result.push_back(entry);
  }
  return result;
}

// Prints the first difference only: a whole trace would not help.
void check_same(const std::vector<Entry>& left, const std::vector<Entry>& right) {
  const auto [l, r] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  CAPTURE(l - left.begin());
  if (l != left.end() && r != right.end()) CHECK(*l == *r);
  CHECK(left.size() == right.size());
}

// Records of the same location at the same time: the order of MPI calls that are not
// compared does not matter, that of the others does.
void check_events(const Trace& trace, const ParaverTrace& paraver) {
  std::map<std::uint32_t, std::uint64_t> threads;  // of each group so far
  std::size_t compared = 0;
  for (const Location& location : trace.locations) {
    CAPTURE(location.reference);
    const std::uint64_t thread = ++threads[location.group];
    std::vector<Entry> left = expected(trace, location);
    std::vector<Entry> right =
        entries_of(paraver, events_of(paraver, location.group + 1, thread));
    // Calls that expected() leaves out.
    std::erase_if(right, [](const Entry& t) { return t.type / 1000000 == 50; });
    std::vector<Entry> mpi;
    std::copy_if(left.begin(), left.end(), std::back_inserter(mpi),
                 [](const Entry& t) { return t.type / 1000000 == 50 && !t.name.empty(); });
    std::erase_if(left, [](const Entry& t) { return t.type / 1000000 == 50; });
    check_same(left, right);
    std::set<Entry> calls;
    for (const Entry& t :
         entries_of(paraver, events_of(paraver, location.group + 1, thread)))
      calls.insert(t);
    for (const Entry& call : mpi) CHECK(calls.contains(call));
    compared += left.size() + mpi.size();
  }
  CHECK(compared > 40);
}

// Numbers of the outermost loop's iterations: 1 to n of each visit.
void check_iterations_of(const Trace& trace, const ParaverTrace& paraver) {
  std::multiset<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> left, right;
  for (const Iteration& it : iterations(trace))
    if (it.depth == 0)
      left.insert({trace.locations[it.location].group + 1, ns(trace, it.begin),
                   static_cast<std::uint64_t>(it.number + 1)});
  for (const ParaverEvent& event : paraver.events)
    if (event.type == 40000000 && event.value != 0)
      right.insert({event.object.task, event.time, event.value});
  CHECK(!left.empty());
  CHECK(left == right);
}

// Skipped intervals are state 14 on every thread, to the nanosecond.
void check_off(const Trace& trace, const ParaverTrace& paraver) {
  std::multiset<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>> left, right;
  for (const Location& location : trace.locations)
    for (const Gap& gap : gaps(location)) {
      const bool open = location.events.back().type == EventType::kMeasurementOff;
      if (!open && gap.begin < gap.end)
        left.insert({location.group + 1, ns(trace, gap.begin), ns(trace, gap.end)});
    }
  for (const ParaverState& state : paraver.states)
    if (state.state == 14) right.insert({state.object.task, state.begin, state.end});
  for (const auto& gap : left) CHECK(right.contains(gap));
  CHECK(right.size() >= left.size());
}

void check_messages_of(const Trace& trace, const ParaverTrace& paraver) {
  std::multiset<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                           std::uint64_t, std::uint64_t>>
      left, right;
  const Replay replayed = replay(trace);
  CHECK(replayed.unmatched() == 0);
  for (const auto& [channel, queue] : replayed.channels)
    for (std::size_t i = 0; i < std::min(queue.sends.size(), queue.receives.size()); ++i)
      left.insert({channel.source + 1, channel.destination + 1, channel.tag,
                   queue.sends[i].bytes, ns(trace, queue.sends[i].time),
                   ns(trace, queue.receives[i].time)});
  for (const ParaverCommunication& c : paraver.communications)
    right.insert({c.sender.task, c.receiver.task, c.tag, c.bytes, c.logical_send,
                  c.physical_receive});
  CHECK(!left.empty());
  CHECK(left == right);
}

void check_chrome(const fs::path& archive, const Trace& trace) {
  const Result result = run_refrain({"convert", archive, "--to", "chrome"});
  CHECK(result.errors == "");
  REQUIRE(result.ok());
  std::ifstream file(archive / "traces.json");
  const auto json = nlohmann::json::parse(file);
  std::map<std::string, std::uint64_t> phases;
  std::map<std::pair<int, int>, std::vector<double>> open;
  for (const auto& event : json.at("traceEvents")) {
    const std::string phase = event.at("ph");
    ++phases[phase];
    if (phase != "B" && phase != "E") continue;
    auto& stack = open[{event.at("pid"), event.at("tid")}];
    if (phase == "B") {
      stack.push_back(event.at("ts"));
      CHECK(!event.at("name").get<std::string>().empty());
      continue;
    }
    REQUIRE(!stack.empty());
    CHECK(stack.back() <= event.at("ts").get<double>());
    stack.pop_back();
  }
  for (const auto& [thread, stack] : open) CHECK(stack.empty());
  std::uint64_t enters = 0, loops = 0, receives = 0;
  for (const Location& location : trace.locations)
    for (const Event& event : location.events) {
      if (event.type == EventType::kEnter) ++(is_phase(trace, event) ? loops : enters);
      receives += event.type == EventType::kMpiRecv || event.type == EventType::kMpiIrecv;
    }
  CHECK(phases["B"] == enters);
  CHECK(phases["E"] == enters);
  CHECK(phases["b"] == phases["e"]);
  CHECK(phases["b"] >= loops);
  CHECK(phases["s"] == receives);
  CHECK(phases["f"] == receives);
}

// By protoc, which knows Perfetto's format (test/tools/read_perfetto.py).
void check_perfetto(const fs::path& archive, const Trace& trace) {
  const Result result = run_refrain({"convert", archive, "--to", "perfetto"});
  CHECK(result.errors == "");
  REQUIRE(result.ok());
  const Result read = run(
      {{"/usr/bin/python3", data_file("test/tools/read_perfetto.py"),
        data_file("test/tools/perfetto.proto"), (archive / "traces.pftrace").string()}});
  INFO(read.errors);
  REQUIRE(read.ok());
  const auto json = nlohmann::json::parse(read.output);
  CHECK(json.at("problems") == nlohmann::json::array());
  using Slice = std::tuple<std::string, std::string, std::uint64_t>;
  std::multiset<Slice> written, right;
  std::multiset<std::pair<std::string, std::uint64_t>> iterations, right_iterations;
  for (const auto& slice : json.at("slices")) {
    if (slice.at(2) == "")
      written.emplace(slice.at(1), slice.at(3), slice.at(4));
    else if (slice.at(2) == "iterations")
      iterations.emplace(slice.at(1), slice.at(8).value("iteration", ~std::uint64_t{0}));
  }
  std::uint64_t receives = 0;
  for (const Location& location : trace.locations)
    for (std::size_t i = 0; i < location.events.size(); ++i) {
      const Event& event = location.events[i];
      receives += event.type == EventType::kMpiRecv || event.type == EventType::kMpiIrecv;
      if (event.type != EventType::kEnter) continue;
      const auto& region = trace.regions.at(event.reference);
      if (is_phase(trace, event))
        right_iterations.emplace(
            location.name, static_cast<std::uint64_t>(location.events.at(i + 1).value));
      else
        right.emplace(location.name, region.name, ns(trace, event.time));
    }
  CHECK(!right.empty());
  // Offsets of clocks move ticks; which events there are does not change.
  if (trace.locations.size() != 0 && receives == 0) {
    CHECK(written == right);
  } else {
    CHECK(written.size() == right.size());
  }
  CHECK(iterations == right_iterations);
  CHECK(json.at("flows").size() == receives);
  // A fraction of JSON's size.
  CHECK(fs::file_size(archive / "traces.pftrace") * 5 <
        fs::file_size(archive / "traces.json"));
}

void check_csv(const fs::path& archive, const Trace& trace) {
  const Result result = run_refrain({"convert", archive, "--to", "csv", "-o", "-"});
  CHECK(result.errors == "");
  REQUIRE(result.ok());
  std::uint64_t events = 0;
  // All but the events around edges in gaps, which go on.
  for (const Location& location : trace.locations)
    events += static_cast<std::uint64_t>(
        std::count_if(location.events.begin(), location.events.end(),
                      [](const Event& event) { return !is_edge(event); }));
  // No name in these programs has a line break.
  const auto rows = std::count(result.output.begin(), result.output.end(), '\n');
  CHECK(static_cast<std::uint64_t>(rows) == 1 + events + trace.markers.size());
}

}  // namespace

TEST_CASE("Convert: OpenMP programs - the Paraver trace equals the archive") {
  const std::string name = GENERATE("cg_clang", "tasks_gcc", "constructs_clang");
  CAPTURE(name);
  const TemporaryFolder folder;
  const Traced traced =
      recorded({.program = name,
                .settings = {{"FORMAT", "otf2,paraver"}, {"LIMIT", "3"}, {"MIN_GAP", "0"}}},
               folder / "archive");
  const ParaverTrace paraver = read_paraver(folder / "archive" / "traces.prv");
  CHECK(text(check_paraver(paraver)) == "");
  CHECK(paraver.tasks.size() == 1);
  CHECK(paraver.tasks[0].threads == traced.trace.locations.size());
  CHECK(paraver.end == ns(traced.trace, traced.trace.clock.global_offset +
                                            traced.trace.clock.trace_length));
  check_events(traced.trace, paraver);
  check_iterations_of(traced.trace, paraver);
  check_off(traced.trace, paraver);
  check_chrome(folder / "archive", traced.trace);
  check_perfetto(folder / "archive", traced.trace);
  check_csv(folder / "archive", traced.trace);
}

TEST_CASE("Convert: MPI programs - the same events, times and communications") {
  const auto [name, ranks] = GENERATE(table<std::string, int>(
      {{"halo_gcc", 2}, {"halo_gcc", 4}, {"sweep_gcc", 2}, {"persistent_gcc", 2}}));
  CAPTURE(ranks);
  const TemporaryFolder folder;
  const MpiJob job{
      .program = name,
      .ranks = ranks,
      .settings = {{"FORMAT", "otf2,paraver"}, {"LIMIT", "3"}, {"MIN_GAP", "0"}}};
  const Traced traced = recorded(job, MpiWay::kInside, folder / "archive");
  CHECK(traced.result.errors == "");
  const ParaverTrace paraver = read_paraver(folder / "archive" / "traces.prv");
  Problems problems = check_paraver(paraver);
  // Clocks of ranks can be corrected only in part.
  std::erase_if(problems, [](const std::string& problem) {
    return problem.find("received before it was sent") != std::string::npos;
  });
  CHECK(text(problems) == "");
  CHECK(paraver.tasks.size() == static_cast<std::size_t>(ranks));
  check_events(traced.trace, paraver);
  check_iterations_of(traced.trace, paraver);
  check_messages_of(traced.trace, paraver);
  check_chrome(folder / "archive", traced.trace);
  check_perfetto(folder / "archive", traced.trace);
  check_csv(folder / "archive", traced.trace);
}

TEST_CASE("Convert: --format paraver - alone it replaces the archive") {
  const TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  const Job job{.program = "cg_clang", .settings = {{"FORMAT", "paraver"}}};
  const Result result = recorded_result(job, archive);
  CHECK(result.ok());
  CHECK(result.errors == "");
  CHECK(text(check_paraver(read_paraver(archive / "traces.prv"))) == "");
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(archive))
    files.insert(entry.path().filename());
  CHECK(files == std::set<std::string>{"traces.pcf", "traces.prv", "traces.row"});
}

TEST_CASE(
    "Convert: --format otf2,paraver - a failure changes neither archive nor exit status",
    "[alone]") {
  const TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  // The .prv cannot be moved to its place: a directory has its name.
  const Job job{.program = "exitcode_clang",
                .arguments = {"return", "3"},
                .settings = {{"FORMAT", "paraver"}},
                .environment = {{"REFRAIN_KEEP_SPOOL", "yes"}}};
  const Result plain =
      run_untraced({.program = "exitcode_clang", .arguments = {"return", "3"}});
  CHECK(plain.exit_status != 0);
  REQUIRE(run_job(job, Way::kRun, archive).exit_status == plain.exit_status);
  REQUIRE(fs::exists(archive / "spool"));
  fs::remove_all(archive / "traces.prv");
  fs::create_directories(archive / "traces.prv" / "in the way");
  const Result result =
      run_refrain({"recover", archive, "--format", "paraver", "--overwrite", "--quiet"});
  CHECK(result.ok());
  CHECK(result.errors.find("no paraver trace") != std::string::npos);
  CHECK(fs::exists(archive / "traces.otf2"));
}

TEST_CASE("Convert: not an archive - an error of one line") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& arguments) {
    const Result result = run_refrain(arguments);
    CHECK(result.exit_status == 2);
    CHECK(result.output == "");
    CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
    return result.errors;
  };
  CHECK_THAT(refused({"convert", folder / "none", "--to", "csv"}),
             Catch::Contains("no such file or directory"));
  CHECK_THAT(refused({"convert", folder.path(), "--to", "excel"}), Catch::Contains("--to"));
  CHECK_THAT(refused({"convert", folder.path()}), Catch::Contains("--to"));
  recorded({.program = "cg_clang"}, folder / "archive");
  const std::string archive = folder / "archive";
  REQUIRE(run_refrain({"convert", archive, "--to", "csv", "--quiet"}).ok());
  CHECK_THAT(refused({"convert", archive, "--to", "csv"}), Catch::Contains("--overwrite"));
  CHECK(run_refrain({"convert", archive, "--to", "csv", "--overwrite"}).ok());
  CHECK_THAT(refused({"convert", archive, "--to", "paraver", "-o", folder / "x.txt"}),
             Catch::Contains(".prv"));
  CHECK_THAT(refused({"convert", archive, "--to", "csv", "-o", folder / "no" / "x.csv"}),
             Catch::Contains("No such file"));
  CHECK_THAT(refused({"convert", archive, "--to", "paraver", "-o", "-"}),
             Catch::Contains("three files"));
}

}  // namespace refrain::test::convert_command_test
