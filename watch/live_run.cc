#include "watch/live_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "addresses/resolver.h"
#include "analysis/profile/run_profile.h"
#include "base/folder.h"
#include "base/processor.h"
#include "regions/region_class.h"
#include "regions/region_table.h"
#include "spool/journal.h"
#include "spool/spool_folder.h"
#include "spool/spool_reader.h"
#include "summary/run_summary.h"
#include "watch/running_jobs.h"
#include "writer/loops/loop_numbers.h"

namespace refrain::watch {

using analysis::ClassTimes;
using analysis::TimeClass;

namespace {

void add(ClassTimes& sum, const ClassTimes& part) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
}

}  // namespace

ClassTimes RankState::run() const {
  ClassTimes sum{};
  for (const LocationState& location : locations) add(sum, location.run);
  return sum;
}

ClassTimes RankState::recent() const {
  ClassTimes sum{};
  for (const LocationState& location : locations) add(sum, location.recent);
  return sum;
}

std::uint64_t RankState::events_lost() const {
  return std::accumulate(lost.begin(), lost.end(), std::uint64_t{0});
}

Shares shares_of(const ClassTimes& times) {
  const double all = std::accumulate(times.begin(), times.end(), 0.0);
  Shares shares;
  if (all <= 0) return shares;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double share = times[i] / all;
    const auto cls = static_cast<TimeClass>(i);
    if (analysis::is_mpi(cls)) {
      shares.mpi += share;
      continue;
    }
    switch (cls) {
      case TimeClass::kUseful:
      case TimeClass::kFileIo:
        shares.useful += share;
        break;
      case TimeClass::kSynchronization:
      case TimeClass::kImbalance:
      case TimeClass::kLimitedParallelism:
      case TimeClass::kTargetWait:
      case TimeClass::kTargetData:
      case TimeClass::kTargetKernels:
        shares.openmp_waits += share;
        break;
      case TimeClass::kThreadManagement:
        shares.management += share;
        break;
      default:
        shares.unknown += share;
    }
  }
  return shares;
}

double imbalance_of(const RunState& run) {
  double sum = 0;
  double most = 0;
  for (const RankState& rank : run.ranks) {
    const ClassTimes times = run.recent_ns > 0 ? rank.recent() : rank.run();
    const double useful = times[static_cast<std::size_t>(TimeClass::kUseful)];
    sum += useful;
    most = std::max(most, useful);
  }
  return sum <= 0 ? 0 : most * static_cast<double>(run.ranks.size()) / sum;
}

}  // namespace refrain::watch

namespace refrain::watch {
namespace {

using regions::RegionClass;
using regions::RegionKey;
using spool::CallTree;
using summary::RunSummary;
namespace fs = std::filesystem;
using analysis::ClassTimes;

// The summary of a process while it runs: the call trees of its locations with the kinds of their regions, but
// without names of the source, which would take long to look up.
//
// Place in the flow: ARCHITECTURE.md, stage 6; writer/archive_summaries.h is the one at the end.
// Thread-safety: the files may be written meanwhile: sums are at most one event apart.
// Cost: linear in the nodes of all locations. Units: ticks.

// `now`: what is open lasts until then.
summary::RunSummary live_summary(std::uint32_t process, const spool::Journal& journal,
                                 const spool::SpoolFacts& facts, double ticks_per_second,
                                 const std::vector<spool::SpoolFile>& locations,
                                 std::uint64_t now);

// When the team that a location is in, or was in last, has ended at the latest: workers learn of the end when the
// next one begins. `primary` opens the teams.
std::uint64_t team_end(const CallTree& primary, std::uint64_t now) {
  std::uint64_t latest = 0;
  for (const CallTree::Node& node : primary.nodes) {
    if (node.key.kind() != spool::kParallelBegin) continue;
    if (node.open) return now;
    latest = std::max(latest, node.enter_ticks);
  }
  return latest == 0 ? now : latest;
}

class Summarizer {
 public:
  explicit Summarizer(const spool::Journal& journal) : journal_(journal) {}

