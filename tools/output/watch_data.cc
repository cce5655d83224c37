#include <nlohmann/json.hpp>

#include "tools/output/class_times_json.h"
#include "tools/output/watch_screen.h"

namespace refrain::tools {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const watch::Shares& shares) {
  return {{"useful", shares.useful},
          {"openmp_waits", shares.openmp_waits},
          {"openmp_management", shares.management},
          {"mpi", shares.mpi},
          {"unknown", shares.unknown}};
}

Json json_of(const watch::LoopState& loop) {
  return {{"name", loop.name},
          {"level", loop.level},
          {"open", loop.open},
          {"number", loop.number},
          {"visits", loop.visits},
          {"iterations", loop.iterations},
          {"iterations_per_s", loop.per_second},
          {"latest_ns", loop.latest_ns},
          {"median_ns", loop.median_ns},
          {"slowest_ns", loop.slowest_ns},
          {"total_ns", loop.total_ns},
          {"running_ns", loop.running_ns}};
}

Json json_of(const watch::RankState& rank, bool recent) {
  Json out = {{"process", rank.process},
              {"rank", rank.rank ? Json(*rank.rank) : Json(nullptr)},
              {"host", rank.host},
              {"pid", rank.pid},
              {"alive", rank.alive},
              {"recording", rank.recording},
              {"time_ns", rank.time_ns},
              {"regions", rank.regions},
              {"mpi_calls", rank.mpi_calls},
              {"messages_sent", rank.messages_sent},
              {"messages_received", rank.messages_received},
              {"bytes_sent", rank.bytes_sent},
              {"bytes_received", rank.bytes_received},
              {"events_seen", rank.events_seen},
              {"records_written", rank.records_written},
              {"suspended", rank.suspended},
              {"events_lost", rank.events_lost()},
              {"lost", Json::object()},
              {"disk_bytes", rank.disk_bytes},
              {"shares", json_of(watch::shares_of(rank.run()))}};
  for (std::size_t cause = 0; cause < rank.lost.size(); ++cause)
    if (rank.lost[cause] != 0) out["lost"][spool::kLossNames[cause]] = rank.lost[cause];
  if (recent) out["recent_shares"] = json_of(watch::shares_of(rank.recent()));
  out["threads"] = Json::array();
  for (const watch::LocationState& location : rank.locations)
    out["threads"].push_back(
        {{"thread", location.number}, {"classes", class_times_json(location.run)}});
  out["loops"] = Json::array();
  for (const watch::LoopState& loop : rank.loops) out["loops"].push_back(json_of(loop));
  return out;
}

}  // namespace

std::string watch_json(const watch::RunState& run) {
  const analysis::RunEfficiencies& e = run.efficiencies;
  Json out = {{"format", "refrain watch"},
              {"version", 1},
              {"archive", run.archive},
              {"command", run.command},
              {"summary_only", run.summary_only},
              {"job_size", run.job_size == 0 ? Json(nullptr) : Json(run.job_size)},
              {"time_ns", run.time_ns},
              {"recent_ns", run.recent_ns},
              {"imbalance", watch::imbalance_of(run)},
              {"efficiencies",
               {{"parallel", e.parallel},
                {"load_balance", e.load_balance},
                {"communication", e.communication}}},
              {"ranks", Json::array()}};
  for (const watch::RankState& rank : run.ranks)
    out["ranks"].push_back(json_of(rank, run.recent_ns > 0));
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace refrain::tools
