#include "analysis/profile/event_summary.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/profile/message_calls.h"
#include "analysis/profile/run_profile.h"
#include "analysis/run_totals.h"
#include "base/file_use.h"
#include "base/flat_index.h"
#include "base/region_stack.h"
#include "base/result.h"
#include "reader/archive_shares.h"
#include "reader/otf2_callbacks.h"

namespace refrain::analysis {
namespace {

using reader::EventKind;
using reader::TraceEvent;
using summary::RunSummary;

// One location; nodes are those of its process.
struct Thread {
  struct Frame {
    std::uint32_t node = RunSummary::kNone;  // then a fork whose region is not known yet
    std::uint32_t region = RunSummary::kNone;
    bool fork = false;
    std::uint64_t begin = 0;
    std::uint32_t latest = RunSummary::kNone;  // child
    std::uint32_t from = RunSummary::kNone;    // before it
    bool of_file = false;                      // its node has the file's name
    bool cut =
        false;  // its begin is in a hole of a damaged file: no visit, for it may be one that was open before it
    bool edge = false;  // it is counted what came before it
    std::size_t known =
        0;  // how many frames the innermost one with a node has below it, and itself
  };
  std::uint32_t process = 0;
  bool counts = false;
  bool off = false;  // events are not written
  std::uint64_t off_since = 0;
  bool in_regions = false;  // its time counts in these only
  std::uint64_t outside_since = 0;
  RunSummary::Sums outside;
  std::uint32_t latest = RunSummary::kNone;  // outermost region
  bool cut = false;                          // what came before it is not known
  base::RegionStack<Frame> stack;            // forks count as kNone
  std::vector<RunSummary::Sums> sums{};      // by node
  // Likewise: what is known of visits, whole ones or parts.
  enum class Known : std::uint8_t { kNone, kPart, kWhole };
  std::vector<Known> known{};
  // Visits that ended by the latest events: node and duration. In an archive of a killed run the last ones may not have.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> latest_ends{};
  std::vector<RunSummary::Edge> edges;
  base::FlatIndex edge_index;

  std::uint64_t& edge(std::uint32_t from, std::uint32_t to) {
    struct Ends {
      std::uint32_t from, to;
      bool operator==(const Ends&) const = default;
    };
    const auto [at, is_new] = edge_index.add(Ends{from, to}, [this](std::uint32_t i) {
      return Ends{edges[i].from, edges[i].to};
    });
    if (is_new) edges.push_back({from, to, 0});
    return edges[at].count;
  }
};

class TreeSink final : public EventSummarySink {
 public:
  // `whole`: with notes of records that are not used.
  TreeSink(bool whole, bool messages) {
    if (messages) messages_.emplace();
    if (whole) unused_.emplace();
  }

  base::Result<> begin(const reader::TraceDefinitions& definitions) override {
    definitions_ = &definitions;
    trees_.resize(definitions.processes.size());
    threads_.resize(definitions.locations.size());
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      threads_[i].process = definitions.locations[i].process;
      threads_[i].counts =
          definitions.locations[i].is_thread() && threads_[i].process < trees_.size();
      threads_[i].in_regions = definitions.locations[i].only_in_regions();
    }
    last_tick_ = definitions.base_ticks;
    const auto recovered = definitions.properties.find("REFRAIN::RECOVERED");
    recovered_ = recovered != definitions.properties.end() && recovered->second == "1";
    if (messages_) messages_->begin(definitions);
    if (unused_) unused_->begin(definitions);
    return {};
  }