  void add(const CallTree& tree, const spool::SpoolFacts& facts) {
    RunSummary::Location location;
    location.reference = facts.location;
    location.number = facts.location;
    location.primary = facts.role == spool::kRolePrimary;
    location.helper = facts.role == spool::kRoleHelper;
    location.outside.time_elsewhere = tree.nodes[0].time_elsewhere;
    location.outside.regions_elsewhere = tree.nodes[0].regions_elsewhere;
    std::vector<Place> places(tree.nodes.size());
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> edges;
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
      places[i] = place(tree.nodes[i], places[tree.nodes[i].parent].below());
      if (places[i].none) continue;
      location.sums.resize(result_.nodes.size());
      regions::add_sums(tree.nodes[i], location.sums[places[i].node]);
      if (places[i].inner == RunSummary::kNone) continue;
      CallTree::Node same = tree.nodes[i];
      same.bytes_sent = same.bytes_received = 0;
      same.messages_sent = same.messages_received = 0;
      same.time_elsewhere = same.regions_elsewhere = 0;
      regions::add_sums(same, location.sums[places[i].inner]);
      edges[{places[i].node, places[i].inner}] += same.visits;
    }
    for (const CallTree::Edge& edge : tree.edges) {
      const bool first = (edge.from & spool::kFirstChild) != 0;
      const Place& from = places[edge.from & ~spool::kFirstChild];
      if (places[edge.to].none) continue;
      edges[{first ? from.below() : from.node, places[edge.to].node}] += edge.count;
    }
    for (const auto& [ends, count] : edges)
      location.edges.push_back({ends.first, ends.second, count});
    result_.locations.push_back(std::move(location));
  }

  RunSummary take() {
    for (RunSummary::Location& location : result_.locations)
      location.sums.resize(result_.nodes.size());
    return std::move(result_);
  }

 private:
  struct Place {
    std::uint32_t node = RunSummary::kNone;
    std::uint32_t inner = RunSummary::kNone;  // of a `single`: the block inside
    bool none = false;                        // no region: `node` is that of its parent
    std::uint32_t below() const { return inner != RunSummary::kNone ? inner : node; }
  };

  Place place(const CallTree::Node& node, std::uint32_t parent) {
    if (node.key.what == spool::kOtherRegions)
      return {.node = add_node({parent, RunSummary::kNone, RunSummary::Kind::kOther,
                                RunSummary::kNone})};
    const regions::RegionKeys keys = regions::keys_of_node(node.key);
    const bool block = node.key.kind() == spool::kMutexAcquired;
    const RegionKey key = keys[block ? 1 : 0];
    if (key.cls == RegionClass::kNone) return {.node = parent, .none = true};
    const bool fork = node.key.kind() == spool::kParallelBegin;
    Place out;
    out.node = add_node({parent, region(key),
                         fork ? RunSummary::Kind::kFork : RunSummary::Kind::kRegion,
                         RunSummary::kNone});
    if (node.key.kind() == spool::kWorkBegin && keys[1].cls != RegionClass::kNone)
      out.inner = add_node(
          {out.node, region(keys[1]), RunSummary::Kind::kRegion, RunSummary::kNone});
    return out;
  }

  std::uint32_t add_node(const RunSummary::Node& node) {
    const auto next = static_cast<std::uint32_t>(result_.nodes.size());
    const auto [at, is_new] = nodes_.try_emplace(
        std::tuple{node.parent, node.region, static_cast<std::uint32_t>(node.kind)}, next);
    if (is_new) result_.nodes.push_back(node);
    return at->second;
  }

