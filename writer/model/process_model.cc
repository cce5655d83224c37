#include "writer/model/process_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "regions/region_class.h"
#include "spool/summary_areas.h"
#include "writer/model/parallel_for.h"

namespace refrain::writer {

namespace {

// The rate from the two clock pairs that are furthest apart, if it is plausible.
double measured_rate(const spool::Journal& journal, double known) {
  constexpr std::uint64_t kMinNs = 1'000'000;
  const auto& first = journal.first_clock;
  const auto& last = journal.last_clock;
  if (last.ns < first.ns + kMinNs || last.ticks <= first.ticks) return known;
  const double rate = static_cast<double>(last.ticks - first.ticks) * 1e9 /
                      static_cast<double>(last.ns - first.ns);
  return std::abs(rate - known) < 0.1 * known ? rate : known;
}

// Of a journal, whose texts may be any bytes.
std::size_t damaged_in(const spool::RecordSequence& journal) {
  std::size_t damaged = 0;
  for (std::size_t at = 0; at < journal.size(); ++at) {
    damaged += is_whole(journal[at]) ? 0 : 1;
    at += spool::text_records(journal[at]);
  }
  return damaged;
}

// A location that was killed just after it was suspended: its log ends at the cut and its
// ring counts, but the Suspend between the two was not written yet.
bool has_no_seam(const spool::SpoolFile& file, const std::vector<CutRecord>& cuts) {
  return file.facts().suspended && (cuts.empty() || cuts.back().resume);
}

}  // namespace

ProcessModel::ProcessModel(const spool::ProcessSpool& spool, regions::RegionTable& regions,
                           bool recovered, unsigned threads)
    : spool_(spool),
      journal_(spool::parse_journal(spool.journal.log(), spool.facts.log())) {
  if (auto files = spool::read_files(spool.folder))
    journal_.files = std::move(*files);
  else
    files_complaint_ = files.error();
  if (auto memory = spool::read_memory(spool.folder))
    memory_ = std::move(*memory);
  else
    memory_complaint_ = memory.error();
  if (const std::size_t damaged = damaged_in(spool.journal.log()); damaged != 0)
    complaints_.push_back(
        spool.journal.path() + ": " + std::to_string(damaged) +
        " records are damaged: names, loops and iterations may be missing");
  if (journal_.summary_only)
    spool::add_loop_sums(spool::read_loop_table(spool.journal.loop_table()), journal_);
  if (spool.world.size != 0) journal_.mpi.settle(spool.world.rank, spool.world.size);
  for (std::size_t i = 0; i < spool.locations.size(); ++i) {
    const spool::SpoolFile& file = spool.locations[i];
    records_.push_back(file.log());
    context_.index_of[file.facts().location] = static_cast<std::uint32_t>(i);
  }
  const auto primary = std::find_if(
      spool.locations.begin(), spool.locations.end(),
      [](const auto& file) { return file.facts().role == spool::kRolePrimary; });
  if (primary != spool.locations.end())
    primary_ = static_cast<std::size_t>(primary - spool.locations.begin());
  scans_.resize(records_.size());
  scan_all(threads);
  leave_out_damage(threads);
  mark_seams();
  scan_all(threads);
  plan(recovered);
  append_rings();
  scan_all(threads);
  leave_out_damage(threads);
  date_gaps();
  date_process();
  if (recovered) date_nested_teams(threads);
  std::vector<TeamInput> inputs;
  std::vector<const spool::RecordSequence*> sequences;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    inputs.push_back({&records_[i], &scans_[i]});
    sequences.push_back(&records_[i]);
  }
  teams_ = build_teams(inputs, gaps_);
  locks_ = build_locks(sequences);
  define_regions(regions);
  share();
}

void ProcessModel::share() {
  if (!records_.empty()) {
    context_.primary = &records_[primary_];
    context_.primary_scan = &scans_[primary_];
  }
  context_.gaps = &gaps_;
  context_.teams = &teams_;
  context_.locks = &locks_;
  context_.regions = &regions_;
  context_.journal = &journal_;
  if (!journal_.marks_summary) return;
  for (const Gap& gap : gaps_.gaps) context_.iteration_ends.push_back(gap.suspend_ticks);
}