  void event(const TraceEvent& event) override {
    last_tick_ = std::max(last_tick_, event.ticks);
    Thread& thread = threads_[event.location];
    if (!thread.counts) return;
    Tree& tree = trees_[thread.process];
    tree.begin = std::min(tree.begin, event.ticks);
    tree.end = std::max(tree.end, event.ticks);
    if (!tree.holes.empty() && thread.stack.empty())
      outside(tree, event.location, event.ticks);
    if (thread.off) not_written(thread, event.ticks);
    if (event.kind != EventKind::kLeave) have_ended(thread, true);
    if (messages_) messages_->event(event);
    switch (event.kind) {
      case EventKind::kProgramBegin:
        tree.program_begin = event.ticks;
        break;
      case EventKind::kProgramEnd:
        tree.program_end = event.ticks;
        break;
      case EventKind::kEnter:
        return enter(thread, event);
      case EventKind::kLeave:
        return leave(thread, event, event.ref);
      case EventKind::kThreadFork:
      case EventKind::kOmpFork:
        return put(thread, {.fork = true, .begin = event.ticks, .cut = event.uncertain});
      case EventKind::kThreadJoin:
      case EventKind::kOmpJoin:
        return leave(thread, event, RunSummary::kNone);
      case EventKind::kMeasurementOnOff:
        if (event.op == OTF2_MEASUREMENT_OFF && !std::exchange(thread.off, true)) ++gaps_;
        if (event.op == OTF2_MEASUREMENT_ON) thread.off = false;
        thread.off_since = event.ticks;
        if (event.uncertain) thread.latest = RunSummary::kNone;
        if (event.uncertain && event.location == primary_of(thread.process))
          hole(tree, event);
        thread.cut = thread.cut || event.uncertain;
        return;
      case EventKind::kMpiSend:
      case EventKind::kMpiIsend:
        return moved(thread, event.bytes, 1, 0, 0);
      case EventKind::kMpiRecv:
      case EventKind::kMpiIrecv:
        return moved(thread, 0, 0, event.bytes, 1);
      case EventKind::kMpiCollectiveEnd:
      case EventKind::kNonBlockingCollectiveComplete:
        return moved(thread, event.bytes, 0, event.received, 0);
      case EventKind::kRmaPut:
        return moved(thread, event.bytes, 0, 0, 0);
      case EventKind::kRmaGet:
        return moved(thread, 0, 0, event.bytes, 0);
      case EventKind::kParameterUnsignedInt:
        return parameter(thread, event);
      case EventKind::kIoCreateHandle:
      case EventKind::kIoDestroyHandle:
      case EventKind::kIoOperationBegin:
        on_file(thread, event.ref);
        break;
      default:
        break;
    }
    if (unused_)
      unused_->add(event.kind,
                   thread.stack.empty() ? reader::kNone : thread.stack.back().region);
  }

  std::string error() const override { return {}; }

  base::Result<> finish(std::uint64_t) override {
    last_tick_ = std::max(last_tick_, definitions_->end_ticks);
    return {};
  }
  // Of the events so far, and the run's end.
  std::uint64_t last_tick() const { return last_tick_; }

  EventSummary take() override { return take(last_tick_); }
  // Events of a process; after take().
  bool has_seen(std::uint32_t process) const { return seen_[process]; }
  // The run ends at this tick.
  EventSummary take(std::uint64_t last_tick) {
    for (const Tree& tree : trees_) seen_.push_back(tree.begin <= tree.end);
    close(last_tick);
    EventSummary out;
    for (Tree& tree : trees_)
      if (!tree.summary.locations.empty()) out.processes.push_back(std::move(tree.summary));
    if (messages_) out.messages = messages_->take();
    out.gaps = gaps_;
    return out;
  }

 private:
  struct Tree {
    RunSummary summary;
    std::uint32_t primary = reader::kNone;  // location; else the first one
    std::uint64_t begin = ~std::uint64_t{0}, end = 0;
    std::optional<std::uint64_t> program_begin, program_end;
    bool has_files = false;  // nodes with names of files
    struct Hole {
      std::uint64_t begin, end;
    };
    std::vector<Hole> holes;  // of the primary thread
    base::FlatIndex nodes;    // of the summary
    std::map<std::string, std::uint32_t> sites;
  };

  // Refrain's archives say when the run, and mostly when a process, begins and ends; in others a process lasts from its first event to
  // its last one.
  void close(std::uint64_t last_tick) {
    for (Tree& tree : trees_)
      if (definitions_->is_refrain() || tree.begin > tree.end) {
        tree.begin = tree.program_begin.value_or(definitions_->base_ticks);
        tree.end =
            definitions_->is_refrain() ? tree.program_end.value_or(last_tick) : tree.begin;
      }
    for (Thread& thread : threads_) {
      if (!thread.counts) continue;
      const std::uint64_t end = trees_[thread.process].end;
      if (thread.stack.empty())
        outside(trees_[thread.process],
                static_cast<std::uint32_t>(&thread - threads_.data()), end);
      if (thread.off) not_written(thread, end);
      have_ended(thread, !recovered_);
      while (!thread.stack.empty()) pop(thread, end, true);
    }
    const base::SharedVector<RunSummary::Region> regions = all_regions();
    for (std::uint32_t i = 0; i < trees_.size(); ++i) {
      trees_[i].summary.regions = regions;
      facts(i);
      if (trees_[i].has_files) drop_unused(trees_[i].summary);
      if (i != 0) trees_[i].summary.nodes.share(trees_[i - 1].summary.nodes);
    }
  }

