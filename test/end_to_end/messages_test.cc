// `refrain profile --messages`: where MPI's time goes by message size and partner, against what the
// programs are known to send, against the archive's own events, and against the graph of the job.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "summary/merged_flow.h"
#include "test/end_to_end/mpi_run.h"
#include "test/end_to_end/run_matrix.h"
#include "test/end_to_end/traced.h"
#include "test/support/files.h"
#include "test/support/test_length.h"

namespace refrain::test::messages_test {
namespace {

using nlohmann::json;

json messages_of(const std::filesystem::path& archive,
                 const std::string& more = "--quiet") {
  const Result result = run_refrain({"profile", archive, "--messages", "--json", more});
  INFO(result.errors);
  REQUIRE(result.exit_status == 0);
  CHECK(result.errors.empty());
  return json::parse(result.output);
}

// Procedure, partner, and the power of two that the size is not below.
using Key = std::tuple<std::string, std::string, std::uint64_t>;
struct Sums {
  std::uint64_t calls = 0, sent = 0, received = 0;
  bool operator==(const Sums&) const = default;
};
using Table = std::map<Key, Sums>;

std::uint64_t power_of(std::uint64_t size) {
  while ((size & (size - 1)) != 0) size &= size - 1;
  return size;
}

void add(Table& table, const Key& key, std::uint64_t calls, std::uint64_t sent,
         std::uint64_t received) {
  Sums& sums = table[key];
  sums.calls += calls;
  sums.sent += sent;
  sums.received += received;
}

Key key_of(const json& row, bool partner, bool size) {
  return {row["procedure"], partner ? row["partner"].get<std::string>() : "",
          size ? power_of(row["size_minimum"].get<std::uint64_t>()) : 0};
}

Table table_of(const json& rows, bool partner, bool size) {
  Table table;
  for (const json& row : rows)
    add(table, key_of(row, partner, size), row["calls"], row["bytes_sent"],
        row["bytes_received"]);
  // One row for each.
  CHECK(table.size() == rows.size());
  return table;
}

Table reduced(const Table& table, bool partner, bool size) {
  Table out;
  for (const auto& [key, sums] : table) {
    const auto& [procedure, who, power] = key;
    add(out, {procedure, partner ? who : "", size ? power : 0}, sums.calls, sums.sent,
        sums.received);
  }
  return out;
}

std::string text(const Table& table) {
  std::string out;
  for (const auto& [key, sums] : table)
    out += std::get<0>(key) + " '" + std::get<1>(key) + "' " +
           std::to_string(std::get<2>(key)) + ": " + std::to_string(sums.calls) + " " +
           std::to_string(sums.sent) + " " + std::to_string(sums.received) + "\n";
  return out;
}

// What test/programs/mpi/halo.c sends with rows of 16 numbers: the length of a message follows from
// its number (messages.h).
Table halo_calls(std::uint32_t ranks, std::uint64_t iterations) {
  Table table;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const bool above = rank > 0, below = rank + 1 < ranks;
    for (std::uint64_t k = 0; k < iterations; ++k) {
      const std::uint64_t bytes = 8 * (1 + 16 + k % 61);
      const auto send = [&](bool there, const char* to) {
        add(table, {"MPI_Isend", there ? to : "to nobody", there ? power_of(bytes) : 0}, 1,
            there ? bytes : 0, 0);
      };
      add(table, {"MPI_Irecv", above ? "from rank-1" : "from nobody", 0}, 1, 0, 0);
      add(table, {"MPI_Irecv", below ? "from rank+1" : "from nobody", 0}, 1, 0, 0);
      send(above, "to rank-1");
      send(below, "to rank+1");
      const std::uint64_t got = bytes * ((above ? 1U : 0U) + (below ? 1U : 0U));
      add(table, {"MPI_Waitall", "", power_of(got)}, 1, 0, got);
      add(table, {"MPI_Allreduce", "", power_of(8 * ranks)}, 1, 8 * ranks, 8 * ranks);
    }
    const std::uint64_t result = rank == 0 ? 8 * ranks : 0;
    add(table, {"MPI_Reduce", "root 0", power_of(std::max<std::uint64_t>(8, result))}, 1, 8,
        result);
    add(table, {"MPI_Init", "", 0}, 1, 0, 0);
    add(table, {"MPI_Finalize", "", 0}, 1, 0, 0);
  }
  return table;
}

// By rank; no event says that a partner was MPI_PROC_NULL.
struct Part {
  Sums sums;
  double ticks = 0;
};
using Parts = std::map<std::pair<Key, std::uint32_t>, Part>;

Parts parts_of(const json& messages) {
  Parts parts;
  for (const json& row : messages["by_signature"]) {
    Key key = key_of(row, true, true);
    if (std::get<1>(key).find("nobody") != std::string::npos) std::get<1>(key) = "";
    for (const json& each : row["parts"]) {
      Part& part = parts[{key, each["rank"].get<std::uint32_t>()}];
      part.sums.calls += each["calls"].get<std::uint64_t>();
      part.sums.sent += each["bytes_sent"].get<std::uint64_t>();
      part.sums.received += each["bytes_received"].get<std::uint64_t>();
      part.ticks += each["time_ticks"].get<double>();
    }
  }
  return parts;
}

void check_same(const Parts& a, const Parts& b, bool times) {
  REQUIRE(!a.empty());
  CHECK(a.size() == b.size());
  for (const auto& [key, part] : a) {
    INFO(std::get<0>(key.first) << " " << std::get<1>(key.first) << " "
                                << std::get<2>(key.first) << " of rank " << key.second);
    const auto found = b.find(key);
    REQUIRE(found != b.end());
    CHECK(part.sums == found->second.sums);
    if (!times) continue;
    // Ticks by which an archive moves events of one time, and the rates of ranks' clocks.
    const double room =
        20 * static_cast<double>(part.sums.calls) + 1e-4 * std::abs(part.ticks);
    CHECK(std::abs(part.ticks - found->second.ticks) <= room);
  }
}

}  // namespace