// Where a page of a file was lost it is zeros: regions that began or ended there have no place in what follows.
void ProcessModel::leave_out_damage(unsigned threads) {
  bool any = false;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (scans_[i].damaged == 0) continue;
    any = true;
    damaged_ += scans_[i].damaged;
    complaints_.push_back(
        spool_.locations[i].path() + ": " + std::to_string(scans_[i].damaged) + " of " +
        std::to_string(records_[i].size()) + " records are damaged, and left out");
    std::vector<spool::Record>& whole = repaired_.emplace_back();
    whole.reserve(records_[i].size() - scans_[i].damaged);
    for (std::size_t at = 0; at < records_[i].size(); ++at)
      if (is_whole(records_[i][at])) whole.push_back(records_[i][at]);
    records_[i] = spool::RecordSequence(whole);
    scans_[i] = {};
  }
  if (any) scan_all(threads);
}

void ProcessModel::scan_all(unsigned threads) {
  parallel_for(records_.size(), threads,
               [this](std::size_t i) { scan_records(records_[i], scans_[i]); });
}

// Where the ring continues directly after the log there is no hole, and no seam is needed.
// Otherwise the location is suspended in the latest gap that begins at or before the start
// of the ring.
void ProcessModel::mark_seams() {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const spool::SpoolFile& file = spool_.locations[i];
    if (!has_no_seam(file, scans_[i].cuts) || !file.ring().overflowed) continue;
    const std::uint64_t epoch = first_epoch(file.ring());
    const spool::JournalGap* gap = nullptr;
    for (const spool::JournalGap& each : journal_.gaps)
      if (each.suspend_epoch <= epoch) gap = &each;
    if (gap == nullptr || epoch == kNever) continue;
    spool::Record seam{};
    seam.ticks = gap->suspend_ticks;
    seam.kind = spool::kSuspend;
    seam.set_a48(gap->id);
    seam.payload = gap->suspend_epoch;
    records_[i].append_seam(seams_.emplace_back(seam));
  }
}

void ProcessModel::plan(bool recovered) {
  std::vector<LocationCuts> cuts;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const spool::SpoolFile& file = spool_.locations[i];
    cuts.push_back({.cuts = scans_[i].cuts,
                    .log = &records_[i],
                    .ring = &file.ring(),
                    .suspended = file.facts().suspended,
                    .primary = i == primary_});
  }
  gaps_ = plan_gaps(journal_, cuts, recovered);
}

// The ring has the rest of a location that was still suspended when its gap had been
// resumed, or that is resumed in hindsight.
void ProcessModel::append_rings() {
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const spool::SpoolFile& file = spool_.locations[i];
    const auto& cuts = scans_[i].cuts;
    const spool::RingView& ring = file.ring();
    if (has_no_seam(file, cuts) && !ring.overflowed)
      records_[i].append_ring(ring.older, ring.newer, 0);
    if (!file.facts().suspended || cuts.empty() || cuts.back().resume) continue;
    const Gap* gap = gaps_.at_epoch(cuts.back().epoch);
    const std::uint64_t from = gap != nullptr ? gap->resume_epoch : cuts.back().epoch;
    if (from == kNever) continue;
    records_[i].append_ring(ring.older, ring.newer, ring_position(ring, from));
  }
}

void ProcessModel::date_gaps() {
  if (records_.empty()) return;
  for (Gap& gap : gaps_.gaps) {
    if (gap.resume_epoch == kNever) continue;
    // The time window may have been opened by another thread, while the primary one waited.
    if (gap.resume_reason == spool::kGapWindow && gap.resume_ticks != kNever) continue;
    const auto ticks =
        sync_ticks(records_[primary_], scans_[primary_].epochs, gap.resume_epoch);
    if (ticks) gap.resume_ticks = *ticks;
    if (gap.resume_ticks != kNever)
      gap.resume_ticks = std::max(gap.resume_ticks, gap.suspend_ticks);
  }
}

