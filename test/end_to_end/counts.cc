#include "test/end_to_end/counts.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "test/support/files.h"

namespace refrain::test {

Counts::Counts(const Job& job) {
  TemporaryFolder folder;
  Job counted = job;
  counted.environment["OMP_TOOL_LIBRARIES"] = data_file("test/tools/counting_tool.so");
  counted.environment["COUNTING_TOOL_OUTPUT"] = folder / "counts.json";
  counted.environment["LD_PRELOAD"] = libomp();
  const Result result = run_untraced(counted);
  INFO(job.program << " under the counting tool: " << result.errors);
  REQUIRE(result.exit_status == 0);
  const auto json = nlohmann::json::parse(read_file(folder / "counts.json"));
  counts_ = json.at("counts").get<std::map<std::string, std::uint64_t>>();
  totals_ = json.at("totals").get<std::map<std::string, std::uint64_t>>();
  output_ = result.output;
}

std::uint64_t Counts::of(const std::string& name) const {
  const auto found = counts_.find(name);
  return found == counts_.end() ? 0 : found->second;
}

std::uint64_t Counts::sum(const std::string& begin, const std::string& end) const {
  std::uint64_t result = 0;
  for (const auto& [name, count] : counts_)
    if (name.rfind(begin, 0) == 0 && name.size() >= end.size() &&
        name.compare(name.size() - end.size(), end.size(), end) == 0)
      result += count;
  return result;
}

std::uint64_t Counts::registered() const {
  std::uint64_t result = 0;
  for (const char* type :
       {"thread_begin", "thread_end", "parallel_begin", "parallel_end", "implicit_task",
        "work", "masked", "sync_region", "sync_region_wait", "reduction", "task_create",
        "task_schedule", "mutex_acquire", "mutex_acquired", "mutex_released", "nest_lock",
        "flush", "cancel"})
    result += totals_.at(type);
  return result;
}

}  // namespace refrain::test
