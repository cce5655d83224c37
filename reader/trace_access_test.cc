#include "reader/trace_access.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "base/notes.h"
#include "reader/foreign_archive.h"
#include "test/support/files.h"

namespace refrain::reader::trace_access_test {
namespace {

enum : std::uint32_t { rMain, rSend, rRecv, rWait, rBarrier, rTeamBarrier };

// Ranks with two threads each; communicator 0 is the world, 1 that of the team.
class Made {
 public:
  explicit Made(std::uint32_t ranks) {
    const auto region = [&](const char* name, OTF2_RegionRole role,
                            OTF2_Paradigm paradigm) {
      d.regions.push_back({.name = name, .file = "", .role = role, .paradigm = paradigm});
    };
    region("main", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER);
    for (const char* name : {"MPI_Send", "MPI_Recv", "MPI_Wait", "MPI_Barrier"})
      region(name, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI);
    region("barrier", OTF2_REGION_ROLE_BARRIER, OTF2_PARADIGM_OPENMP);
    std::vector<ProcessId> world;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      ProcessInfo& process = d.processes.emplace_back();
      process.rank = rank;
      for (std::uint32_t thread = 0; thread < 2; ++thread) {
        process.locations.emplace_back(d.locations.size());
        LocationInfo& location = d.locations.emplace_back();
        location.process = ProcessId(rank);
        location.thread = thread;
      }
      world.emplace_back(rank);
    }
    d.groups.push_back(world);
    CommInfo comm;
    comm.of_processes = true;
    comm.group = 0;
    d.comms.push_back(comm);
    d.comms.emplace_back();
  }

  TraceEvent& add(std::uint32_t location, EventKind kind, std::uint32_t ref = 0) {
    TraceEvent& event = events.emplace_back();
    event.location = LocationId(location);
    event.ticks = event.ns = ++time;
    event.kind = kind;
    event.ref = ref;
    return event;
  }
  void message(std::uint32_t rank, EventKind kind, std::uint32_t peer,
               std::uint64_t request = 0) {
    TraceEvent& event = add(2 * rank, kind);
    event.peer = peer;
    event.request = request;
    event.bytes = 8;
  }