void ProcessModel::date_process() {
  std::uint64_t start = kNever;
  std::uint64_t end = journal_.last_ticks;
  for (std::size_t i = 0; i < scans_.size(); ++i) {
    start = std::min(start, scans_[i].first_ticks);
    end = std::max({end, scans_[i].last_ticks, spool_.locations[i].facts().last_ticks});
    // A region that a killed thread had begun is in the tree, and may not be in the records.
    if (!journal_.summary_only && spool_.journal.facts().ended) continue;
    const spool::CallTree tree = spool_.locations[i].call_tree();
    for (const spool::CallTree::Node& node : tree.nodes)
      end = std::max(end, node.enter_ticks);
    // So may a row of iterations that it had begun.
    const spool::IterationRows rows = spool_.locations[i].iteration_rows(tree, 0, 0);
    if (!rows.rows.empty()) end = std::max(end, rows.rows.back().begin);
  }
  // Memory that it had most of then; a damaged file may have any time.
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 56;
  const std::uint64_t most_memory = memory_.totals.high_water_ticks;
  if (!spool_.journal.facts().ended && end != 0 && most_memory > end &&
      most_memory - end < kLongest)
    end = most_memory;
  const spool::SpoolFacts& facts = spool_.journal.usable() || spool_.locations.empty()
                                       ? spool_.journal.facts()
                                       : spool_.locations.front().facts();
  if (facts.start_ticks != 0) start = std::min(start, facts.start_ticks);
  if (start == kNever) start = end;
  context_.start_ticks = start;
  // A gap that was there from the beginning was opened before that.
  for (Gap& gap : gaps_.gaps) {
    gap.suspend_ticks = std::max(gap.suspend_ticks, start);
    gap.resume_ticks = std::max(gap.resume_ticks, start);
  }
  // What the journal says of the process was written before its part of the recording began: of
  // one that died before its first event there is nothing later.
  context_.end_ticks = end == 0 ? 0 : std::max(end, start);
  ticks_per_second_ = measured_rate(journal_, facts.ticks_per_second);
}

// A thread that waits for its next team gets no end of its last one; if the process was
// killed, it never came.
void ProcessModel::date_nested_teams(unsigned threads) {
  std::vector<std::uint64_t> waiting;
  for (const LocationScan& scan : scans_)
    waiting.insert(waiting.end(), scan.nested_waiting.begin(), scan.nested_waiting.end());
  std::sort(waiting.begin(), waiting.end());
  for (const std::uint64_t instance : waiting) context_.nested_ends[instance] = 0;
  if (waiting.empty()) return;
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> ends(records_.size());
  parallel_for(records_.size(), threads,
               [&](std::size_t i) { ends[i] = nested_ends(records_[i], waiting); });
  for (const auto& of_location : ends)
    for (const auto& [instance, ticks] : of_location)
      context_.nested_ends[instance] = ticks;
  for (const LocationScan& scan : scans_)
    for (const std::uint64_t instance : scan.nested_open)
      context_.nested_ends.erase(instance);
}

std::vector<DeviceStream> ProcessModel::streams() const {
  std::vector<DeviceStream> all;
  for (std::uint32_t thread = 0; thread < scans_.size(); ++thread)
    for (const std::uint16_t device : scans_[thread].devices)
      all.push_back({device, thread, 0});
  std::stable_sort(
      all.begin(), all.end(),
      [](const DeviceStream& a, const DeviceStream& b) { return a.device < b.device; });
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].device == all[i - 1].device) all[i].number = all[i - 1].number + 1;
  return all;
}

void ProcessModel::leave_out() {
  Gap gap;
  gap.suspend_ticks = context_.start_ticks;
  gap.suspend_reason = spool::kGapRepresentatives;
  gaps_.gaps = {gap};
  context_.left_out = true;
}

JobLoops ProcessModel::loops() {
  tree_ = loop_tree(journal_);
  loops_ = job_loops(journal_, tree_, *resolver_);
  return loops_;
}

void ProcessModel::name_loops(const JobLoops& all, regions::RegionTable& regions) {
  labels_ = writer::loop_labels(tree_, loops_, all);
  std::map<std::uint32_t, regions::RegionDef> defs;
  for (const auto& [id, label] : labels_) defs[id] = label.region();
  regions.add_loops(regions_, std::move(defs));
}

void ProcessModel::define_regions(regions::RegionTable& regions) {
  resolver_ = std::make_unique<addresses::Resolver>(journal_.modules);
  std::vector<std::uint64_t> keys{
      regions::RegionKey{regions::RegionClass::kParallel, 0}.packed()};
  if (context_.end_ticks != 0)
    keys.push_back(regions::RegionKey{regions::RegionClass::kProgram, 0}.packed());
  std::map<std::uint64_t, std::uint64_t> inner;
  for (const spool::SpoolFile& file : spool_.locations) {
    const std::vector<std::uint64_t> more = regions::keys_of(file.call_tree());
    keys.insert(keys.end(), more.begin(), more.end());
    const std::vector<std::uint64_t> calls = regions::keys_of(file.flow_graph());
    keys.insert(keys.end(), calls.begin(), calls.end());
  }
  // Without events, what lies in the parallel regions of a call tree.
  if (journal_.summary_only)
    for (const spool::SpoolFile& file : spool_.locations)
      for (const auto& [parallel, address] : regions::inner_of(file.call_tree()))
        inner.emplace(parallel, address);
  for (const LocationScan& scan : scans_) {
    keys.insert(keys.end(), scan.keys.begin(), scan.keys.end());
    for (const auto& [parallel, address] : scan.inner) {
      const auto [at, is_new] = inner.emplace(parallel, address);
      if (!is_new) at->second = std::min(at->second, address);
    }
  }
  // Implicit barriers without an address get that of their parallel region.
  for (const regions::RegionClass cls : {regions::RegionClass::kImplicitBarrier,
                                         regions::RegionClass::kImplicitBarrierWait}) {
    const std::uint64_t nowhere = regions::RegionKey{cls, 0}.packed();
    if (std::find(keys.begin(), keys.end(), nowhere) == keys.end()) continue;
    for (std::size_t i = 0, size = keys.size(); i < size; ++i)
      if (static_cast<regions::RegionClass>(keys[i] >> 48) ==
          regions::RegionClass::kParallel)
        keys.push_back(regions::RegionKey{cls, keys[i] & spool::kAddressMask}.packed());
  }
  regions_ = regions.add_process(std::move(keys), inner, journal_, *resolver_);
}

