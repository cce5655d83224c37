#include "analysis/comparison/profile_sink.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/run_totals.h"

namespace refrain::analysis {
namespace {

bool counts_up(OTF2_MetricMode mode) {
  return mode == OTF2_METRIC_ACCUMULATED_START || mode == OTF2_METRIC_ACCUMULATED_LAST ||
         mode == OTF2_METRIC_ACCUMULATED_NEXT;
}

// Integers are subtracted as integers: a double would lose the last digits of large ones.
double difference(std::uint64_t value, std::uint64_t before, std::uint8_t type) {
  switch (type) {
    case OTF2_TYPE_DOUBLE:
      return std::bit_cast<double>(value) - std::bit_cast<double>(before);
    case OTF2_TYPE_INT64:
      return static_cast<double>(static_cast<std::int64_t>(value - before));
    default:
      return value >= before ? static_cast<double>(value - before)
                             : -static_cast<double>(before - value);
  }
}

}  // namespace

CounterTable::CounterTable(const reader::TraceDefinitions& definitions) {
  std::vector<Member> all;
  for (const reader::MetricInfo& metric : definitions.metrics) {
    Member& member = all.emplace_back();
    if (!counts_up(metric.mode)) continue;
    const auto found = std::find(names_.begin(), names_.end(), metric.name);
    member.counter = static_cast<std::uint32_t>(found - names_.begin());
    member.since_begin = metric.mode == OTF2_METRIC_ACCUMULATED_START;
    if (found == names_.end()) names_.push_back(metric.name);
  }
  for (const auto& [ref, metrics] : definitions.metric_classes)
    for (const std::uint32_t index : metrics)
      classes_[ref].push_back(index < all.size() ? all[index] : Member{});
}

const std::vector<CounterTable::Member>* CounterTable::members(std::uint32_t ref) const {
  const auto found = classes_.find(ref);
  return found == classes_.end() ? nullptr : &found->second;
}

void CounterReadings::read(const CounterTable& table, const reader::TraceEvent& event) {
  const auto* members = table.members(event.ref);
  if (members == nullptr || table.names().empty()) return;
  totals_.resize(table.names().size());
  before_.resize(table.names().size());
  known_.resize(table.names().size());
  bits_.resize(table.names().size());
  latest_.assign(table.names().size(), 0);
  const std::size_t count = std::min<std::size_t>(event.metrics, members->size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto [counter, since_begin] = (*members)[i];
    if (counter == reader::kNone) continue;
    const reader::ExtraValue& value = event.extras[i];
    latest_[counter] = difference(value.bits, since_begin ? bits_[counter] : 0, value.type);
    bits_[counter] = value.bits;
    // Separate, for added to a large value small increments would be lost in a double.
    const bool first = since_begin && !known_[counter];
    (first ? before_ : totals_)[counter] += latest_[counter];
    known_[counter] = true;
  }
  fresh_ = true;
  ns_ = event.ns;
}

using reader::EventKind;
using reader::RegionInfo;
using reader::TraceDefinitions;
using reader::TraceEvent;

base::Result<> ProfileSink::begin(const TraceDefinitions& definitions) {
  definitions_ = &definitions;
  of_refrain_ = definitions.is_refrain();
  marks_.emplace(definitions);
  for (const RegionInfo& region : definitions.regions)
    kinds_.push_back(
        {class_of(static_cast<std::uint32_t>(region.role), region.paradigm, region.name),
         region.paradigm == OTF2_PARADIGM_MPI,
         is_parallel_region(static_cast<std::uint32_t>(region.role), region.paradigm)});
  counters_.emplace(definitions);
  counter_count_ = counters_->names().size();
  loop_numbers_.assign(definitions.regions.size(), LoopId(kNone));
  for (std::uint32_t i = 0; i < definitions.regions.size(); ++i) {
    if (!definitions.regions[i].is_loop) continue;
    loop_numbers_[i] = LoopId(loops_.size());
    loops_.push_back(RegionId(i));
  }
  threads_.resize(definitions.locations.size());
  processes_.resize(definitions.processes.size());
  samples_.resize(processes_.size());
  totals_ = process_totals(summaries_, definitions);
  if (std::ranges::none_of(totals_, [](const auto& of) { return of && of->complete(); })) {
    events_ = event_summary_sink();
    if (const auto done = events_->begin(definitions); !done) return done;
  }
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    find_threads(i);
    Process& process = processes_[i];
    process.books = std::make_unique<NestBooks>(
        Shape{definitions.regions.size(), process.locations.size(), counter_count_});
    process.skipped_by_loop.resize(loops_.size());
    process.places.push_back(&process.books->root());
    process.written.resize(loops_.size());
    process.marked.resize(loops_.size());
  }
  return {};
}

