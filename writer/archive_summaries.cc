#include "writer/archive_summaries.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/thread_use.h"
#include "code_profile/samples/write_samples.h"
#include "regions/region_class.h"
#include "regions/region_table.h"
#include "spool/iteration_stream.h"
#include "spool/spool_folder.h"
#include "summary/run_summary.h"
#include "writer/allocation_paths.h"
#include "writer/archive/definitions.h"
#include "writer/budget/budget_trim.h"
#include "writer/model/process_flow.h"

namespace refrain::writer {
namespace {

using spool::CallTree;
using summary::RunSummary;

class Summarizer {
 public:
  Summarizer(const ProcessModel& model, const regions::RegionTable& table)
      : model_(model), table_(table) {}

  RunSummary take(const std::vector<LocationOutcome>& outcomes,
                  std::uint64_t first_location) {
    facts();
    if (!result_.complete) find_last_visits();
    for (std::size_t i = 0; i < model_.locations(); ++i) {
      const spool::SpoolFile& file = model_.spool().locations[i];
      CallTree tree = file.call_tree();
      wanted_ = wanted_ || file.wants_call_tree();
      if (tree.nodes.empty()) {
        result_.locations_without.push_back(location_reference(first_location, i));
        continue;
      }
      const spool::IterationRows rows =
          file.iteration_rows(tree, outcomes[i].team_end, model_.end_ticks());
      RunSummary::Location location;
      const std::uint32_t open = result_.complete ? 0 : innermost_open(tree);
      tree.end_open(outcomes[i].team_end, model_.end_ticks());
      location.reference = location_reference(first_location, i);
      location.number = static_cast<std::uint32_t>(i);
      location.primary = i == model_.primary();
      location.helper = file.facts().role == spool::kRoleHelper;
      location.temporary = file.facts().thread_function != 0;
      location.use = file.facts().use;
      add(tree, location, open);
      location.flow = flow_graph_of(file.flow_graph(), model_, table_);
      add(rows, location.iterations);
      result_.locations.push_back(std::move(location));
    }
    if (!uses_) drop_use();
    if (!wanted_) result_.locations_without.clear();
    for (RunSummary::Location& location : result_.locations)
      location.sums.resize(result_.nodes.size());
    return std::move(result_);
  }

 private:
  // What a node of a location's tree is in that of the process. Of a region that opens another
  // one with it, `inner` is that.
  struct Place {
    std::uint32_t node = RunSummary::kNone;
    std::uint32_t inner = RunSummary::kNone;
    bool filtered = false;  // `node` is that of its parent
    std::uint32_t below() const { return inner != RunSummary::kNone ? inner : node; }
  };

  void facts() {
    result_.process = model_.context().process;
    if (model_.journal().mpi.known)
      result_.rank = static_cast<std::uint32_t>(model_.rank());
    result_.host = model_.journal().text(spool::kTextHost);
    result_.program = model_.journal().text(spool::kTextProgram);
    result_.complete = model_.spool().journal.facts().ended;
    result_.exited = model_.spool().journal.facts().exited;
    result_.peak_memory_bytes = model_.spool().journal.facts().peak_memory_bytes;
    result_.memory_bytes = model_.spool().journal.facts().memory_bytes;
    add_memory();
    result_.ticks_per_second = model_.ticks_per_second();
    result_.begin = model_.start_ticks();
    result_.end = model_.end_ticks();
    add_files();
    result_.allocations = allocations_of(model_);
    for (const spool::Metric& metric : model_.journal().user.metrics)
      result_.counters.push_back({metric.name, metric.unit});
    for (const base::RowUseNumber& use : base::kRowUse)
      result_.counters.push_back({use.name, use.unit});
  }

  // The kernel does not count, or nobody has looked.
  void drop_use() {
    const std::size_t metrics = result_.counters.size() - base::kRowUse.size();
    result_.counters.resize(metrics);
    for (RunSummary::Location& location : result_.locations)
      for (summary::IterationRows::Row& row : location.iterations.rows)
        row.counters.resize(metrics);
  }

  // Each n-th, and the last one.
  void add_memory() {
    const std::vector<base::MemorySample>& all = model_.journal().memory;
    const std::size_t step = all.size() / RunSummary::kMaxMemorySamples + 1;
    for (std::size_t i = 0; i < all.size(); i += step) result_.memory.push_back(all[i]);
    if (all.size() % step != 1 && step != 1) result_.memory.push_back(all.back());
  }