TEST_CASE(
    "Messages: most events skipped - the calls and bytes that the program is known for") {
  const std::uint32_t ranks = GENERATE(2, 4);
  CAPTURE(ranks);
  TemporaryFolder folder;
  const MpiJob job{.program = "halo_gcc",
                   .arguments = {"100", "64", "16"},
                   .ranks = static_cast<int>(ranks),
                   .settings = {{"LIMIT", "10"}, {"MIN_GAP", "0"}}};
  const Traced traced = recorded(job, MpiWay::kOutside, folder / "a");
  CHECK(property_number(traced.trace, "EVENTS_WRITTEN") <
        property_number(traced.trace, "EVENTS_SEEN") / 2);
  const json messages = messages_of(folder / "a");
  CHECK(messages["source"] == "summary");
  CHECK(messages["calls_elsewhere"] == 0);
  const Table known = halo_calls(ranks, 100);
  CHECK(text(table_of(messages["by_signature"], true, true)) == text(known));
  CHECK(text(table_of(messages["by_size"], false, true)) ==
        text(reduced(known, false, true)));
  CHECK(text(table_of(messages["by_partner"], true, false)) ==
        text(reduced(known, true, false)));
  // Both tables have all of MPI's time, that of the procedures.
  const Result whole = run_refrain({"profile", folder / "a", "--json"});
  REQUIRE(whole.exit_status == 0);
  const json profile = json::parse(whole.output);
  CHECK(profile["mpi_by_size"] == messages["by_size"]);
  CHECK(profile["mpi_by_partner"] == messages["by_partner"]);
  std::map<std::string, double> times, by_size, by_partner;
  for (const json& row : profile["mpi"]) times[row["name"]] = row["time_ns"];
  for (const json& row : messages["by_size"])
    by_size[row["procedure"]] += row["time_ns"].get<double>();
  for (const json& row : messages["by_partner"])
    by_partner[row["procedure"]] += row["time_ns"].get<double>();
  REQUIRE(times.size() == 7);
  for (const auto& [name, ns] : times) {
    INFO(name);
    CHECK(by_size[name] == Approx(ns));
    CHECK(by_partner[name] == Approx(ns));
  }
  const Result text = run_refrain({"profile", folder / "a", "--messages"});
  CHECK(text.exit_status == 0);
  CHECK(text.output.find("MPI by message size") != std::string::npos);
  CHECK(text.output.find("MPI_Isend to rank+1") != std::string::npos);
  const Result csv = run_refrain({"profile", folder / "a", "--messages", "--csv"});
  REQUIRE(csv.exit_status == 0);
  std::size_t rows = 1;
  for (const json& row : messages["by_signature"]) rows += row["parts"].size();
  CHECK(static_cast<std::size_t>(std::count(csv.output.begin(), csv.output.end(), '\n')) ==
        rows);
}