  std::uint32_t region(RegionKey key) {
    const auto next = static_cast<std::uint32_t>(result_.regions.size());
    const auto [at, is_new] = regions_.try_emplace(key.packed(), next);
    if (!is_new) return at->second;
    regions::RegionDef def;
    def.cls = key.cls;
    const char* const name = regions::class_name(key.cls);
    def.name = name == nullptr ? "region" : name;
    if (key.cls == RegionClass::kMpi) {
      const auto found =
          journal_.mpi.procedures.find(static_cast<std::uint16_t>(key.address));
      def.name = found == journal_.mpi.procedures.end() ? "MPI" : found->second;
    }
    result_.regions.push_back(
        {.reference = RunSummary::kNone,
         .name = def.name,
         .file = fmt::format("{:x}", key.address),
         .line = 0,
         .role = static_cast<std::uint32_t>(regions::role_of(def)),
         .paradigm = static_cast<std::uint32_t>(regions::paradigm_of(key.cls)),
         .canonical = {}});
    return next;
  }

  const spool::Journal& journal_;
  RunSummary result_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> nodes_;
  std::map<std::uint64_t, std::uint32_t> regions_;
};

summary::RunSummary live_summary(std::uint32_t process, const spool::Journal& journal,
                                 const spool::SpoolFacts& facts, double ticks_per_second,
                                 const std::vector<spool::SpoolFile>& locations,
                                 std::uint64_t now) {
  std::vector<CallTree> trees;
  trees.reserve(locations.size());
  std::uint64_t ended = now;
  for (const spool::SpoolFile& file : locations) {
    trees.push_back(file.call_tree());
    for (const CallTree::Node& node : trees.back().nodes)
      now = std::max(now, node.enter_ticks);
    if (file.facts().role == spool::kRolePrimary) ended = team_end(trees.back(), now);
  }
  Summarizer all(journal);
  for (std::size_t i = 0; i < trees.size(); ++i) {
    if (trees[i].nodes.empty()) continue;
    const bool primary = locations[i].facts().role == spool::kRolePrimary;
    trees[i].end_open(primary ? now : ended, now);
    all.add(trees[i], locations[i].facts());
  }
  summary::RunSummary summary = all.take();
  summary.process = process;
  if (journal.mpi.known) summary.rank = journal.mpi.rank;
  summary.host = journal.text(spool::kTextHost);
  summary.program = journal.text(spool::kTextProgram);
  summary.complete = facts.ended;
  summary.exited = facts.exited;
  summary.ticks_per_second = ticks_per_second;
  summary.begin = facts.start_ticks;
  summary.end = std::max(now, facts.start_ticks);
  return summary;
}

// A journal of more records is read again only where there are new loops.
constexpr std::uint64_t kSmallJournal = 40000;

std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// This moment by the clock of a process of this machine, and that clock's rate.
struct Moment {
  std::uint64_t ticks = 0;
  double per_second = 1e9;
};

Moment moment_of(const spool::SpoolFacts& facts) {
  const std::uint64_t ns = monotonic_ns();
  const std::uint64_t passed = ns - std::min(ns, facts.start_monotonic_ns);
  Moment now{facts.start_ticks + static_cast<std::uint64_t>(static_cast<double>(passed) *
                                                            facts.ticks_per_second / 1e9),
             facts.ticks_per_second};
  if (facts.clock_kind != spool::kClockCounter || passed < 10'000'000) return now;
  const std::uint64_t ticks = base::processor_counter();
  const double rate =
      static_cast<double>(ticks - facts.start_ticks) * 1e9 / static_cast<double>(passed);
  if (ticks > facts.start_ticks && rate > 0.9 * now.per_second &&
      rate < 1.1 * now.per_second)
    return {ticks, rate};
  return now;
}

std::uint64_t bytes_on_disk(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_blocks) * 512
                                        : 0;
}

double median(std::vector<std::uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

ClassTimes difference(const ClassTimes& now, const ClassTimes& before) {
  ClassTimes out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::max(0.0, now[i] - before[i]);
  return out;
}

}  // namespace

struct LiveRun::Process {
  std::uint32_t number = 0;
  fs::path folder;
  spool::SpoolFile file;
  spool::SpoolFile facts;     // next to it, if there is one
  spool::Journal journal;     // points into `file`
  std::uint64_t records = 0;  // of the journal, when it was read
  std::uint64_t fact_records = 0;
  std::size_t loops = 0;  // in the table, likewise
  std::vector<spool::SpoolFile> locations;
  std::set<std::string> names;  // of their files
  std::vector<std::uint64_t> disk;
  std::unique_ptr<addresses::Resolver> symbols;
  std::vector<writer::LoopNode> tree;
  writer::LoopLabels labels;
  // At the look before.
  std::map<std::uint32_t, ClassTimes> times;
  std::map<std::uint32_t, std::uint64_t> iterations;