// The thread with the marks is the first; without marks, the one defined first.
void ProfileSink::find_threads(std::uint32_t number) {
  Process& process = processes_[number];
  for (const std::uint32_t location : definitions_->processes[number].locations) {
    Thread& thread = threads_[location];
    thread.process = number;
    if (!definitions_->locations[location].is_thread()) continue;
    thread.number = static_cast<std::uint32_t>(process.locations.size());
    if (location == samples_[number].location) process.first = thread.number;
    process.locations.push_back(location);
  }
  if (!process.locations.empty()) threads_[process.locations[process.first]].first = true;
}

bool ProfileSink::is_helper(const Process& process, std::size_t thread) const {
  return definitions_->locations[process.locations[thread]].helper;
}

std::size_t ProfileSink::program_threads(const Process& process) const {
  std::size_t count = 0;
  for (std::size_t t = 0; t < process.locations.size(); ++t)
    count += is_helper(process, t) ? 0 : 1;
  return count;
}

Place& ProfileSink::place_of(const Thread& thread) const {
  return thread.place != nullptr ? *thread.place
                                 : *processes_[thread.process].places.back();
}

// A thread that is resumed before the first one is already in the next written iteration.
void ProfileSink::switch_writing(Thread& thread, bool on) {
  settle_all(thread);
  thread.written = on;
  thread.gap = true;
  thread.place = nullptr;
  const Process& process = processes_[thread.process];
  if (!on || thread.first || process.skipped == 0) return;
  const auto& samples = samples_[thread.process].written;
  if (process.next_written >= samples.size()) return;
  const WrittenIteration& next = samples[process.next_written];
  if (next.depth + 1 == process.places.size())
    thread.place = &process.places.back()->inside(next.loop, next.kind, next.variant);
}

// The time since the thread's last event belongs to the regions that are open.
void ProfileSink::book(Thread& thread, std::uint64_t ns) {
  if (ns <= thread.ns) return;
  const auto passed = static_cast<double>(ns - thread.ns);
  thread.ns = ns;
  if (thread.stack.empty() &&
      definitions_->locations[processes_[thread.process].locations[thread.number]]
          .only_in_regions())
    return;
  Place& place = place_of(thread);
  if (!thread.written) {
    if (thread.first) place.add_gap(passed);
    return;
  }
  written_ns_ += passed;
  Process& process = processes_[thread.process];
  if (thread.first && process.skipped != 0) process.alone_ns += passed;
  thread.written_ns += static_cast<std::uint64_t>(passed);
  Sums& sums = place.own();
  const auto& stack = thread.stack;
  Sums::Thread& times = sums.threads[thread.number];
  // Between a fork and its parallel region the runtime manages threads.
  const bool fork = !thread.forks.empty() && thread.forks.back() == stack.size();
  if (!stack.empty()) sums.regions[stack.back().region].exclusive_ns += passed;
  if (fork)
    times.times.openmp += passed;
  else if (stack.empty())
    times.outside_ns += passed;
  else
    times.times.add(kinds_[stack.back().region].cls, passed);
}