  std::uint32_t primary_of(std::uint32_t process) const {
    const std::uint32_t known = trees_[process].primary;
    return known != reader::kNone
               ? known
               : std::uint32_t{definitions_->processes[process].locations.front()};
  }

  static void hole(Tree& tree, const TraceEvent& event) {
    if (event.op == OTF2_MEASUREMENT_OFF)
      tree.holes.push_back({event.ticks, ~std::uint64_t{0}});
    else if (!tree.holes.empty())
      tree.holes.back().end = event.ticks;
  }

  // Another thread that is in no region may have work or not while nothing is known of the primary one, which forks.
  void outside(const Tree& tree, std::uint32_t location, std::uint64_t ticks) {
    Thread& thread = threads_[location];
    if (!thread.off && !thread.in_regions && location != primary_of(thread.process))
      for (const Tree::Hole& hole : tree.holes) {
        const std::uint64_t begin = std::max(hole.begin, thread.outside_since);
        thread.outside.time_elsewhere += std::max(begin, std::min(hole.end, ticks)) - begin;
      }
    thread.outside_since = ticks;
  }

  void enter(Thread& thread, const TraceEvent& event) {
    if (event.ref >= definitions_->regions.size()) return;
    const reader::RegionInfo& region = definitions_->regions[event.ref];
    Tree& tree = trees_[thread.process];
    if (region.is_loop) {  // the primary thread has the marks
      if (tree.primary == reader::kNone) tree.primary = event.location;
      return;
    }
    if (!thread.stack.empty() && thread.stack.back().node == RunSummary::kNone &&
        is_parallel_region(static_cast<std::uint32_t>(region.role), region.paradigm)) {
      const std::uint32_t node = node_index(tree, around(thread), event.ref,
                                            RunSummary::Kind::kFork, RunSummary::kNone);
      Thread::Frame fork = thread.stack.pop();
      fork.node = node;
      push(thread, fork);
    }
    std::uint32_t site = RunSummary::kNone;
    if (region.paradigm == OTF2_PARADIGM_MPI) site = site_of(tree, event);
    push(thread, {.node = node_index(tree, around(thread), event.ref,
                                     RunSummary::Kind::kRegion, site),
                  .region = event.ref,
                  .begin = event.ticks,
                  .cut = event.uncertain});
  }

  // The innermost region that is known.
  static std::uint32_t around(const Thread& thread) {
    const std::size_t known = thread.stack.empty() ? 0 : thread.stack.back().known;
    return known == 0 ? RunSummary::kNone : thread.stack[known - 1].node;
  }

  static void put(Thread& thread, Thread::Frame frame) {
    frame.known = frame.node != RunSummary::kNone ? thread.stack.size() + 1
                  : thread.stack.empty()          ? 0
                                                  : thread.stack.back().known;
    thread.stack.push(frame);
  }

  static void push(Thread& thread, Thread::Frame frame) {
    const std::uint32_t parent = around(thread);
    const bool outermost = parent == RunSummary::kNone;
    const std::size_t at = outermost ? 0 : thread.stack.back().known - 1;
    std::uint32_t& before = outermost ? thread.latest : thread.stack[at].latest;
    const bool is_first = before == RunSummary::kNone;
    frame.from = is_first ? parent : before;
    frame.edge =
        !frame.cut && !(is_first && (outermost ? thread.cut : thread.stack[at].cut));
    if (frame.edge) ++thread.edge(frame.from, frame.node);
    before = frame.node;
    put(thread, frame);
  }