  base::Result<> open() {
    file = spool::SpoolFile::open(journal_path());
    if (!file.usable() || file.facts().file_kind != spool::kJournalFile)
      return base::Failure{file.complaints().empty() ? journal_path() + ": is not a journal"
                                                     : file.complaints().front()};
    read_journal(spool::read_loop_table(file.loop_table()));
    return {};
  }

  std::string journal_path() const { return (folder / "journal.spool").string(); }
  std::string facts_path() const { return (folder / "facts.spool").string(); }

  // Names, that is; numbers of messages may be many.
  bool has_new_facts() const {
    std::error_code none;
    if (!facts.usable()) return fs::exists(facts_path(), none);
    const std::uint64_t now = facts.facts_now().log_records;
    return now != fact_records && now <= kSmallJournal;
  }

  void read_journal(const spool::LoopTable& table) {
    records = file.facts().log_records;
    loops = table.loops.size();
    facts = spool::SpoolFile::open(facts_path());
    fact_records = facts.facts().log_records;
    journal = spool::parse_journal(file.log(), facts.log());
    spool::add_loop_sums(table, journal);
    if (symbols == nullptr)
      symbols = std::make_unique<addresses::Resolver>(journal.modules);
    tree = writer::loop_tree(journal);
    const writer::JobLoops own = writer::job_loops(journal, tree, *symbols);
    labels = writer::loop_labels(tree, own, own);
  }

  // Process numbers are used again, but hardly while this process looks on.
  bool alive() const {
    const auto pid = static_cast<pid_t>(file.facts().pid);
    return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
  }

  // Reads the journal again, if there is something new in it that is wanted.
  void renew(const spool::LoopTable& table) {
    const std::uint64_t now = file.facts_now().log_records;
    const bool new_marks =
        now != records && (table.loops.size() != loops || now <= kSmallJournal);
    if (!new_marks && !has_new_facts()) return;
    spool::SpoolFile fresh = spool::SpoolFile::open(journal_path());
    if (!fresh.usable() || fresh.facts().pid != file.facts().pid) return;
    journal = {};
    file = std::move(fresh);
    read_journal(table);
  }

  void find_locations() {
    std::error_code gone;
    for (const std::string& name : base::names_in(folder.string(), gone)) {
      if (!name.starts_with("location-") || !name.ends_with(".spool") ||
          names.contains(name))
        continue;
      spool::SpoolFile location = spool::SpoolFile::open((folder / name).string());
      if (!location.usable() || location.facts().file_kind != spool::kLocationFile)
        continue;
      names.insert(name);
      locations.push_back(std::move(location));
    }
    spool::sort_locations(locations);
  }
};

LiveRun::LiveRun() = default;
LiveRun::~LiveRun() = default;

base::Result<> LiveRun::open(const std::string& archive) {
  archive_ = archive;
  processes_.clear();
  std::error_code error;
  if (!fs::is_directory(archive_, error))
    return base::Failure{"'" + archive + "' is not a directory"};
  if (!fs::is_directory(spool::spool_path(archive_), error)) {
    if (fs::exists(fs::path(archive_) / "traces.otf2", error))
      return base::Failure{"'" + archive + "' is complete: 'refrain info " + archive +
                           "' shows it"};
    return base::Failure{"'" + archive + "' has no spool of Refrain"};
  }
  auto done = find_processes();
  if (!processes_.empty()) return {};
  if (!done) return done;
  return base::Failure{"'" + archive + "' has no spool of Refrain"};
}

