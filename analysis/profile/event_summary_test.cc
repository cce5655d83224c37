#include "analysis/profile/event_summary.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "analysis/profile/message_calls.h"
#include "analysis/profile/run_profile.h"
#include "reader/foreign_archive.h"
#include "test/support/files.h"

namespace refrain::analysis::event_summary_test {

TEST_CASE("Event summary: an archive of another tool - all of its threads' time") {
  test::TemporaryFolder folder;
  reader::write_foreign_archive(folder / "a");
  const EventSummary events = *summarize_events(folder / "a");
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

TEST_CASE("Event summary: an archive of another tool - its calls by partner and size") {
  test::TemporaryFolder folder;
  reader::write_foreign_archive(folder / "a");
  const EventSummary events = *summarize_events(folder / "a");
  const MessageTables messages = message_tables(events.messages);
  REQUIRE(messages.processes.size() == 2);
  std::vector<std::string> rows;
  for (const MessageTables::Row& row : messages.by_signature)
    rows.push_back(row.procedure + " " + summary::partners_text(row.to, row.from) + ": " +
                   std::to_string(row.calls) + " calls, " + std::to_string(row.size_least) +
                   " to " + std::to_string(row.size_greatest) + " bytes, " +
                   std::to_string(std::lround(row.time_ns)) + " ns");
  CHECK(rows ==
        std::vector<std::string>{"MPI_Waitall : 1 calls, 0 to 0 bytes, 100 ns",
                                 "MPI_Waitall : 1 calls, 333 to 333 bytes, 100 ns",
                                 "MPI_Irecv from rank-1: 2 calls, 0 to 0 bytes, 20 ns",
                                 "MPI_Isend to rank+1: 1 calls, 111 to 111 bytes, 20 ns",
                                 "MPI_Isend to rank+1: 1 calls, 222 to 222 bytes, 20 ns"});
  CHECK(messages.messages_outside == 2);
  CHECK(messages.outside_bytes == 10);
}

TEST_CASE("Event summary: no archive - one line") {
  test::TemporaryFolder folder;
  CHECK(!summarize_events(folder / "none"));
  reader::write_foreign_archive(folder / "a");
  std::ofstream(folder / "a" / "traces.otf2") << "no archive";
  const auto events = summarize_events(folder / "a");
  CHECK(!events);
  CHECK(events.error().find('\n') == std::string::npos);
}

}  // namespace refrain::analysis::event_summary_test
