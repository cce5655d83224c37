// Archives as other tools write them: each has the right value, or a line that says what is not used.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "analysis/comparison/comparison.h"
#include "analysis/profile/event_summary.h"
#include "analysis/profile/run_profile.h"
#include "analysis/report/wait_blocks.h"
#include "base/notes.h"
#include "reader/archive_stream.h"
#include "reader/small_archive.h"
#include "test/support/files.h"
#include "waits/wait_analysis.h"

namespace refrain::other_tools_test {
namespace {

using reader::EventKind;
using reader::SmallArchive;
using summary::TimeClass;
using waits::WaitAnalysis;

constexpr std::uint64_t kMs = 1'000'000;

struct Read final : reader::TraceSink {
  base::Result<> begin(const reader::TraceDefinitions& of) override {
    definitions = of;
    return {};
  }
  void event(const reader::TraceEvent& event) override { events.push_back(event); }
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end) override {
    end_ns = end;
    return {};
  }
  // "+main@5": an enter at 5 ns, "-main@7" its leave.
  std::string regions() const {
    std::string text;
    for (const reader::TraceEvent& event : events)
      if (event.kind == EventKind::kEnter || event.kind == EventKind::kLeave)
        text += (event.kind == EventKind::kEnter ? " +" : " -") +
                definitions.regions[event.ref].name + "@" + std::to_string(event.ns);
    return text;
  }
  reader::TraceDefinitions definitions;
  std::vector<reader::TraceEvent> events;
  std::uint64_t end_ns = 0;
};

struct Case {
  test::TemporaryFolder folder;
  std::string path = (folder / "a").string();
  SmallArchive archive{path};

