#include <otf2/otf2.h>

#include <catch2/catch.hpp>

#include "test/support/files.h"
#include "test/support/leaks.h"
#include "test/support/read_trace.h"
#include "test/support/trace_checks.h"

namespace refrain::test::trace_test {
namespace {

OTF2_FlushType pre_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
OTF2_TimeStamp post_flush(void*, OTF2_FileType, OTF2_LocationRef) { return 0; }
OTF2_FlushCallbacks kFlush = {pre_flush, post_flush};

enum { kParallel, kLoop };  // regions
enum { kIterationNumber };  // parameter

// An archive of two locations of one process, with the events that the test writes.
class TinyArchive {
 public:
  TinyArchive() {
    archive_ =
        OTF2_Archive_Open((folder_ / "").c_str(), "traces", OTF2_FILEMODE_WRITE, 1 << 20,
                          4 << 20, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive_);
    OTF2_Archive_SetProperty(archive_, "REFRAIN::TEST", "yes", true);
    OTF2_Archive_OpenEvtFiles(archive_);
    for (OTF2_LocationRef i = 0; i < 2; ++i)
      events[i] = OTF2_Archive_GetEvtWriter(archive_, i);
  }

  // Ends writing, and reads what was written. The definition of the second location may
  // get a wrong number of events.
  Trace finish(std::uint64_t events_too_many = 0) {
    std::uint64_t count[2];
    for (OTF2_LocationRef i = 0; i < 2; ++i) {
      OTF2_EvtWriter_GetNumberOfEvents(events[i], &count[i]);
      OTF2_Archive_CloseEvtWriter(archive_, events[i]);
    }
    OTF2_Archive_CloseEvtFiles(archive_);
    OTF2_Archive_OpenDefFiles(archive_);
    for (OTF2_LocationRef i = 0; i < 2; ++i)
      OTF2_Archive_CloseDefWriter(archive_, OTF2_Archive_GetDefWriter(archive_, i));
    OTF2_Archive_CloseDefFiles(archive_);
    write_definitions(count[0], count[1] + events_too_many);
    write_marker();
    OTF2_Archive_Close(archive_);
    return read_trace(folder_.path());
  }

  void enter(int location, std::uint64_t time, OTF2_RegionRef region) {
    OTF2_EvtWriter_Enter(events[location], nullptr, time, region);
  }
  void leave(int location, std::uint64_t time, OTF2_RegionRef region) {
    OTF2_EvtWriter_Leave(events[location], nullptr, time, region);
  }
  void iteration(std::uint64_t begin, std::int64_t number) {
    enter(0, begin, kLoop);
    OTF2_EvtWriter_ParameterInt(events[0], nullptr, begin, kIterationNumber, number);
  }
  void measurement(int location, std::uint64_t time, OTF2_MeasurementMode mode) {
    OTF2_EvtWriter_MeasurementOnOff(events[location], nullptr, time, mode);
  }
  const std::filesystem::path& path() const { return folder_.path(); }

  OTF2_EvtWriter* events[2];