// Ranks may begin later than others. What was wrong with the first that cannot be read.
base::Result<> LiveRun::find_processes() {
  base::Result<> first;
  std::error_code error;
  for (const std::uint32_t number : spool::process_numbers(archive_, error)) {
    const bool known = std::any_of(processes_.begin(), processes_.end(),
                                   [&](const auto& p) { return p->number == number; });
    if (known) continue;
    auto process = std::make_unique<Process>();
    process->number = number;
    process->folder = spool::process_path(archive_, number);
    if (const auto done = process->open(); !done) {
      if (first) first = done;
      continue;
    }
    processes_.push_back(std::move(process));
  }
  std::sort(processes_.begin(), processes_.end(),
            [](const auto& a, const auto& b) { return a->number < b->number; });
  return first;
}

bool LiveRun::is_over() const { return spool::recording_process(archive_) == 0; }

RunState LiveRun::look() {
  std::error_code error;
  // The processes of a job begin in directories of their own (MPI_Init moves them).
  if (!fs::exists(archive_, error))
    for (const auto& process : processes_) {
      const std::string moved =
          archive_of_process(static_cast<long>(process->file.facts().pid));
      if (moved.empty() || moved == archive_) continue;
      processes_.clear();
      archive_ = moved;
      looked_ = false;
      break;
    }
  (void)find_processes();
  RunState run;
  run.archive = archive_;
  const auto now = std::chrono::steady_clock::now();
  if (looked_)
    run.recent_ns = std::chrono::duration<double, std::nano>(now - looked_at_).count();
  looked_ = true;
  looked_at_ = now;

  std::vector<summary::RunSummary> summaries;
  for (const auto& process : processes_) {
    const spool::LoopTable table = spool::read_loop_table(process->file.loop_table());
    process->renew(table);
    process->find_locations();
    summaries.push_back(look_at(*process, run));
  }
  run.efficiencies = analysis::total(analysis::merge_summaries(summaries)).efficiencies;
  return run;
}

namespace {

void add_counts(const summary::RunSummary& summary, RankState& rank) {
  for (const summary::RunSummary::Location& location : summary.locations) {
    rank.regions += location.outside.regions_elsewhere;
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
      const summary::RunSummary::Sums& sums = location.sums[i];
      const summary::RunSummary::Node& node = summary.nodes[i];
      rank.regions += sums.regions_elsewhere;
      rank.messages_sent += sums.messages_sent;
      rank.messages_received += sums.messages_received;
      rank.bytes_sent += sums.bytes_sent;
      rank.bytes_received += sums.bytes_received;
      if (node.kind == summary::RunSummary::Kind::kFork) continue;
      rank.regions += sums.visits;
      if (node.region == summary::RunSummary::kNone) continue;
      const summary::RunSummary::Region& region = summary.regions[node.region];
      if (analysis::is_mpi(analysis::class_of(region.role, region.paradigm, region.name)))
        rank.mpi_calls += sums.visits;
    }
  }
}

}  // namespace

