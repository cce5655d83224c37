// The callbacks, called as a runtime calls them, and what is in the spool then.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "test/end_to_end/raw_spool.h"
#include "test/support/fake_runtime.h"
#include "test/support/files.h"
#include "tracer/life/lifecycle.h"

extern "C" ompt_start_tool_result_t* ompt_start_tool(unsigned, const char*);

namespace refrain::ompt_source_test {
namespace {

// A parallel region of this thread, and what lies in it.
template <typename Body>
void region(ompt_data_t& parallel, std::uintptr_t where, const Body& body) {
  test::parallel_region(parallel, 1, reinterpret_cast<const void*>(where),
                        [&](ompt_data_t&) { body(); });
}

}  // namespace

TEST_CASE(
    "OMPT: a nested team's memory is another team's when it ends - ends are its own") {
  test::TemporaryFolder folder;
  setenv("REFRAIN_ARCHIVE", (folder / "archive").c_str(), 1);
  setenv("REFRAIN_LIMIT", "0", 1);
  setenv("REFRAIN_QUIET", "yes", 1);
  ompt_start_tool_result_t* tool = test::start_tool(ompt_start_tool);
  REQUIRE(tool != nullptr);
  ompt_data_t thread{};
  test::thread_begins(thread);
  ompt_data_t outer{}, first{}, second{};
  region(outer, 0x1000, [&] {
    region(first, 0x2000, [] {});
    region(second, 0x3000, [&] { second = first; });
    region(second, 0x4000, [&] { second = outer; });
  });

  const test::RawSpool spool = test::read_raw_spool(folder / "archive");
  REQUIRE(spool.locations.size() == 1);
  std::vector<spool::Record> open;
  int ends = 0;
  for (const spool::Record& record : spool.locations[0].log) {
    if (record.kind == spool::kParallelBegin) open.push_back(record);
    if (record.kind != spool::kParallelEnd) continue;
    ++ends;
    REQUIRE_FALSE(open.empty());
    CHECK(record.a48() == open.back().a48());
    CHECK(record.sub == (open.back().sub & spool::kTeamNested));
    open.pop_back();
  }
  CHECK(ends == 4);
  CHECK(open.empty());
  // The runtime may start again.
  tool->finalize(&tool->tool_data);
  CHECK_FALSE(std::filesystem::exists(folder / "archive" / "traces.otf2"));
  runtime::end_session();
  CHECK(std::filesystem::exists(folder / "archive" / "traces.otf2"));
}

}  // namespace refrain::ompt_source_test