 private:
  void write_definitions(std::uint64_t first, std::uint64_t second) {
    OTF2_GlobalDefWriter* d = OTF2_Archive_GetGlobalDefWriter(archive_);
    const char* const strings[] = {"",
                                   "machine",
                                   "node",
                                   "process",
                                   "thread 0",
                                   "thread 1",
                                   "!$omp parallel @a.c:7",
                                   "a.c",
                                   "loop 1",
                                   "iteration",
                                   "team",
                                   "lost",
                                   "none"};
    for (std::uint32_t i = 0; i < std::size(strings); ++i)
      OTF2_GlobalDefWriter_WriteString(d, i, strings[i]);
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000, 100, 900,
                                              OTF2_UNDEFINED_TIMESTAMP);
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 1, 2, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    OTF2_GlobalDefWriter_WriteLocationGroup(d, 0, 3, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    OTF2_GlobalDefWriter_WriteLocation(d, 0, 4, OTF2_LOCATION_TYPE_CPU_THREAD, first, 0);
    OTF2_GlobalDefWriter_WriteLocation(d, 1, 5, OTF2_LOCATION_TYPE_CPU_THREAD, second, 0);
    OTF2_AttributeValue none;
    none.stringRef = 12;
    OTF2_GlobalDefWriter_WriteLocationProperty(d, 1, 11, OTF2_TYPE_STRING, none);
    OTF2_GlobalDefWriter_WriteRegion(d, kParallel, 6, 6, 0, OTF2_REGION_ROLE_PARALLEL,
                                     OTF2_PARADIGM_OPENMP, OTF2_REGION_FLAG_NONE, 7, 7, 9);
    OTF2_GlobalDefWriter_WriteRegion(
        d, kLoop, 8, 8, 0, OTF2_REGION_ROLE_LOOP, OTF2_PARADIGM_USER,
        OTF2_REGION_FLAG_PHASE | OTF2_REGION_FLAG_DYNAMIC, OTF2_UNDEFINED_STRING, 0, 0);
    OTF2_GlobalDefWriter_WriteParameter(d, kIterationNumber, 9, OTF2_PARAMETER_TYPE_INT64);
    const std::uint64_t members[] = {0, 1};
    OTF2_GlobalDefWriter_WriteGroup(d, 0, 10, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                    OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE, 2, members);
    OTF2_GlobalDefWriter_WriteGroup(d, 1, 10, OTF2_GROUP_TYPE_COMM_GROUP,
                                    OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE, 2, members);
    OTF2_GlobalDefWriter_WriteComm(d, 0, 10, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_Archive_CloseGlobalDefWriter(archive_, d);
  }

  void write_marker() {
    OTF2_MarkerWriter* writer = OTF2_Archive_GetMarkerWriter(archive_);
    OTF2_MarkerWriter_WriteDefMarker(writer, 0, "Refrain", "suspended", OTF2_SEVERITY_LOW);
    OTF2_MarkerWriter_WriteMarker(writer, 300, 0, 0, OTF2_MARKER_SCOPE_GLOBAL, 0,
                                  "from here");
    OTF2_Archive_CloseMarkerWriter(archive_, writer);
  }

  TemporaryFolder folder_;
  OTF2_Archive* archive_;
};

// Two iterations written, two skipped, one written, on the first location; a second location
// that is suspended at the same time.
void fill(TinyArchive& tiny) {
  for (std::int64_t k = 0; k < 5; ++k) {
    const std::uint64_t begin = 200 + 100 * static_cast<std::uint64_t>(k);
    if (k > 0) tiny.leave(0, begin, kLoop);
    if (k == 2) tiny.measurement(0, begin, OTF2_MEASUREMENT_OFF);
    if (k == 4) tiny.measurement(0, begin, OTF2_MEASUREMENT_ON);
    tiny.iteration(begin + 1, k);
    if (k == 2 || k == 3) continue;
    tiny.enter(0, begin + 2, kParallel);
    OTF2_EvtWriter_ThreadFork(tiny.events[0], nullptr, begin + 2, OTF2_PARADIGM_OPENMP, 2);
    OTF2_EvtWriter_ThreadTeamBegin(tiny.events[0], nullptr, begin + 10, 0);
    OTF2_EvtWriter_ThreadTeamEnd(tiny.events[0], nullptr, begin + 80, 0);
    OTF2_EvtWriter_ThreadJoin(tiny.events[0], nullptr, begin + 90, OTF2_PARADIGM_OPENMP);
    tiny.leave(0, begin + 90, kParallel);
  }
  tiny.leave(0, 700, kLoop);
  OTF2_EvtWriter_ThreadTeamBegin(tiny.events[1], nullptr, 210, 0);
  OTF2_EvtWriter_ThreadTeamEnd(tiny.events[1], nullptr, 280, 0);
  tiny.measurement(1, 400, OTF2_MEASUREMENT_OFF);
  tiny.measurement(1, 600, OTF2_MEASUREMENT_ON);
}

bool mentions(const Problems& problems, const std::string& what) {
  return text(problems).find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("Trace: read - definitions") {
  TinyArchive tiny;
  fill(tiny);
  const Trace trace = tiny.finish();
  CHECK(trace.properties.at("REFRAIN::TEST") == "yes");
  CHECK(trace.clock.ticks_per_second == 1000000);
  CHECK(trace.ns(5) == 5000);
  CHECK(trace.clock.trace_length == 900);
  const Region& parallel = trace.regions.at(kParallel);
  CHECK(parallel.name == "!$omp parallel @a.c:7");
  CHECK(parallel.file == "a.c");
  CHECK(parallel.begin_line == 7);
  CHECK(parallel.end_line == 9);
  CHECK(parallel.role == OTF2_REGION_ROLE_PARALLEL);
  CHECK(parallel.paradigm == OTF2_PARADIGM_OPENMP);
  CHECK(trace.regions.at(kLoop).file.empty());
  REQUIRE(trace.locations.size() == 2);
  CHECK(trace.locations[1].name == "thread 1");
  CHECK(trace.locations[1].properties.at("lost") == "none");
  CHECK(trace.location_groups.at(0).name == "process");
  CHECK(trace.groups.at(1).members == std::vector<std::uint64_t>{0, 1});
  CHECK(trace.comms.at(0).group == 1);
  CHECK(trace.parameters.at(0).name == "iteration");
  REQUIRE(trace.markers.size() == 1);
  CHECK(trace.markers[0].category == "suspended");
  CHECK(trace.markers[0].time == 300);
  CHECK(trace.markers[0].text == "from here");
}

TEST_CASE("Trace: checks - a good archive") {
  TinyArchive tiny;
  fill(tiny);
  const Trace trace = tiny.finish();
  CHECK(text(check_all(trace)) == "");
  CHECK(text(check_otf2_print(tiny.path())) == "");
  CHECK(count_by_type(trace)[EventType::kEnter] == 8);
  CHECK(count_by_type(trace)[EventType::kMeasurementOff] == 2);
  CHECK(count_by_role(trace) ==
        std::map<unsigned, std::uint64_t>{{OTF2_REGION_ROLE_PARALLEL, 3}});
  CHECK(count_by_name(trace).at("loop 1") == 5);
}

TEST_CASE("Trace: queries - iterations, visits, gaps and intervals") {
  TinyArchive tiny;
  fill(tiny);
  const Trace trace = tiny.finish();
  REQUIRE(phase_regions(trace) == std::vector<std::uint32_t>{kLoop});
  const std::vector<Iteration> all = iterations(trace, kLoop);
  REQUIRE(all.size() == 5);
  std::vector<bool> written;
  for (const Iteration& it : all) written.push_back(it.written);
  CHECK(written == std::vector<bool>{true, true, false, false, true});
  CHECK(all[3].number == 3);
  CHECK(all[3].begin == 501);
  CHECK(all[3].end == 600);
  CHECK(visits(all).size() == 1);
  REQUIRE(gaps(trace.locations[1]).size() == 1);
  CHECK(gaps(trace.locations[1])[0].begin == 400);
  CHECK(gaps(trace.locations[1])[0].end == 600);
  CHECK(between(trace.locations[0], 210, 291).size() == 4);
  CHECK(between(trace.locations[1], 210, 281).size() == 2);
  CHECK(between(trace.locations[1], 500, 400).empty());
}

TEST_CASE("Trace: read - attributes") {
  TinyArchive tiny;
  OTF2_AttributeList* list = OTF2_AttributeList_New();
  OTF2_AttributeList_AddInt32(list, 4, -5);
  OTF2_EvtWriter_Enter(tiny.events[0], list, 200, kParallel);
  OTF2_AttributeList_Delete(list);
  tiny.leave(0, 300, kParallel);
  const Trace trace = tiny.finish();
  REQUIRE(trace.locations[0].events[0].attributes.size() == 1);
  CHECK(trace.locations[0].events[0].attributes[0].attribute == 4);
  CHECK(static_cast<std::int64_t>(trace.locations[0].events[0].attributes[0].value) == -5);
}

TEST_CASE("Trace: checks - bad archives are reported") {
  TinyArchive tiny;
  SECTION("a region that is never left") {
    tiny.enter(0, 200, kParallel);
    CHECK(mentions(check_nesting(tiny.finish()), "never closed"));
  }
  SECTION("a leave of another region") {
    tiny.enter(0, 200, kParallel);
    tiny.leave(0, 300, kLoop);
    CHECK(mentions(check_nesting(tiny.finish()), "does not close"));
  }
  SECTION("a leave of nothing") {
    tiny.leave(1, 300, kParallel);
    CHECK(mentions(check_nesting(tiny.finish()), "nothing is open"));
  }
  SECTION("an undefined region") {
    tiny.enter(0, 200, 17);
    tiny.leave(0, 300, 17);
    CHECK(mentions(check_nesting(tiny.finish()), "not defined"));
  }
  SECTION("a team that does not nest") {
    OTF2_EvtWriter_ThreadTeamBegin(tiny.events[0], nullptr, 200, 0);
    tiny.enter(0, 210, kParallel);
    OTF2_EvtWriter_ThreadTeamEnd(tiny.events[0], nullptr, 220, 0);
    tiny.leave(0, 230, kParallel);
    CHECK(check_nesting(tiny.finish()).size() == 2);
  }
  SECTION("an event outside of the span") {
    tiny.enter(0, 50, kParallel);
    tiny.leave(0, 1200, kParallel);
    CHECK(check_times(tiny.finish()).size() == 2);
  }
  SECTION("measurement off twice, and an event while off") {
    tiny.measurement(0, 200, OTF2_MEASUREMENT_OFF);
    tiny.measurement(0, 300, OTF2_MEASUREMENT_OFF);
    OTF2_EvtWriter_ThreadTaskCreate(tiny.events[0], nullptr, 400, 0, 0, 1);
    const Problems problems = check_measurement(tiny.finish());
    CHECK(problems.size() == 2);
    CHECK(mentions(problems, "off already"));
    CHECK(mentions(problems, "while measurement is off"));
  }
  SECTION("a wrong number of events") {
    tiny.enter(1, 200, kParallel);
    tiny.leave(1, 300, kParallel);
    CHECK(mentions(check_counts(tiny.finish(3)), "defined with 5 events, has 2"));
  }
  SECTION("iterations that do not tile") {
    tiny.iteration(200, 0);
    tiny.leave(0, 300, kLoop);
    tiny.iteration(310, 1);
    tiny.leave(0, 400, kLoop);
    tiny.iteration(400, 3);
    tiny.leave(0, 500, kLoop);
    const Problems problems = check_iterations(tiny.finish());
    CHECK(problems.size() == 2);
    CHECK(mentions(problems, "begins at 310"));
    CHECK(mentions(problems, "iteration 3 follows 1"));
  }
}

TEST_CASE("Trace: read - not an archive") {
  TemporaryFolder folder;
  const LibraryMayLeak archive_that_cannot_be_opened;
  CHECK_THROWS_AS(read_trace(folder.path()), std::runtime_error);
  CHECK_FALSE(check_otf2_print(folder.path()).empty());
}

}  // namespace refrain::test::trace_test