  // Calls on files of other tools' archives are told apart by the file, as those of Refrain's are by their names.
  void on_file(Thread& thread, std::uint32_t handle) {
    if (definitions_->is_refrain() || thread.stack.empty()) return;
    Thread::Frame frame = thread.stack.back();
    if (frame.fork || frame.of_file || frame.latest != RunSummary::kNone) return;
    const reader::RegionInfo& region = definitions_->regions[frame.region];
    const auto file = definitions_->io_files.find(handle);
    if (!region.is_io() || region.paradigm == OTF2_PARADIGM_MPI ||
        file == definitions_->io_files.end() || file->second.empty())
      return;
    const auto next =
        static_cast<std::uint32_t>(definitions_->regions.size() + of_files_.size());
    const auto [named, is_new] =
        of_file_.try_emplace({frame.region, base::file_name(file->second)}, next);
    if (is_new) of_files_.push_back({frame.region, ' ' + named->first.second});
    trees_[thread.process].has_files = true;
    if (frame.edge) --thread.edge(frame.from, frame.node);
    thread.stack.pop();
    const std::uint32_t parent = around(thread);
    frame.node = node_index(trees_[thread.process], parent, named->second,
                            RunSummary::Kind::kRegion, RunSummary::kNone);
    frame.of_file = true;
    if (frame.edge) ++thread.edge(frame.from, frame.node);
    (parent == RunSummary::kNone ? thread.latest
                                 : thread.stack[thread.stack.back().known - 1].latest) =
        frame.node;
    thread.stack.push(frame);
  }

  // Ends the innermost one of the region and those inside; kNone: the innermost fork. If there is none, nothing.
  void leave(Thread& thread, const TraceEvent& event, std::uint32_t region) {
    const bool fork = region == RunSummary::kNone;
    if (!fork &&
        (region >= definitions_->regions.size() || definitions_->regions[region].is_loop))
      return;
    for (std::size_t ended = thread.stack.ended_by(region); ended > 0; --ended)
      pop(thread, event.ticks, event.uncertain);
  }

  static RunSummary::Sums& sums_of(Thread& thread, std::uint32_t node) {
    if (node >= thread.sums.size()) thread.sums.resize(std::size_t{node} + 1);
    return thread.sums[node];
  }

  // Since the latest event nothing was written: the time is that of regions nobody knows.
  static void not_written(Thread& thread, std::uint64_t ticks) {
    const std::uint32_t node = around(thread);
    RunSummary::Sums& sums =
        node == RunSummary::kNone ? thread.outside : sums_of(thread, node);
    sums.time_elsewhere += ticks - std::min(ticks, thread.off_since);
    thread.off_since = std::max(thread.off_since, ticks);
  }

  static void have_ended(Thread& thread, bool whole) {
    for (const auto& [node, duration] : thread.latest_ends)
      shortest(thread, node, duration, whole);
    thread.latest_ends.clear();
  }

  // A part of a visit is no shortest one, where one is known whole.
  static void shortest(Thread& thread, std::uint32_t node, std::uint64_t duration,
                       bool whole) {
    if (node >= thread.known.size()) thread.known.resize(thread.sums.size());
    Thread::Known& known = thread.known[node];
    std::uint64_t& least = thread.sums[node].least;
    if (known == Thread::Known::kNone || (whole && known == Thread::Known::kPart))
      least = duration;
    else if (whole)
      least = std::min(least, duration);
    if (known != Thread::Known::kWhole)
      known = whole ? Thread::Known::kWhole : Thread::Known::kPart;
  }

  // `cut`: its end is not known.
  static void pop(Thread& thread, std::uint64_t ticks, bool cut) {
    const Thread::Frame frame = thread.stack.pop();
    if (frame.node == RunSummary::kNone) return;
    RunSummary::Sums& sums = sums_of(thread, frame.node);
    const std::uint64_t duration = ticks - std::min(ticks, frame.begin);
    sums.time += duration;
    thread.outside_since = ticks;
    if (frame.cut) return;
    if (cut)
      shortest(thread, frame.node, duration, false);
    else
      thread.latest_ends.emplace_back(frame.node, duration);
    sums.greatest = std::max(sums.greatest, duration);
    ++sums.visits;
  }