// Other tools' archives do not say when a process begins and ends: with its first and its last event.
void ProfileSink::lasts(Process& process, std::uint64_t ns) {
  process.last_ns = ns;
  if (std::exchange(process.begun, true)) return;
  for (const std::uint32_t location : process.locations) threads_[location].ns = ns;
}

void ProfileSink::book_all(std::uint32_t process, std::uint64_t ns) {
  for (const std::uint32_t location : processes_[process].locations) {
    book(threads_[location], ns);
    settle_all(threads_[location]);
  }
}

void ProfileSink::settle(Frame& frame, const Thread& thread, Sums& sums) {
  if (frame.first)
    sums.regions[frame.region].inclusive_ns +=
        static_cast<double>(thread.written_ns - frame.settled_ns);
  frame.settled_ns = thread.written_ns;
}

// Before the place changes.
void ProfileSink::settle_all(Thread& thread) {
  Sums& sums = place_of(thread).own();
  for (Frame& frame : thread.stack) settle(frame, thread, sums);
}

void ProfileSink::event(const TraceEvent& event) {
  Thread& thread = threads_[event.location];
  if (events_) events_->event(event);
  if (event.kind == EventKind::kMetric) return read_counters(thread, event);
  if (thread.number == kNone) return;
  if (!of_refrain_) lasts(processes_[thread.process], event.ns);
  if (marks_->is_mark(event)) {
    book_all(thread.process, event.ns);
    return event.kind == EventKind::kEnter ? begin_iteration(event) : end_iteration(event);
  }
  switch (event.kind) {
    case EventKind::kEnter:
      book(thread, event.ns);
      return enter(thread, event);
    case EventKind::kLeave:
      book(thread, event.ns);
      return leave(thread, event);
    case EventKind::kThreadFork:
    case EventKind::kOmpFork:
      book(thread, event.ns);
      return thread.forks.push_back(thread.stack.size());
    case EventKind::kThreadJoin:
    case EventKind::kOmpJoin:
      book(thread, event.ns);
      if (!thread.forks.empty()) thread.forks.pop_back();
      return;
    case EventKind::kMeasurementOnOff:
      gaps_ = gaps_ || event.op == OTF2_MEASUREMENT_OFF;
      book(thread, event.ns);
      return switch_writing(thread, event.op == OTF2_MEASUREMENT_ON);
    case EventKind::kParameterUnsignedInt:
      return reported_together(thread, event);
    default:
      return communication(event);
  }
}

void ProfileSink::enter(Thread& thread, const TraceEvent& event) {
  const bool counted = thread.counters.take(event.ns);
  if (event.ref >= kinds_.size()) return;
  // In a gap it ends a skipped iteration.
  // The calls of one written alone belong to the iteration around it.
  const Process& process = processes_[thread.process];
  const bool alone =
      process.skipped != 0 && threads_[process.locations[process.first]].written;
  Place* place = thread.written && !alone ? &place_of(thread) : nullptr;
  if (thread.open.empty()) thread.open.resize(kinds_.size());
  if (thread.stack.empty() && !kinds_[event.ref].parallel) thread.only_in_teams = false;
  const bool first = thread.open[event.ref]++ == 0;
  thread.stack.push_back({event.ref, place, counted, first, thread.written_ns});
  if (place != nullptr) ++place->own().regions[event.ref].calls;
  if (counter_count_ == 0) return;
  const std::vector<double>& totals = thread.counters.totals();
  if (counted)
    thread.entered.insert(thread.entered.end(), totals.begin(), totals.end());
  else
    thread.entered.resize(thread.entered.size() + counter_count_);
}

void ProfileSink::leave(Thread& thread, const TraceEvent& event) {
  const bool counted = thread.counters.take(event.ns);
  // A leave without an enter ends nothing; one of a region further out ends those inside, which have no leave.
  if (event.ref >= thread.open.size() || thread.open[event.ref] == 0) return;
  while (thread.stack.back().region != event.ref) pop(thread, false);
  pop(thread, counted);
}