TEST_CASE("Messages: the graph of a run, of a reduced one, and the events say the same") {
  const MatrixRun run = GENERATE(from_range(mpi_matrix()));
  if (polls_nondeterministic(run)) return;
  CAPTURE(run.program, run.number);
  TemporaryFolder folder;
  recorded(full_mpi(run), MpiWay::kOutside, folder / "full");
  const json graph = messages_of(folder / "full");
  const json events = messages_of(folder / "full", "--events");
  CHECK(graph["source"] == "summary");
  CHECK(events["source"] == "events");
  CHECK(events["messages_outside"] == 0);
  check_same(parts_of(graph), parts_of(events), true);
  recorded(reduced_mpi(run), MpiWay::kInside, folder / "reduced");
  check_same(parts_of(graph), parts_of(messages_of(folder / "reduced")), false);

  // The graph of the job is those of its ranks together.
  const auto merged = *summary::read_merged_flow(folder / "reduced");
  REQUIRE(merged.has_value());
  Table expected;
  std::map<std::string, double> times;
  const std::vector<summary::FlowLink> links = summary::links(*merged);
  for (const summary::FlowLink& link : links) {
    const summary::FlowGraph::Node& node = merged->nodes[link.sums.to];
    if (node.kind != summary::FlowGraph::Kind::kCall) continue;
    add(expected,
        {node.name, summary::partners_text(node.to, node.from), power_of(node.size_least)},
        link.sums.count, link.sums.bytes_sent, link.sums.bytes_received);
    times[node.name] += static_cast<double>(link.sums.time);
  }
  const json reduced = messages_of(folder / "reduced");
  CHECK(text(table_of(reduced["by_signature"], true, true)) == text(expected));
  for (const json& row : reduced["by_partner"])
    times[row["procedure"]] -= row["time_ns"].get<double>();
  // Each rank rounds each edge to nanoseconds.
  for (const auto& [name, ns] : times) {
    INFO(name);
    CHECK(std::abs(ns) <= 0.5 * run.number * static_cast<double>(links.size()) + 1);
  }
}

TEST_CASE("Messages: requests and one-sided access - partners of events as of the graph") {
  const char* program = GENERATE("onesided_gcc", "waits_gcc");
  TemporaryFolder folder;
  const MpiJob job{.program = program, .ranks = 4, .settings = {{"LIMIT", "0"}}};
  recorded(job, MpiWay::kOutside, folder / "a");
  check_same(parts_of(messages_of(folder / "a")),
             parts_of(messages_of(folder / "a", "--events")), true);
}

TEST_CASE(
    "Messages: a graph without sizes or none - counted in the events, if there are any") {
  TemporaryFolder folder;
  MpiJob job{.program = "halo_gcc", .arguments = {"20"}, .settings = {{"LIMIT", "0"}}};
  recorded(job, MpiWay::kOutside, folder / "whole");
  const Parts whole = parts_of(messages_of(folder / "whole"));
  for (const char* graph : {"none", "partner"}) {
    job.settings["GRAPH"] = graph;
    recorded(job, MpiWay::kOutside, folder / graph);
    const json messages = messages_of(folder / graph);
    CHECK(messages["source"] == "events");
    check_same(whole, parts_of(messages), false);
    // The profile of the whole run does not read them for this.
    const Result profile = run_refrain({"profile", folder / graph, "--all"});
    CHECK(profile.output.find("summary of all") != std::string::npos);
    CHECK(profile.output.find("not in the summary") != std::string::npos);
    CHECK((profile.output.find("MPI_Isend to rank+1") != std::string::npos) ==
          (std::string(graph) == "partner"));
  }
  // As of other tools: no summary at all.
  std::filesystem::remove_all(folder / "none" / "summary");
  check_same(whole, parts_of(messages_of(folder / "none")), false);
  const Result events = run_refrain({"profile", folder / "none", "--all"});
  CHECK(events.output.find("MPI by partner") != std::string::npos);

  job.settings = {{"GRAPH", "partner"}, {"SUMMARY_ONLY", "yes"}};
  REQUIRE(recorded_result(job, MpiWay::kOutside, folder / "only").exit_status == 0);
  const json only = messages_of(folder / "only");
  CHECK(only["by_size"].is_null());
  CHECK(only["by_partner"].size() > 5);
  const Result text = run_refrain({"profile", folder / "only", "--messages"});
  CHECK(text.output.find("there are no events") != std::string::npos);
}

TEST_CASE("Messages: what cannot be read or asked for - one line, exit status 2") {
  TemporaryFolder folder;
  const MpiJob job{.program = "halo_gcc", .arguments = {"5"}};
  recorded(job, MpiWay::kOutside, folder / "a");
  check_refused({"profile", folder / "none", "--messages"}, "does not exist");
  // One summary is damaged: what the others have, and a line.
  const auto without_one = [&](const std::vector<std::string>& words,
                               const std::string& why) {
    const Result result = run_refrain(words);
    INFO(result.errors);
    CHECK(result.exit_status == 0);
    CHECK(result.output.find("MPI_") != std::string::npos);
    CHECK(result.errors.find(why) != std::string::npos);
    CHECK(std::count(result.errors.begin(), result.errors.end(), '\n') == 1);
  };
  const std::filesystem::path file = folder / "a" / "summary" / "process-1.json";
  const std::string good = read_file(file);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
    std::ofstream(file) << text;
  };
  with("\"nodes_elsewhere\":0", "\"nodes_elsewhere\":-1");
  without_one({"profile", folder / "a", "--messages"}, "process-1.json");
  with("\"components\":[", "\"components\":[7,");
  without_one({"profile", folder / "a", "--messages"}, "'components' is not a text");
  std::ofstream(file) << good.substr(0, good.size() / 2);
  without_one({"profile", folder / "a", "--messages", "--json"}, "is not a summary");
}

}  // namespace refrain::test::messages_test