  void add_files() {
    const double ns = 1e9 / model_.ticks_per_second();
    for (const auto& [slot, file] : model_.journal().files.files) {
      base::UsedFile& out = result_.files.emplace_back(file);
      for (const base::FileUseNumber& number : base::kFileUseNumbers)
        if (number.kind != base::FileUseNumber::Kind::kCount)
          out.use.*number.value =
              static_cast<std::uint64_t>(static_cast<double>(out.use.*number.value) * ns);
    }
    std::ranges::stable_sort(result_.files, std::greater(),
                             [](const base::UsedFile& file) { return file.use.ns(); });
  }

  // 0: none.
  static std::uint32_t innermost_open(const CallTree& tree) {
    std::uint32_t innermost = 0;
    std::vector<std::uint32_t> depth(tree.nodes.size());
    for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
      depth[i] = depth[tree.nodes[i].parent] + 1;
      if (tree.nodes[i].open && depth[i] > depth[innermost]) innermost = i;
    }
    return innermost;
  }

  // `open`: where it was when the process was killed; 0: in no region, or it was not.
  void add(const CallTree& tree, RunSummary::Location& location, std::uint32_t open) {
    std::vector<Place> places(tree.nodes.size());
    std::vector<std::uint64_t> team(
        tree.nodes.size());  // address of the innermost one's region
    location.outside.time_elsewhere = tree.nodes[0].time_elsewhere;
    location.outside.regions_elsewhere = tree.nodes[0].regions_elsewhere;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> edges;
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
      const CallTree::Node& node = tree.nodes[i];
      const bool begins_team = node.key.kind() == spool::kImplicitTaskBegin;
      team[i] = begins_team ? node.key.payload : team[node.parent];
      places[i] = place(node, places[node.parent].below(), team[i]);
      if (i == open) {
        location.killed_in = places[i].below();
        location.killed_since = node.enter_ticks;
      }
      if (places[i].filtered) continue;
      location.sums.resize(result_.nodes.size());
      regions::add_sums(node, location.sums[places[i].node]);
      if (places[i].inner == RunSummary::kNone) continue;
      // Both start and end together; what it has moved was counted above.
      RunSummary::Sums& inner = location.sums[places[i].inner];
      CallTree::Node same;
      same.visits = node.visits;
      same.time = node.time;
      same.least = node.least;
      same.greatest = node.greatest;
      regions::add_sums(same, inner);
      edges[{places[i].node, places[i].inner}] += node.visits;
    }
    for (const CallTree::Edge& edge : tree.edges) {
      const Place& to = places[edge.to];
      const bool first = (edge.from & spool::kFirstChild) != 0;
      const std::uint32_t from_node = edge.from & ~spool::kFirstChild;
      const Place& from = places[from_node];
      if (to.filtered || (from.filtered && from_node != spool::kRootNode)) continue;
      edges[{first ? from.below() : from.node, to.node}] += edge.count;
    }
    for (const auto& [ends, count] : edges)
      location.edges.push_back({ends.first, ends.second, count});
  }

  void add(const spool::IterationRows& from, summary::IterationRows& to) {
    if (from.rows.empty() || from.damaged) return;
    std::vector<std::uint64_t> before(from.counters);
    for (const spool::IterationRows::Row& row : from.rows) {
      summary::IterationRows::Row& out = to.rows.emplace_back();
      out.begin = row.begin;
      out.loop = loop_index(row.loop);
      out.first = row.first;
      out.count = row.count;
      out.around = loop_index(row.around);
      out.around_count = row.begins_around ? 1 : 0;
      out.times = row.times;
      for (std::size_t i = 0; i + base::kRowUse.size() < result_.counters.size(); ++i)
        out.counters.push_back(
            i < from.counters ? row.counters[i] - std::exchange(before[i], row.counters[i])
                              : 0);
      for (const std::uint64_t use : row.use) {
        out.counters.push_back(use);
        uses_ = uses_ || use != 0;
      }
    }
    to.end = from.rows.back().end;
    cut_off(from.rows.back(), to.rows.back());
  }

  // Of each loop's last visit, how many of its iterations are complete, as LoopSummary counts them.
  void find_last_visits() {
    const spool::Journal& journal = model_.journal();
    if (journal.visits.empty())  // there are no marks
      for (const spool::SkippedSummary& sums : journal.summaries)
        if (sums.visits == 1) complete_[sums.loop] = sums.iterations;
    spool::IterationStream stream(journal, model_.context().iteration_ends);
    for (const auto* event = stream.peek(); event != nullptr; event = stream.peek()) {
      const bool complete = event->complete && event->end_ticks != spool::kNoEnd;
      if (!event->left)
        complete_[journal.visits[event->visit].loop] = event->number + (complete ? 1 : 0);
      stream.pop();
    }
  }