  TraceDefinitions d;
  std::vector<TraceEvent> events;
  std::uint64_t time = 100;
};

// Hands over all events, with so many read ahead.
template <typename Look>
void walk(const Made& made, EventWindow& window, std::uint64_t after, Look look) {
  REQUIRE(window.begin(made.d));
  std::size_t read = 0;
  for (;;) {
    while (read < made.events.size() && window.ahead() <= after)
      window.event(made.events[read++]);
    if (read == made.events.size()) REQUIRE(window.finish(0));
    const StatefulEvent* event = window.next();
    if (event == nullptr) return;
    look(*event);
  }
}

// What is known of an event when it is handed out: texts, empty where nothing is.
std::map<std::string, std::string> known(const EventWindow& window,
                                         const StatefulEvent& event) {
  const auto text = [](EventId id) {
    return id.known() ? std::to_string(id.location) + ":" + std::to_string(id.number) : "";
  };
  std::map<std::string, std::string> out;
  out["event"] = text(event.id()) + " " + std::to_string(event.event.ticks) + " " +
                 event_name(event.event.kind);
  for (const OpenRegion& open : window.open_regions(event))
    out["stack"] += std::to_string(open.region) + "@" + std::to_string(open.enter_ticks) +
                    "=" + text(open.enter) + " ";
  out["begun"] =
      text(event.request.begun) + " " + std::to_string(event.request.begun_ticks);
  out["before"] = text(event.request.before);
  out["after"] = text(event.request.after);
  out["leave"] = text(event.leave);
  if (event.message != nullptr) {
    out["send"] = text(event.message->send.event);
    out["receive"] = text(event.message->receive.event);
    if (event.message->complete())
      out["message"] = std::to_string(event.message->send.enter_ticks) + " " +
                       std::to_string(event.message->receive.begun_ticks);
  }
  if (event.collective != nullptr && event.collective->complete())
    for (const auto& member : event.collective->members)
      out["collective"] +=
          text(member.end) + " " + std::to_string(member.enter_ticks) + " ";
  if (event.barrier != nullptr && event.event.kind == EventKind::kLeave)
    for (const auto& member : event.barrier->members)
      out["barrier"] += std::to_string(member.enter_ticks) + " ";
  if (event.team != nullptr) out["team"] = text(event.team->fork);
  return out;
}

// A program of several ranks: messages that block and that do not, barriers of MPI and of teams, in nested regions.
Made random_program(std::uint32_t seed) {
  std::minstd_rand random(seed);
  Made made(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    made.add(2 * rank, EventKind::kEnter, rMain);
    made.add(2 * rank, EventKind::kThreadFork, kNone);
    for (std::uint32_t thread = 0; thread < 2; ++thread)
      made.add(2 * rank + thread, EventKind::kThreadTeamBegin, 1);
  }
  std::uint64_t request = 1;
  for (int step = 0; step < 200; ++step) {
    const std::uint32_t a = random() % 3, b = (a + 1 + random() % 2) % 3;
    switch (random() % 4) {
      case 0:
        made.add(2 * a, EventKind::kEnter, rSend);
        made.message(a, EventKind::kMpiSend, b);
        made.add(2 * b, EventKind::kEnter, rRecv);
        made.add(2 * a, EventKind::kLeave, rSend);
        made.message(b, EventKind::kMpiRecv, a);
        made.add(2 * b, EventKind::kLeave, rRecv);
        break;
      case 1: {
        const std::uint64_t receive = request++, send = request++;
        made.message(b, EventKind::kMpiIrecvRequest, kNone, receive);
        made.message(a, EventKind::kMpiIsend, b, send);
        made.add(2 * b, EventKind::kEnter, rWait);
        made.message(b, EventKind::kMpiRequestTest, kNone, receive);
        made.message(b, EventKind::kMpiIrecv, a, receive);
        made.add(2 * b, EventKind::kLeave, rWait);
        made.message(a, EventKind::kMpiIsendComplete, kNone, send);
        break;
      }
      case 2:
        for (std::uint32_t rank = 0; rank < 3; ++rank)
          made.add(2 * rank, EventKind::kEnter, rBarrier);
        for (std::uint32_t rank = 0; rank < 3; ++rank) {
          made.add(2 * rank, EventKind::kMpiCollectiveEnd).op = OTF2_COLLECTIVE_OP_BARRIER;
          made.add(2 * rank, EventKind::kLeave, rBarrier);
        }
        break;
      default:
        for (std::uint32_t thread = 0; thread < 2; ++thread)
          made.add(2 * a + thread, EventKind::kEnter, rTeamBarrier);
        for (std::uint32_t thread = 0; thread < 2; ++thread)
          made.add(2 * a + thread, EventKind::kLeave, rTeamBarrier);
    }
  }
  return made;
}

std::vector<std::map<std::string, std::string>> all_known(const Made& made,
                                                          std::uint64_t before,
                                                          std::uint64_t after) {
  EventWindow window(before);
  std::vector<std::map<std::string, std::string>> all;
  walk(made, window, after,
       [&](const StatefulEvent& event) { all.push_back(known(window, event)); });
  return all;
}

}  // namespace