namespace {

// Position of the next acquisition at or after `from`; the size at the end.
std::size_t next_acquired(const spool::RecordSequence& records, std::size_t from) {
  while (from < records.size() && records[from].kind != spool::kMutexAcquired) ++from;
  return from;
}

}  // namespace

LockTable build_locks(std::span<const spool::RecordSequence* const> locations) {
  LockTable table;
  table.orders.resize(locations.size());
  std::vector<std::size_t> at(locations.size());
  using Entry = std::pair<std::uint64_t, std::size_t>;  // ticks, location
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto enqueue = [&](std::size_t location, std::size_t from) {
    at[location] = next_acquired(*locations[location], from);
    if (at[location] < locations[location]->size())
      queue.emplace((*locations[location])[at[location]].ticks, location);
  };
  for (std::size_t i = 0; i < locations.size(); ++i) enqueue(i, 0);
  std::vector<std::uint32_t> counts;
  while (!queue.empty()) {
    const std::size_t location = queue.top().second;
    queue.pop();
    const std::uint64_t wait_id = (*locations[location])[at[location]].a48();
    const auto [id, is_new] =
        table.ids.try_emplace(wait_id, static_cast<std::uint32_t>(counts.size()));
    if (is_new) counts.push_back(0);
    table.orders[location].push_back(++counts[id->second]);
    enqueue(location, at[location] + 1);
  }
  return table;
}

using spool::Record;

CutEdges::Edge CutEdges::at(std::uint64_t ticks, std::uint64_t slack, bool begins) const {
  for (const Gap& gap : process_.gaps().gaps) {
    const std::uint64_t granted = gap.ends_roughly() ? slack : 0;
    const std::uint64_t last =
        gap.resume_ticks == kNever ? kNever : gap.skipped_until() + granted;
    if (ticks < gap.suspend_ticks || ticks > last) continue;
    // A new gap that begins here continues this one, one that ends here reaches up to it.
    if (begins) return {gap.resume_epoch, gap.resume_ticks, 0};
    return {gap.suspend_epoch, gap.suspend_ticks, gap.suspend_ticks};
  }
  const spool::RecordSequence& records = process_.records(process_.primary());
  Edge edge;
  bool near = false;
  const std::size_t from = process_.scan(process_.primary()).epochs.before_ticks(ticks);
  for (std::size_t i = from; i < records.size(); ++i) {
    const Record& record = records[i];
    if (!spool::is_cut(record)) continue;
    if (record.ticks > ticks) return near ? edge : Edge{record.a48(), record.ticks, 0};
    // A gap begins with the iteration's first event, and ends with that of the next.
    edge = {record.a48(), begins ? ticks : record.ticks, ticks};
    near = record.ticks + slack >= ticks;
  }
  return near ? edge : Edge{};
}

void CutEdges::add_gap(std::vector<Gap>& gaps, Edge from, Edge to,
                       spool::GapReason suspend_reason, spool::GapReason resume) {
  if (from.epoch == kNever || from.epoch >= to.epoch) return;
  Gap gap;
  gap.suspend_epoch = from.epoch;
  gap.suspend_ticks = from.ticks;
  gap.resume_epoch = to.epoch;
  gap.resume_ticks = to.ticks;
  gap.first_ticks = to.first_ticks;
  gap.suspend_reason = suspend_reason;
  gap.resume_reason = resume;
  gaps.push_back(gap);
}

}  // namespace refrain::writer