  static void moved(Thread& thread, std::uint64_t sent, std::uint64_t messages_sent,
                    std::uint64_t received, std::uint64_t messages_received) {
    const std::uint32_t node = around(thread);
    if (node == RunSummary::kNone) return;
    RunSummary::Sums& sums = sums_of(thread, node);
    sums.bytes_sent += sent;
    sums.messages_sent += messages_sent;
    sums.bytes_received += received;
    sums.messages_received += messages_received;
  }

  // Of Refrain's archives: what an operation on data of a device has moved.
  void parameter(Thread& thread, const TraceEvent& event) const {
    const bool bytes = event.ref < definitions_->parameters.size() &&
                       definitions_->parameters[event.ref].name == "bytes moved";
    if (!bytes || thread.stack.empty() || thread.stack.back().fork) return;
    const std::string& region = definitions_->regions[thread.stack.back().region].name;
    if (region.starts_with("!$omp target data to device"))
      moved(thread, event.value, 0, 0, 0);
    if (region.starts_with("!$omp target data from device"))
      moved(thread, 0, 0, event.value, 0);
  }

  // The region by the archive's definitions, and of_files_ after them.
  static std::uint32_t node_index(Tree& tree, std::uint32_t parent, std::uint32_t region,
                                  RunSummary::Kind kind, std::uint32_t site) {
    const RunSummary::Node node{parent, region, kind, site};
    const auto [at, is_new] =
        tree.nodes.add(node, [&](std::uint32_t i) { return tree.summary.nodes[i]; });
    if (is_new) tree.summary.nodes.push_back(node);
    return at;
  }

  base::SharedVector<RunSummary::Region> all_regions() const {
    std::vector<RunSummary::Region> out;
    const auto add = [&](std::uint32_t ref, const std::string& file) {
      const reader::RegionInfo& region = definitions_->regions[ref];
      out.push_back({.reference = ref,
                     .name = region.name + file,
                     .file = region.file,
                     .line = region.line,
                     .role = region.role,
                     .paradigm = region.paradigm});
    };
    for (std::uint32_t ref = 0; ref < definitions_->regions.size(); ++ref) add(ref, {});
    for (const OfFile& of : of_files_) add(of.region, of.file);
    return base::SharedVector(std::move(out));
  }

  std::uint32_t site_of(Tree& tree, const TraceEvent& event) const {
    const std::uint32_t site = reader::call_site(event);
    if (site == reader::kNone) return RunSummary::kNone;
    const auto next = static_cast<std::uint32_t>(tree.summary.sites.size());
    const std::string text = definitions_->value_text(OTF2_TYPE_SOURCE_CODE_LOCATION, site);
    const auto [at, is_new] = tree.sites.try_emplace(text, next);
    if (is_new) tree.summary.sites.push_back(text);
    return at->second;
  }

  void facts(std::uint32_t number) {
    const reader::ProcessInfo& process = definitions_->processes[number];
    RunSummary& summary = trees_[number].summary;
    trees_[number].nodes = {};
    summary.process = number;
    summary.rank = process.rank;
    if (process.node < definitions_->nodes.size())
      summary.host = definitions_->nodes[process.node];
    summary.program = process.name;
    summary.ticks_per_second = static_cast<double>(definitions_->ticks_per_second);
    summary.begin = trees_[number].begin;
    summary.end = trees_[number].end;
    for (const std::uint32_t at : process.locations) {
      Thread& thread = threads_[at];
      if (!thread.counts) continue;
      RunSummary::Location& location = summary.locations.emplace_back();
      location.reference = definitions_->locations[at].ref;
      location.number = definitions_->locations[at].thread;
      location.primary = trees_[number].primary == reader::kNone
                             ? summary.locations.size() == 1
                             : at == trees_[number].primary;
      location.helper = definitions_->locations[at].helper;
      location.temporary = definitions_->locations[at].temporary;
      location.outside = thread.outside;
      location.sums = std::move(thread.sums);
      location.sums.resize(summary.nodes.size());
      location.sums.shrink_to_fit();
      location.edges = std::move(thread.edges);
      std::erase_if(location.edges, [](const auto& edge) { return edge.count == 0; });
      location.edges.shrink_to_fit();
      std::ranges::sort(location.edges, {},
                        [](const auto& edge) { return std::pair(edge.from, edge.to); });
      thread.edge_index = {};
    }
  }