summary::RunSummary LiveRun::look_at(Process& process, RunState& run) {
  const spool::SpoolFacts facts = process.file.facts_now();
  RankState rank;
  rank.process = process.number;
  if (process.journal.mpi.known) {
    rank.rank = process.journal.mpi.rank;
    run.job_size = std::max(run.job_size, process.journal.mpi.size);
  }
  rank.host = process.journal.text(spool::kTextHost);
  rank.pid = facts.pid;
  rank.alive = process.alive();
  rank.recording = rank.alive && !facts.ended;
  rank.killed = !rank.alive && !facts.ended && !facts.exited;

  Moment now = moment_of(facts);
  if (!rank.recording) {
    now.ticks = std::max(process.journal.last_ticks, facts.last_ticks);
    for (const spool::SpoolFile& location : process.locations)
      now.ticks = std::max(now.ticks, location.facts_now().last_ticks);
  }
  summary::RunSummary summary = live_summary(process.number, process.journal, facts,
                                             now.per_second, process.locations, now.ticks);
  const auto ns = [&](double ticks) { return ticks * 1e9 / now.per_second; };
  rank.time_ns = ns(static_cast<double>(summary.end - summary.begin));
  const analysis::RunProfile profile = analysis::merge_summaries({summary});
  const analysis::ProfileTotals totals = analysis::total(profile);
  for (std::size_t i = 0; i < profile.locations.size(); ++i) {
    LocationState& location = rank.locations.emplace_back();
    location.number = profile.locations[i].thread;
    location.run = totals.by_location[i];
    const auto before = process.times.find(location.number);
    if (run.recent_ns > 0 && before != process.times.end())
      location.recent = difference(location.run, before->second);
    process.times[location.number] = location.run;
  }
  add_counts(summary, rank);
  process.disk.resize(process.locations.size() + 1);
  const auto keep = [&](std::size_t i, const std::string& path) {
    if (const std::uint64_t bytes = bytes_on_disk(path); bytes != 0)
      process.disk[i] = bytes;
    rank.disk_bytes += process.disk[i];
  };
  keep(0, process.journal_path());
  const auto add_lost = [&](const spool::SpoolFacts& from) {
    for (std::size_t cause = 0; cause < spool::kLossCauses; ++cause)
      rank.lost[cause] += from.lost[cause];
  };
  add_lost(facts);
  for (std::size_t i = 0; i < process.locations.size(); ++i) {
    const spool::SpoolFacts location = process.locations[i].facts_now();
    rank.events_seen += location.events_seen;
    rank.records_written += location.log_records;
    rank.suspended = rank.suspended || location.suspended;
    add_lost(location);
    keep(i + 1, process.locations[i].path());
  }

  const spool::LoopTable table = spool::read_loop_table(process.file.loop_table());
  std::map<std::uint32_t, const spool::LoopTable::Loop*> by_number;
  for (const spool::LoopTable::Loop& loop : table.loops) by_number[loop.loop] = &loop;
  std::set<std::uint32_t> open;
  for (const std::size_t index : table.open) open.insert(table.loops[index].loop);
  for (const writer::LoopNode& node : process.tree) {
    const auto found = by_number.find(node.loop);
    if (found == by_number.end()) continue;
    const spool::LoopTable::Loop& loop = *found->second;
    const auto label = process.labels.find(node.loop);
    LoopState state;
    if (label != process.labels.end()) state.name = label->second.region_name();
    state.level = node.level;
    state.open = open.contains(node.loop);
    state.number = loop.number;
    state.visits = loop.visits;
    state.iterations = loop.iterations;
    state.total_ns = ns(static_cast<double>(loop.total_ticks));
    state.slowest_ns = ns(static_cast<double>(loop.greatest_ticks));
    state.median_ns = ns(median(loop.recent_ticks));
    double recent = 0;
    for (const std::uint64_t ticks : loop.recent_ticks)
      recent += ns(static_cast<double>(ticks));
    if (!loop.recent_ticks.empty()) {
      state.latest_ns = ns(static_cast<double>(loop.recent_ticks.back()));
      if (recent > 0)
        state.per_second = static_cast<double>(loop.recent_ticks.size()) * 1e9 / recent;
    }
    const auto before = process.iterations.find(node.loop);
    if (run.recent_ns > 0 && before != process.iterations.end())
      state.per_second =
          static_cast<double>(loop.iterations - std::min(loop.iterations, before->second)) *
          1e9 / run.recent_ns;
    process.iterations[node.loop] = loop.iterations;
    if (state.open && loop.begin_ticks != 0 && rank.recording)
      state.running_ns =
          ns(static_cast<double>(now.ticks - std::min(now.ticks, loop.begin_ticks)));
    rank.loops.push_back(std::move(state));
  }

  if (run.command.empty()) {
    run.command = process.journal.text(spool::kTextCommand);
    while (!run.command.empty() && run.command.back() == '\0') run.command.pop_back();
    std::replace(run.command.begin(), run.command.end(), '\0', ' ');
  }
  run.summary_only = run.summary_only || process.journal.summary_only;
  run.time_ns = std::max(run.time_ns, rank.time_ns);
  run.ranks.push_back(std::move(rank));
  return summary;
}

}  // namespace refrain::watch
