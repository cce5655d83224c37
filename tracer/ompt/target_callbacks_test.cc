// Target constructs of a runtime that has only the callbacks of OpenMP 5.0. Those of later ones:
// test/end_to_end/offload_test.cc.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "spool/ompt_values.h"
#include "test/end_to_end/raw_spool.h"
#include "test/support/fake_runtime.h"
#include "test/support/files.h"
#include "tracer/life/lifecycle.h"

extern "C" ompt_start_tool_result_t* ompt_start_tool(unsigned, const char*);

namespace refrain::target_callbacks_test {
namespace {

constexpr int kDevice = 3, kHost = 4;
const auto kCode = reinterpret_cast<const void*>(0x4000);

void construct(ompt_target_t kind, ompt_scope_endpoint_t endpoint) {
  test::callback<ompt_callback_target_t>(ompt_callback_target)(kind, endpoint, kDevice,
                                                               nullptr, 1, kCode);
}

void data(ompt_target_data_op_t operation, std::size_t bytes) {
  const bool from = operation == ompt_target_data_transfer_from_device ||
                    operation == ompt_target_data_delete;
  test::callback<ompt_callback_target_data_op_t>(ompt_callback_target_data_op)(
      1, 2, operation, nullptr, from ? kDevice : kHost, nullptr, from ? kHost : kDevice,
      bytes, kCode);
}

struct Counts {
  int begins = 0, ends = 0;
  std::uint64_t bytes = 0;
};

}  // namespace

TEST_CASE("OMPT: a runtime of OpenMP 5.0 - target constructs, operations without length") {
  test::TemporaryFolder folder;
  setenv("REFRAIN_ARCHIVE", (folder / "archive").c_str(), 1);
  setenv("REFRAIN_LIMIT", "0", 1);
  setenv("REFRAIN_QUIET", "yes", 1);
  for (const ompt_callbacks_t emi :
       {ompt_callback_target_emi, ompt_callback_target_data_op_emi,
        ompt_callback_target_submit_emi})
    test::g_missing.at(emi) = true;
  ompt_start_tool_result_t* tool = test::start_tool(ompt_start_tool);
  REQUIRE(tool != nullptr);
  ompt_data_t thread{};
  test::thread_begins(thread);
  construct(ompt_target, ompt_scope_begin);
  data(ompt_target_data_alloc, 800);
  data(ompt_target_data_transfer_to_device_async, 800);
  test::callback<ompt_callback_target_submit_t>(ompt_callback_target_submit)(1, 3, 7);
  data(ompt_target_data_transfer_from_device, 400);
  construct(ompt_target, ompt_scope_end);
  construct(ompt_target_update_nowait, ompt_scope_beginend);

  const test::RawSpool spool = test::read_raw_spool(folder / "archive");
  REQUIRE(spool.locations.size() == 1);
  std::vector<spool::Record> open;
  Counts constructs, operations, submits;
  for (const spool::Record& record : spool.locations[0].log) {
    const int kind = record.kind;
    if (kind < spool::kTargetBegin || kind > spool::kTargetSubmitEnd) continue;
    Counts& counts = kind <= spool::kTargetEnd       ? constructs
                     : kind <= spool::kTargetDataEnd ? operations
                                                     : submits;
    if (kind % 2 == spool::kTargetBegin % 2) {
      ++counts.begins;
      CHECK(record.payload == (std::uint64_t{kDevice} << spool::kDeviceShift | 0x4000));
      open.push_back(record);
      continue;
    }
    ++counts.ends;
    REQUIRE_FALSE(open.empty());
    CHECK(open.back().kind == kind - 1);
    if (kind != spool::kTargetEnd) {
      CHECK(open.back().ticks == record.ticks);
      CHECK(record.a48() == kDevice);
    }
    if (kind == spool::kTargetSubmitEnd) CHECK(record.payload == 7);
    if (kind == spool::kTargetDataEnd) {
      CHECK(record.sub <= spool::ompt::kDataDisassociate);
      if (record.sub != spool::ompt::kDataAlloc) operations.bytes += record.payload;
    }
    open.pop_back();
  }
  CHECK(open.empty());
  CHECK(constructs.begins == 2);
  CHECK(constructs.ends == 2);
  CHECK(operations.begins == 3);
  CHECK(operations.ends == 3);
  CHECK(operations.bytes == 1200);
  CHECK(submits.begins == 1);
  CHECK(submits.ends == 1);
  // The runtime may start again.
  tool->finalize(&tool->tool_data);
  CHECK_FALSE(std::filesystem::exists(folder / "archive" / "traces.otf2"));
  runtime::end_session();
  CHECK(std::filesystem::exists(folder / "archive" / "traces.otf2"));
}

}  // namespace refrain::target_callbacks_test