  // Nodes of calls before it was known which files they were on.
  static void drop_unused(RunSummary& summary) {
    std::vector<bool> used(summary.nodes.size());
    for (std::size_t i = used.size(); i-- > 0;) {
      for (const RunSummary::Location& location : summary.locations)
        used[i] = used[i] || location.sums[i] != RunSummary::Sums();
      const std::uint32_t parent = summary.nodes[i].parent;
      if (used[i] && parent != RunSummary::kNone) used[parent] = true;
    }
    std::vector<std::uint32_t> number(used.size(), RunSummary::kNone);
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < used.size(); ++i)
      if (used[i]) number[i] = next++;
    const auto now = [&](std::uint32_t node) {
      return node == RunSummary::kNone ? node : number[node];
    };
    std::vector<RunSummary::Node>& nodes = summary.nodes.edit();
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) continue;
      nodes[number[i]] = nodes[i];
      nodes[number[i]].parent = now(nodes[i].parent);
    }
    nodes.resize(next);
    for (RunSummary::Location& location : summary.locations) {
      for (std::size_t i = 0; i < used.size(); ++i)
        if (used[i]) location.sums[number[i]] = location.sums[i];
      location.sums.resize(next);
      for (RunSummary::Edge& edge : location.edges)
        edge = {now(edge.from), now(edge.to), edge.count};
    }
  }

  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<Tree> trees_;
  std::vector<Thread> threads_;
  std::optional<MessageEvents> messages_;
  std::optional<reader::UnusedRecords> unused_;
  // By region and file's name: regions numbered after those that are defined.
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> of_file_;
  struct OfFile {
    std::uint32_t region;
    std::string file;  // after a blank
  };
  std::vector<OfFile> of_files_;
  std::vector<bool> seen_;  // by process
  std::uint64_t last_tick_ = 0;
  bool recovered_ = false;  // of a run that was killed
  std::uint64_t gaps_ = 0;
};

}  // namespace

std::unique_ptr<EventSummarySink> event_summary_sink() {
  return std::make_unique<TreeSink>(false, false);
}

struct EventSummaries::Sinks {
  bool messages;
  std::vector<std::unique_ptr<TreeSink>> trees;
};

EventSummaries::EventSummaries(bool messages)
    : sinks_(std::make_unique<Sinks>(Sinks{messages, {}})) {}
EventSummaries::~EventSummaries() = default;

reader::TraceSink& EventSummaries::sink_of(std::uint32_t) {
  return *sinks_->trees.emplace_back(std::make_unique<TreeSink>(true, sinks_->messages));
}

void EventSummaries::all_read() {
  auto& trees = sinks_->trees;
  std::uint64_t last_tick = 0;
  for (const auto& tree : trees) last_tick = std::max(last_tick, tree->last_tick());
  EventSummary result = trees[0]->take(last_tick);
  for (std::size_t i = 1; i < trees.size(); ++i) {
    EventSummary more = trees[i]->take(last_tick);
    for (std::size_t at = 0; at < result.processes.size(); ++at)
      if (trees[i]->has_seen(result.processes[at].process))
        result.processes[at] = std::move(more.processes[at]);
    for (std::size_t at = 0; at < result.messages.size(); ++at)
      if (trees[i]->has_seen(result.messages[at].process))
        result.messages[at] = std::move(more.messages[at]);
    result.gaps += more.gaps;
  }
  summary_ = std::move(result);
}

base::Result<EventSummary> summarize_events(const std::string& archive,
                                            const EventSummaryOptions& options) {
  reader::ArchiveShares shares;
  if (const auto done = shares.open(archive, options.threads); !done) return done.failure();
  if (const auto done = shares.definitions().need_threads(); !done) return done.failure();
  EventSummaries summaries(options.messages);
  std::vector<reader::TraceSink*> sinks;
  for (std::uint32_t i = 0; i < shares.size(); ++i) sinks.push_back(&summaries.sink_of(i));
  if (const auto done = shares.run(sinks, options.progress); !done) return done.failure();
  summaries.all_read();
  EventSummary result = *summaries.take();
  result.events = shares.events();
  return result;
}

}  // namespace refrain::analysis