  // The iteration that a kill has cut off is none: the row has its time, if there are others in it.
  void cut_off(const spool::IterationRows::Row& from, summary::IterationRows::Row& row) {
    constexpr std::uint64_t kMost = 2;  // the loop's marks may be one behind
    const auto loop = complete_.find(static_cast<std::uint32_t>(from.loop));
    if (loop == complete_.end() || row.count == 0) return;
    const std::uint64_t end = row.first + row.count;
    if (end <= loop->second || end - loop->second > kMost) return;
    row.count -= std::min(row.count, end - loop->second);
    if (row.count != 0) return;
    row.loop = summary::IterationRows::kNoLoop;
    row.first = 0;
  }

  std::uint32_t loop_index(std::uint64_t loop) {
    if (loop == spool::kNoLoopRow) return summary::IterationRows::kNoLoop;
    const auto label = model_.loop_labels().find(static_cast<std::uint32_t>(loop));
    if (loop == spool::kMixedRow || label == model_.loop_labels().end())
      return summary::IterationRows::kSeveral;
    const auto next = static_cast<std::uint32_t>(result_.loops.size());
    const auto [at, is_new] = loop_ids_.try_emplace(label->second.number, next);
    if (is_new)
      result_.loops.push_back(
          {label->second.number, label->second.region_name(), label->second.level != 0});
    return at->second;
  }

  Place place(const CallTree::Node& node, std::uint32_t parent, std::uint64_t team) {
    if (node.key.what == spool::kOtherRegions)
      return {add_node({parent, RunSummary::kNone, RunSummary::Kind::kOther}),
              RunSummary::kNone};
    const regions::RegionKeys keys = regions::keys_of_node(node.key);
    const bool block = node.key.kind() == spool::kMutexAcquired;
    const bool call = node.key.kind() == spool::kMpiEnter;
    std::uint32_t region = find_wanted(keys[block ? 1 : 0], team);
    // The thread that executes a single has two regions with it.
    const bool single =
        node.key.kind() == spool::kWorkBegin && keys[1].cls != regions::RegionClass::kNone;
    std::uint32_t inner = single ? find_wanted(keys[1], team) : regions::kNoRegion;
    if (region == regions::kNoRegion) region = std::exchange(inner, regions::kNoRegion);
    if (region == regions::kNoRegion) return {parent, RunSummary::kNone, true};
    RunSummary::Node out{parent, region_index(region), RunSummary::Kind::kRegion,
                         RunSummary::kNone};
    if (node.key.kind() == spool::kParallelBegin) out.kind = RunSummary::Kind::kFork;
    if (call) out.site = site_index(node.key.payload & spool::kAddressMask);
    Place place;
    place.node = add_node(out);
    if (inner != regions::kNoRegion)
      place.inner = add_node(
          {place.node, region_index(inner), RunSummary::Kind::kRegion, RunSummary::kNone});
    return place;
  }

  // kNoRegion: the filter leaves it out.
  std::uint32_t find_wanted(regions::RegionKey key, std::uint64_t team) const {
    const std::uint32_t region = find(key, team);
    return region == regions::kNoRegion || table_.regions()[region].filtered
               ? regions::kNoRegion
               : region;
  }

  // As RecordInterpreter::region().
  std::uint32_t find(regions::RegionKey key, std::uint64_t team) const {
    if (key.address == 0 && regions::is_implicit_barrier(key.cls)) {
      const std::uint32_t known = model_.regions().find({key.cls, team});
      if (known != regions::kNoRegion) return known;
    }
    return model_.regions().find(key);
  }

  std::uint32_t add_node(const RunSummary::Node& node) {
    const auto next = static_cast<std::uint32_t>(result_.nodes.size());
    const auto [at, is_new] =
        node_ids_.try_emplace(std::tuple{node.parent, node.region,
                                         static_cast<std::uint32_t>(node.kind), node.site},
                              next);
    if (is_new) result_.nodes.push_back(node);
    return at->second;
  }

