#include "analysis/event_summary.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "analysis/profile_totals.h"
#include "analysis/run_profile.h"
#include "reader/foreign_archive.h"
#include "test/support/files.h"

namespace refrain::analysis {

TEST_CASE("Event summary: an archive of another tool - all of its threads' time") {
  test::TemporaryFolder folder;
  reader::write_foreign_archive(folder / "a");
  const EventSummary events = summarize_events(folder / "a");
  REQUIRE(events.error == "");
  CHECK(events.events > 0);
  CHECK(events.gaps == 0);
  REQUIRE(events.processes.size() == 2);
  CHECK(events.processes[0].rank == 0);
  CHECK(events.processes[0].ticks_per_second == reader::kForeignTicks);
  const RunProfile profile = merge_summaries(events.processes);
  REQUIRE(profile.locations.size() == 3);  // a GPU's stream is no thread
  const ProfileTotals totals = total(profile);
  double main_ns = 0, own_ns = 0;
  std::uint64_t sent = 0, bytes = 0, received = 0;
  for (std::size_t i = 0; i < profile.paths.size(); ++i) {
    const RunProfile::Path& path = profile.paths[i];
    REQUIRE(path.region != RunProfile::kNone);
    if (profile.regions[path.region].name.starts_with("main"))
      main_ns += totals.paths[i].time_ns;
    CHECK(profile.regions[path.region].name.find("kernel") == std::string::npos);
    own_ns += totals.paths[i].own_ns;
    sent += totals.paths[i].messages_sent;
    bytes += totals.paths[i].bytes_sent;
    received += totals.paths[i].messages_received;
  }
  // main is 2500 ticks of 0.4 ns on one thread, 2400 on the other.
  CHECK(main_ns == Approx((2500 + 2400) * 0.4));
  CHECK(own_ns == Approx(main_ns));
  CHECK(own_ns + totals.outside_ns == Approx(totals.time_ns));
  CHECK(sent == 4);
  CHECK(bytes == 111 + 222 + 5 + 5);
  CHECK(received == 2);
}

TEST_CASE("Event summary: no archive - one line") {
  test::TemporaryFolder folder;
  CHECK(summarize_events(folder / "none").error != "");
  reader::write_foreign_archive(folder / "a");
  std::ofstream(folder / "a" / "traces.otf2") << "no archive";
  const EventSummary events = summarize_events(folder / "a");
  CHECK(events.error != "");
  CHECK(events.error.find('\n') == std::string::npos);
  CHECK(events.processes.empty());
}

}  // namespace refrain::analysis