TEST_CASE("TraceAccess: state - the same whatever the window's size") {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    const Made made = random_program(seed);
    for (const std::uint64_t after : {0U, 3U, 40U, 100'000U}) {
      const auto whole = all_known(made, 100'000, after);
      REQUIRE(whole.size() == made.events.size());
      for (const std::uint64_t before : {0U, 1U, 7U, 300U})
        CHECK(all_known(made, before, after) == whole);
    }
    // What is known with few events read ahead is what is known with all of them.
    const auto everything = all_known(made, 100'000, 100'000);
    for (const std::uint64_t after : {0U, 5U, 50U}) {
      const auto some = all_known(made, 10, after);
      std::size_t differ = 0, unknown = 0;
      for (std::size_t i = 0; i < some.size(); ++i)
        for (const auto& [what, text] : everything[i]) {
          const auto found = some[i].find(what);
          const bool missing = found == some[i].end() || found->second.empty();
          unknown += missing && !text.empty() ? 1 : 0;
          differ += !missing && found->second != text ? 1 : 0;
        }
      CHECK(differ == 0);
      if (after == 0) CHECK(unknown != 0);
    }
  }
}

TEST_CASE("TraceAccess: links - a message, its calls and its request") {
  Made made(2);
  made.message(1, EventKind::kMpiIrecvRequest, kNone, 5);  // 101
  made.add(0, EventKind::kEnter, rSend);                   // 102
  made.message(0, EventKind::kMpiSend, 1);                 // 103
  made.add(0, EventKind::kLeave, rSend);                   // 104
  made.add(2, EventKind::kEnter, rWait);                   // 105
  made.message(1, EventKind::kMpiIrecv, 0, 5);             // 106
  made.add(2, EventKind::kLeave, rWait);                   // 107
  EventWindow window(10);
  std::size_t seen = 0;
  walk(made, window, 100, [&](const StatefulEvent& event) {
    ++seen;
    if (event.event.ticks == 102) CHECK(event.leave == EventId{LocationId{0}, 2});
    if (event.event.ticks == 103) {
      REQUIRE(event.message != nullptr);
      CHECK(event.message->receive.event == EventId{LocationId{2}, 2});
      CHECK(event.region.enter == EventId{LocationId{0}, 0});
    }
    if (event.event.ticks != 106) return;
    REQUIRE(event.message != nullptr);
    REQUIRE(event.message->complete());
    CHECK(event.message->send.event == EventId{LocationId{0}, 1});
    CHECK(event.message->send.enter_ticks == 102);
    CHECK(event.message->receive.enter_ticks == 105);
    CHECK(event.message->receive.begun_ticks == 101);
    CHECK(event.request.begun == EventId{LocationId{2}, 0});
    CHECK(event.request.before == EventId{LocationId{2}, 0});
    const StatefulEvent* begun = window.find(event.request.begun);
    REQUIRE(begun != nullptr);
    CHECK(begun->request.after == event.id());
    const StatefulEvent* send = window.find(event.message->send.event);
    REQUIRE(send != nullptr);
    CHECK(send->event.ticks == 103);
    const StatefulEvent* later = window.find({LocationId{2}, event.number + 1});
    REQUIRE(later != nullptr);
    CHECK(later->event.ticks == 107);
    CHECK(later->region.enter == event.region.enter);
  });
  CHECK(seen == 7);
}

TEST_CASE("TraceAccess: messages - a receive from an unknown sender keeps back none") {
  Made made(2);
  made.message(1, EventKind::kMpiIrecvRequest, kNone, 5);
  made.message(1, EventKind::kMpiIrecv, 7, 5);  // no such rank
  made.message(0, EventKind::kMpiSend, 1);
  made.message(1, EventKind::kMpiRecv, 0);  // 104
  EventWindow window(10);
  bool complete = false;
  walk(made, window, 0, [&](const StatefulEvent& event) {
    if (event.event.ticks == 104) complete = event.message && event.message->complete();
  });
  CHECK(complete);
}

TEST_CASE("TraceAccess: window - what is outside is not found, and memory does not grow") {
  const auto memory_of = [](int rounds) {
    Made made(2);
    for (int i = 0; i < rounds; ++i) {
      for (int depth = 0; depth < 5; ++depth) made.add(0, EventKind::kEnter, rMain);
      made.add(0, EventKind::kEnter, rSend);
      made.message(0, EventKind::kMpiIsend, 1, 3);
      made.add(0, EventKind::kLeave, rSend);
      made.add(2, EventKind::kEnter, rRecv);
      made.message(1, EventKind::kMpiRecv, 0);
      made.add(2, EventKind::kLeave, rRecv);
      made.message(0, EventKind::kMpiIsendComplete, kNone, 3);
      for (int depth = 0; depth < 5; ++depth) made.add(0, EventKind::kLeave, rMain);
    }
    EventWindow window(20);
    std::uint64_t most = 0;
    walk(made, window, 30, [&](const StatefulEvent& event) {
      most = std::max(most, window.memory());
      if (event.number > 20) {
        CHECK(window.find({event.event.location, event.number - 20}) != nullptr);
        CHECK(window.find({event.event.location, event.number - 21}) == nullptr);
      }
    });
    return most;
  };
  const std::uint64_t few = memory_of(50);
  CHECK(few > 20);
  CHECK(memory_of(5000) == few);
}

TEST_CASE(
    "TraceAccess: stacks - a leave without enter, an enter without leave, a deep one") {
  Made made(1);
  made.add(0, EventKind::kLeave, rWait);
  made.add(0, EventKind::kEnter, rMain);
  made.add(0, EventKind::kEnter, rSend);
  made.add(0, EventKind::kLeave, rMain);  // ends rSend, too
  for (int i = 0; i < 300'000; ++i) made.add(0, EventKind::kEnter, rMain);
  EventWindow window(2);
  std::vector<bool> inside;
  std::uint32_t depth = 0;
  walk(made, window, 2, [&](const StatefulEvent& event) {
    if (inside.size() < 4) inside.push_back(event.in_region);
    depth = event.region.depth;
    if (event.event.ticks == 104) CHECK(event.region.enter == EventId{LocationId{0}, 1});
  });
  CHECK(inside == std::vector<bool>{false, true, true, true});
  CHECK(depth == 299'999);
}

TEST_CASE("TraceAccess: archives - of another tool, read step by step") {
  const test::TemporaryFolder folder;
  write_foreign_archive(folder / "a", {.more_enters = 3000});
  std::uint64_t first_count = 0;
  for (const TraceAccess::Window size : {TraceAccess::Window{5, 0}, {1000, 1000}}) {
    // Two at once, in turn.
    TraceAccess access(size), other(size);
    REQUIRE(access.open((folder / "a").string()).ok());
    REQUIRE(other.open((folder / "a").string()).ok());
    std::uint64_t count = 0, last = 0;
    while (const StatefulEvent* event = access.next()) {
      ++count;
      CHECK(event->event.ticks >= last);
      last = event->event.ticks;
      const StatefulEvent* same = other.next();
      REQUIRE(same != nullptr);
      CHECK(same->event.ticks == last);
    }
    CHECK(access.error() == "");
    CHECK(count > 6000);
    if (first_count != 0) CHECK(count == first_count);
    first_count = count;
  }
}

TEST_CASE("TraceAccess: archives - whose definitions and events are false") {
  const test::TemporaryFolder folder;
  std::uint64_t events = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const auto archive = folder / std::to_string(seed);
    write_foreign_archive(archive, {.more_enters = 20, .lies = seed});
    TraceAccess access({4, 4});
    if (!access.open(archive.string()).ok()) continue;
    while (const StatefulEvent* event = access.next()) {
      ++events;
      const std::vector<OpenRegion> open = access.open_regions(*event);
      REQUIRE(open.size() == (event->in_region ? event->region.depth + 1 : 0));
      for (const OpenRegion& each : open) REQUIRE(each.enter_ticks <= event->event.ticks);
    }
    CHECK(access.error().find('\n') == std::string::npos);
  }
  CHECK(events > 500);
}

TEST_CASE("TraceAccess: archives - an error is one line, what is missing another") {
  const test::TemporaryFolder folder;
  TraceAccess none;
  CHECK(none.open((folder / "none").string()).error().find("no such file or directory") !=
        std::string::npos);
  CHECK(none.next() == nullptr);
  write_foreign_archive(folder / "a", {.more_enters = 3000});
  for (const auto& entry : std::filesystem::directory_iterator(folder / "a" / "traces"))
    if (entry.path().extension() == ".evt")
      std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry) / 2);
  TraceAccess cut;
  REQUIRE(cut.open((folder / "a").string()).ok());
  base::take_notes();
  std::size_t events = 0;
  while (cut.next() != nullptr) ++events;
  CHECK(cut.error().empty());
  CHECK(events > 3000);
  const std::vector<std::string> notes = base::take_notes();
  CHECK(notes.size() == 3);  // a line for each file
  for (const std::string& line : notes) {
    CHECK(line.find(" can be read") != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
}

}  // namespace refrain::reader::trace_access_test