  std::uint32_t region_index(std::uint32_t region) {
    const auto next = static_cast<std::uint32_t>(result_.regions.size());
    const auto [at, is_new] = region_ids_.try_emplace(region, next);
    if (is_new) {
      const regions::RegionDef& def = table_.regions()[region];
      result_.regions.push_back(
          {.reference = region,
           .name = def.name,
           .file = def.file,
           .line = def.line,
           .role = static_cast<std::uint32_t>(regions::role_of(def)),
           .paradigm = static_cast<std::uint32_t>(regions::paradigm_of(def.cls)),
           .canonical = def.canonical == def.name ? std::string() : def.canonical});
    }
    return at->second;
  }

  std::uint32_t site_index(std::uint64_t address) {
    const std::uint32_t place = model_.regions().place_of_site(address);
    if (place == regions::kNoRegion) return RunSummary::kNone;
    const auto next = static_cast<std::uint32_t>(result_.sites.size());
    const auto [at, is_new] = site_ids_.try_emplace(place, next);
    if (is_new) {
      result_.sites.push_back(table_.places()[place].identity());
    }
    return at->second;
  }

  const ProcessModel& model_;
  const regions::RegionTable& table_;
  RunSummary result_;
  bool uses_ = false;    // rows have something of what threads used
  bool wanted_ = false;  // the setting says so: a location has room for a tree
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>,
           std::uint32_t>
      node_ids_;
  std::map<std::uint32_t, std::uint32_t> region_ids_;
  std::map<std::uint32_t, std::uint32_t> site_ids_;
  std::map<std::uint32_t, std::uint64_t>
      complete_;  // of a killed process: find_last_visits()
  std::map<std::uint32_t, std::uint32_t> loop_ids_;
};

}  // namespace

summary::RunSummary summarize_process(const ProcessModel& model,
                                      const regions::RegionTable& regions,
                                      const std::vector<LocationOutcome>& outcomes,
                                      std::uint64_t first_location) {
  return Summarizer(model, regions).take(outcomes, first_location);
}

namespace {

// Of its locations together.
summary::MergedFlow flow_of(const summary::RunSummary& summary) {
  summary::FlowGraph all;
  for (const summary::RunSummary::Location& location : summary.locations)
    all = summary::sum(all, location.flow);
  const bool ranked = summary.rank != summary::RunSummary::kNone;
  return summary::merged_flow(all, ranked ? summary.rank : summary.process,
                              summary.ticks_per_second);
}

// Rows of iterations leave most of a budget to the events. `bytes` 0: there is no budget.
void fit_rows(summary::RunSummary& summary, std::uint64_t bytes) {
  if (bytes == 0) return;
  constexpr std::uint64_t kRow = 75;
  for (summary::RunSummary::Location& location : summary.locations)
    summary::merge_rows(location.iterations, bytes / kRow / summary.locations.size());
}

std::string command_of(const spool::Journal& journal) {
  std::string command;
  for (const std::string& word : regions::program_texts(journal))
    command += (command.empty() ? "" : " ") + word;
  return command;
}

void add_samples(const std::string& folder, const std::string& archive, ProcessModel& model,
                 WrittenSummaries& written) {
  const auto sampled = code_profile::write_samples(
      spool::process_path(archive, model.spool().process), model.journal().modules,
      command_of(model.journal()), folder, model.context().process);
  written.sampled |= !sampled || *sampled;
  if (!sampled) written.complaints.push_back(sampled.error());
}

}  // namespace

base::Result<WrittenSummaries> write_summaries(
    const std::string& folder, const WriteOptions& options, std::uint32_t all,
    const ProcessModels& models, const regions::RegionTable& regions,
    const std::vector<std::vector<LocationOutcome>>& outcomes,
    std::uint64_t first_location) {
  WrittenSummaries written;
  const std::uint64_t row_bytes = rows_budget(options.budget_bytes, all, models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    summary::RunSummary summary =
        summarize_process(*models[i], regions, outcomes[i], first_location);
    summary.processes =
        std::max<std::uint32_t>(all, static_cast<std::uint32_t>(models.size()));
    fit_rows(summary, row_bytes);
    first_location += models[i]->locations();
    add_samples(folder, options.archive, *models[i], written);
    if (!models[i]->files_complaint().empty())
      written.complaints.push_back(models[i]->files_complaint());
    if (!models[i]->memory_complaint().empty())
      written.complaints.push_back(models[i]->memory_complaint());
    if (summary.locations.empty() && summary.locations_without.empty()) continue;
    if (!summary.locations.empty()) written.flows.push_back(flow_of(summary));
    if (const auto put = summary::write_summary(folder, summary); !put)
      return put.failure();
  }
  return written;
}

}  // namespace refrain::writer