  Read read() const {
    Read sink;
    reader::ArchiveStream stream;
    REQUIRE(stream.open(path).ok());
    REQUIRE(stream.run(sink).ok());
    return sink;
  }
  WaitAnalysis waits() const {
    const auto done = waits::analyze_archive(path);
    INFO(done.error());
    REQUIRE(done.ok());
    return *done;
  }
  analysis::RunProfile profile() const {
    const auto done = analysis::summarize_events(path);
    REQUIRE(done.ok());
    return analysis::merge_summaries(done->processes);
  }
  analysis::TraceProfile compared() const {
    const auto done = analysis::read_trace_profile(path);
    REQUIRE(done.ok());
    return *done;
  }
};

double ms(const WaitAnalysis& analysis, const std::string& metric) {
  return analysis.total(analysis.tree.of(metric)) / kMs;
}

double ms(const analysis::ProfileTotals& totals, TimeClass cls) {
  return totals.times[static_cast<std::size_t>(cls)] / kMs;
}

bool noted(const std::string& what) {
  const auto lines = base::take_notes();
  return std::ranges::any_of(lines, [&](const std::string& line) {
    return line.find(what) != std::string::npos && line.find('\n') == std::string::npos;
  });
}

TEST_CASE("Other tools: calling contexts - regions from samples and calls") {
  Case a;
  const auto main = a.archive.region("main"), solve = a.archive.region("solve");
  const auto barrier = a.archive.mpi("MPI_Barrier", OTF2_REGION_ROLE_BARRIER);
  const auto in_main = a.archive.context(main),
             in_solve = a.archive.context(solve, in_main);
  const auto in_barrier = a.archive.context(barrier, in_main);
  a.archive.process();
  OTF2_EvtWriter* const writer = a.archive.writer();
  for (const std::uint64_t at : {10, 20, 30})
    OTF2_EvtWriter_CallingContextSample(writer, nullptr, at, in_solve, 1, 0);
  OTF2_EvtWriter_CallingContextEnter(writer, nullptr, 40, in_barrier, 2);
  OTF2_EvtWriter_CallingContextLeave(writer, nullptr, 70, in_barrier);
  OTF2_EvtWriter_CallingContextEnter(writer, nullptr, 80, in_barrier, 1);
  OTF2_EvtWriter_CallingContextEnter(writer, nullptr, 90, in_barrier, 1);
  OTF2_EvtWriter_CallingContextSample(writer, nullptr, 100, 12345, 1, 0);  // not defined
  OTF2_EvtWriter_CallingContextLeave(writer, nullptr, 110, in_barrier);
  OTF2_EvtWriter_CallingContextLeave(writer, nullptr, 120, in_main);
  a.archive.finish(10, 110);
  base::take_notes();
  const Read read = a.read();
  CHECK(read.regions() ==
        " +main@0 +solve@0 -solve@30 +MPI_Barrier@30 -MPI_Barrier@60 +MPI_Barrier@70 "
        "-MPI_Barrier@80 +MPI_Barrier@80 -MPI_Barrier@100 -main@110");
  CHECK(std::ranges::count(read.events, EventKind::kCallingContextSample,
                           &reader::TraceEvent::kind) == 4);
  CHECK(noted("samples of call stacks"));
  CHECK(ms(a.waits(), "mpi") == Approx(60e-6));
}

TEST_CASE("Other tools: calling contexts in a circle - end") {
  Case a;
  const auto main = a.archive.region("main");
  const auto first = a.archive.context(main, 1);
  a.archive.context(main, first);
  a.archive.process();
  OTF2_EvtWriter_CallingContextSample(a.archive.writer(), nullptr, 10, first, 1, 0);
  a.archive.finish(0, 10);
  CHECK(a.read().regions() == " +main@0 +main@0");
}

TEST_CASE("Other tools: a flush of the buffer - is no work of the program") {
  Case a;
  const auto main = a.archive.region("main");
  a.archive.process();
  a.archive.enter(0, main);
  OTF2_EvtWriter_BufferFlush(a.archive.writer(), nullptr, kMs, 6 * kMs);
  a.archive.leave(7 * kMs, main);
  a.archive.finish(0, 7 * kMs);
  CHECK(
      a.read().regions() ==
      " +main@0 +flush of the trace's buffer@1000000 -flush of the trace's buffer@6000000 "
      "-main@7000000");
  const WaitAnalysis waits = a.waits();
  CHECK(ms(waits, "time") == Approx(7));
  CHECK(ms(waits, "execution") == Approx(2));
  CHECK(ms(analysis::total(a.profile()), TimeClass::kUseful) == Approx(2));
  CHECK(a.compared().efficiencies.parallel == Approx(2.0 / 7));
}

TEST_CASE("Other tools: any clock offset - the run is from the first event to the last") {
  Case a;
  const std::uint64_t epoch = 1'750'000'000'000'000'000;
  const auto main = a.archive.region("main");
  a.archive.process();
  a.archive.enter(epoch, main);
  a.archive.leave(epoch + 3 * kMs, main);
  a.archive.finish(0, epoch + 3 * kMs, 1000);
  const Read read = a.read();
  CHECK(read.regions() == " +main@0 -main@3000000");
  CHECK(read.end_ns == 3 * kMs);
  CHECK(read.definitions.realtime_ns == 1000 + epoch);
  CHECK(analysis::total(a.profile()).run_ns / kMs == Approx(3));
  CHECK(ms(a.waits(), "time") == Approx(3));
  CHECK(a.compared().duration_ns / kMs == Approx(3));
}

TEST_CASE("Other tools: a process that begins late and ends early - it is no useful time") {
  Case a;
  const auto main = a.archive.region("main");
  a.archive.process();
  a.archive.enter(10 * kMs, main);
  a.archive.leave(20 * kMs, main);
  a.archive.process();
  a.archive.enter(12 * kMs, main);
  a.archive.leave(13 * kMs, main);
  a.archive.finish(0, 30 * kMs);
  const auto totals = analysis::total(a.profile());
  CHECK(ms(totals, TimeClass::kUseful) == Approx(11));
  CHECK(totals.run_ns / kMs == Approx(10));
  CHECK(ms(a.waits(), "time") == Approx(11));
  const auto compared = a.compared();
  CHECK(compared.duration_ns / kMs == Approx(10));
  CHECK(compared.efficiencies.parallel == Approx(11.0 / 20));
  CHECK(compared.efficiencies.load_balance == Approx(11.0 / 20));
}

// Rank 0 sends late: 6 ms, of which rank 1 waits 5.
void late_sender(SmallArchive& archive, const std::string& send, const std::string& receive,
                 OTF2_RegionRole role) {
  const auto main = archive.region("main"), sends = archive.mpi(send, role),
             receives = archive.mpi(receive, role);
  archive.process();
  archive.enter(0, main);
  archive.send(6 * kMs, 6 * kMs + 100, sends, 1);
  archive.leave(8 * kMs, main);
  archive.process();
  archive.enter(0, main);
  archive.receive(kMs, 6 * kMs + 200, receives, 0);
  archive.leave(8 * kMs, main);
  archive.finish(0, 8 * kMs);
}

TEST_CASE(
    "Other tools: roles of MPI - by the definitions, and by names that are decorated") {
  const auto p2p = OTF2_REGION_ROLE_POINT2POINT, none = OTF2_REGION_ROLE_FUNCTION;
  const struct {
    const char *send, *receive;
    OTF2_RegionRole role;
  } cases[] = {{"MPI_Send", "MPI_Recv", p2p},      {"MPI_Send()", "MPI_Recv()", p2p},
               {"MPI_Send()", "MPI_Recv()", none}, {"PMPI_Send", "PMPI_Recv", none},
               {"mpi_send_", "mpi_recv_", none},   {"envoyer", "recevoir", p2p}};
  for (const auto& each : cases) {
    INFO(each.receive << " " << int{each.role});
    Case a;
    late_sender(a.archive, each.send, each.receive, each.role);
    const WaitAnalysis waits = a.waits();
    CHECK(ms(waits, "mpi_latesender") == Approx(5));
    CHECK(ms(waits, "mpi_point2point") == Approx(5.0003));
    const auto totals = analysis::total(a.profile());
    CHECK(ms(totals, TimeClass::kMpiPointToPoint) == Approx(5.0003));
  }
}

TEST_CASE("Other tools: streams of devices, files, counters - named, and no threads") {
  Case a;
  const auto main = a.archive.region("main"), kernel = a.archive.region("kernel");
  a.archive.process();
  a.archive.enter(0, main);
  const OTF2_Type type = OTF2_TYPE_UINT64;
  OTF2_MetricValue value;
  value.unsigned_int = 5;
  OTF2_EvtWriter_Metric(a.archive.writer(), nullptr, 5, 0, 1, &type, &value);
  OTF2_EvtWriter_IoOperationBegin(a.archive.writer(), nullptr, 6, 0,
                                  OTF2_IO_OPERATION_MODE_READ, OTF2_IO_OPERATION_FLAG_NONE,
                                  8, 1);
  a.archive.leave(10 * kMs, main);
  a.archive.device();
  a.archive.enter(kMs, kernel);
  a.archive.leave(9 * kMs, kernel);
  a.archive.finish(0, 10 * kMs);
  for (const bool waits : {false, true}) {
    base::take_notes();
    if (waits)
      CHECK(ms(a.waits(), "time") == Approx(10));
    else
      CHECK(a.profile().locations.size() == 1);
    const auto lines = base::take_notes();
    REQUIRE(lines.size() == 3);
    CHECK(
        lines[0] ==
        a.path +
            ": 1 locations of devices or of metrics with 2 events are not used: all times are those of threads");
    CHECK(lines[1] == a.path + ": records of values of counters are not used here");
    CHECK(lines[2] == a.path + ": records of operations on files are not used here");
  }
}

TEST_CASE("Other tools: threads of no known type - are threads for all") {
  Case a;
  const auto main = a.archive.region("main");
  a.archive.process();
  a.archive.enter(0, main);
  a.archive.leave(10 * kMs, main);
  a.archive.of_no_type();
  a.archive.finish(0, 10 * kMs);
  base::take_notes();
  CHECK(ms(a.waits(), "time") == Approx(10));
  CHECK(a.profile().locations.size() == 1);
  CHECK(a.compared().efficiencies.parallel == Approx(1));
  CHECK(base::take_notes().empty());
}

TEST_CASE("Other tools: a leave is missing - the regions around it end where they end") {
  Case a;
  const auto main = a.archive.region("main"), foo = a.archive.region("foo"),
             bar = a.archive.region("bar"), compute = a.archive.region("compute");
  a.archive.process();
  a.archive.enter(0, main);
  a.archive.enter(0, foo);
  a.archive.enter(kMs, bar);  // left by an exception
  a.archive.leave(2 * kMs, foo);
  a.archive.leave(3 * kMs, main);
  a.archive.leave(3 * kMs, bar);  // was never entered
  a.archive.enter(4 * kMs, compute);
  a.archive.leave(104 * kMs, compute);
  a.archive.finish(0, 104 * kMs);
  const auto compared = a.compared();
  const auto time_of = [&](const std::string& name) {
    for (const auto& region : compared.regions)
      if (region.name == name) return region.inclusive_ns / kMs;
    return -1.0;
  };
  CHECK(time_of("main") == Approx(3));
  CHECK(time_of("foo") == Approx(2));
  CHECK(time_of("bar") == Approx(1));
  CHECK(time_of("compute") == Approx(100));
}

TEST_CASE("Other tools: two functions of one name - are two in a report, too") {
  Case a;
  const auto main = a.archive.region("main");
  const auto of_line = [&](std::uint32_t line) {
    return a.archive.region("exchange", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER,
                            "x.cc", line);
  };
  const auto first = of_line(10), second = of_line(50);
  a.archive.process();
  a.archive.enter(0, main);
  a.archive.enter(0, first);
  a.archive.leave(kMs, first);
  a.archive.enter(kMs, second);
  a.archive.leave(5 * kMs, second);
  a.archive.leave(5 * kMs, main);
  a.archive.finish(0, 5 * kMs);
  const WaitAnalysis waits = a.waits();
  const analysis::RunProfile profile = a.profile();
  const report::WaitPlaces places = report::places_in(waits, profile);
  std::vector<std::uint32_t> lines;
  for (std::size_t i = 1; i < waits.paths.size(); ++i) {
    REQUIRE(places.paths[i] < profile.paths.size());
    const std::uint32_t line = profile.regions[profile.paths[places.paths[i]].region].line;
    CHECK(line == waits.regions[waits.paths[i].region].line);
    lines.push_back(line);
  }
  CHECK(lines == std::vector<std::uint32_t>{0, 10, 50});
}

TEST_CASE("Other tools: names that are no UTF-8, or that a terminal obeys - are cleaned") {
  Case a;
  const auto bad = a.archive.region("f\xff\x1b[31m");
  a.archive.process();
  a.archive.enter(0, bad);
  a.archive.leave(5, bad);
  a.archive.finish(0, 5);
  CHECK(a.read().regions() ==
        " +f\xef\xbf\xbd\xef\xbf\xbd[31m@0 -f\xef\xbf\xbd\xef\xbf\xbd[31m@5");
}

}  // namespace
}  // namespace refrain::other_tools_test