void ProfileSink::pop(Thread& thread, bool counted) {
  Frame& frame = thread.stack.back();
  settle(frame, thread, place_of(thread).own());
  --thread.open[frame.region];
  if (counted && frame.counted && frame.place != nullptr)
    book_counted(*frame.place, frame.region, thread,
                 &thread.entered[thread.entered.size() - counter_count_], !frame.first);
  thread.stack.pop_back();
  while (!thread.forks.empty() && thread.forks.back() > thread.stack.size())
    thread.forks.pop_back();
  if (counter_count_ != 0) thread.entered.resize(thread.entered.size() - counter_count_);
}

// A region of coalesced polls: each was a call.
void ProfileSink::reported_together(const Thread& thread, const TraceEvent& event) const {
  if (thread.stack.empty() || event.ref >= definitions_->parameters.size() ||
      definitions_->parameters[event.ref].name != "polls")
    return;
  const Frame& frame = thread.stack.back();
  if (!kinds_[frame.region].mpi || frame.place == nullptr || event.value == 0) return;
  frame.place->own().regions[frame.region].calls += static_cast<double>(event.value - 1);
}

// Of recursive calls the outermost counts.
void ProfileSink::book_counted(Place& place, std::uint32_t region, const Thread& thread,
                               const double* before, bool again) const {
  for (std::size_t i = 0; i < counter_count_; ++i) {
    Sums::Counted& counted = place.own().region_counters[region * counter_count_ + i];
    if (!again) counted.sum += thread.counters.totals()[i] - before[i];
    ++counted.calls;
  }
}

void ProfileSink::read_counters(Thread& thread, const TraceEvent& event) {
  thread.counters.read(*counters_, event);
  if (thread.number == kNone || !thread.counters.any()) return;
  Process& process = processes_[thread.process];
  if (thread.version != process.version) {
    thread.version = process.version;
    thread.skipped = process.skipped_by_loop;
  }
  // Differences across a gap belong to no iteration.
  const bool gap = std::exchange(thread.gap, !thread.written);
  if (gap || !thread.written) return;
  Sums& sums = place_of(thread).own();
  for (std::size_t i = 0; i < counter_count_; ++i)
    sums.thread_counters[thread.number * counter_count_ + i] += thread.counters.latest()[i];
}

void ProfileSink::communication(const TraceEvent& event) {
  Sums& sums = place_of(threads_[event.location]).own();
  switch (event.kind) {
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend:
      ++sums.sends;
      sums.bytes_sent += static_cast<double>(event.bytes);
      return;
    case EventKind::kMpiRecv:
    case EventKind::kMpiIrecv:
      ++sums.receives;
      sums.bytes_received += static_cast<double>(event.bytes);
      return;
    case EventKind::kMpiCollectiveEnd:
    case EventKind::kNonBlockingCollectiveComplete:
      ++sums.collectives;
      return;
    default:
      return;
  }
}

void ProfileSink::begin_iteration(const TraceEvent& event) {
  const std::uint32_t number = threads_[event.location].process;
  Process& process = processes_[number];
  const bool skipped = !marks_->written(event);
  const CounterReadings& counters = threads_[event.location].counters;
  const bool counted = threads_[event.location].counters.take(event.ns);
  const std::uint64_t position =
      process.visits.begin(process.open.size(), event.ref, skipped).iterations - 1;
  process.open.push_back({RegionId(event.ref), skipped, marks_->complete(event), event.ns,
                          counted ? counters.totals() : std::vector<double>(), position});
  if (skipped && process.skipped++ == 0) return keep_behind(number, event.ns);
  if (skipped) return;
  const auto& samples = samples_[number].written;
  const std::size_t at = process.next_written++;
  // One written inside a skipped one is no sample.
  const WrittenIteration sample =
      process.skipped == 0 && at < samples.size() ? samples[at] : WrittenIteration{};
  process.places.push_back(
      &process.places.back()->inside(RegionId(event.ref), sample.kind, sample.variant));
  for (const std::uint32_t location : processes_[number].locations)
    threads_[location].place = nullptr;
}

// From here on nothing is written; threads that have not come here yet are in the iteration
// that has just ended for the first one.
void ProfileSink::keep_behind(std::uint32_t number, std::uint64_t ns) {
  Process& process = processes_[number];
  if (process.ended == nullptr || !definitions_->adjoins(process.ended_ns, ns)) return;
  for (const std::uint32_t location : process.locations) {
    Thread& thread = threads_[location];
    if (!thread.first && thread.written && thread.place == nullptr)
      thread.place = process.ended;
  }
}

void ProfileSink::end_iteration(const TraceEvent& event) {
  Thread& thread = threads_[event.location];
  Process& process = processes_[thread.process];
  const bool counted = thread.counters.take(event.ns);
  if (process.open.empty()) return;
  OpenIteration iteration = std::move(process.open.back());
  process.open.pop_back();
  iteration.complete = iteration.complete && !event.uncertain;
  process.skipped -= iteration.skipped;
  const auto ns = static_cast<double>(event.ns - iteration.begin_ns);
  if (!iteration.skipped) {
    process.places.back()->end_iteration(ns, iteration.complete);
    process.ended = process.places.back();
    process.ended_ns = event.ns;
    process.places.pop_back();
    process.written[loop_numbers_[iteration.loop]] += iteration.complete;
  }
  // Inside a skipped iteration all is estimated from typical ones.
  if (process.skipped != 0) return;
  Place& around = *process.places.back();
  if (iteration.complete) {
    ++process.marked[loop_numbers_[iteration.loop]];
    ++around.own().regions[iteration.loop].calls;
    around.own().regions[iteration.loop].inclusive_ns += ns;
    if (counted && !iteration.counted.empty())
      book_counted(around, iteration.loop, thread, iteration.counted.data(), false);
  }
  if (!iteration.skipped) return;
  const std::uint32_t variant = samples_[thread.process].variant_of_skipped(
      iteration.loop, iteration.position, event.ns - iteration.begin_ns);
  around.suspend(iteration.loop, variant, iteration.complete,
                 std::max(0.0, ns - std::exchange(process.alone_ns, 0)));
  process.skipped_by_loop[loop_numbers_[iteration.loop]] += iteration.complete;
  ++process.version;
}

namespace {

double number(const nlohmann::json& loop, const char* name) {
  const auto found = loop.find(name);
  if (found == loop.end() || !found->is_number()) return 0;
  const auto value = found->get<double>();
  return std::isfinite(value) && value > 0 ? value : 0;
}

}  // namespace

std::map<std::string, LoopTotals> loop_totals(const reader::TraceDefinitions& definitions) {
  std::map<std::string, LoopTotals> totals;
  const auto property = definitions.properties.find("REFRAIN::LOOPS");
  if (property == definitions.properties.end()) return totals;
  constexpr double kMaxProcesses = 1U << 24;  // a file may hold any numbers
  const auto loops = nlohmann::json::parse(property->second, nullptr, false);
  if (!loops.is_array()) return totals;
  for (const auto& loop : loops) {
    if (!loop.is_object() || !loop.contains("name") || !loop["name"].is_string()) continue;
    LoopTotals& sum = totals[loop["name"].get<std::string>()];
    const double iterations = number(loop, "iterations");
    sum.iterations += iterations;
    const double process = number(loop, "process");
    if (process < kMaxProcesses)
      sum.by_process[static_cast<std::uint32_t>(process)] += iterations;
    sum.total_ns += number(loop, "total_ns");
  }
  return totals;
}

}  // namespace refrain::analysis
