#include "writer/profile/profile_sink.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace refrain::profile {

using convert::EventKind;
using convert::RegionInfo;
using convert::TraceDefinitions;
using convert::TraceEvent;

namespace {

// "loop 3 @ cg.c:43": where it is; numbers are those of one run.
std::string place_of_loop(const std::string& name) {
  const std::size_t at = name.find(" @ ");
  return at == std::string::npos ? name : "loop" + name.substr(at);
}

Efficiencies efficiencies(const std::vector<double>& useful, double duration_ns) {
  Efficiencies result;
  if (useful.empty() || duration_ns <= 0) return result;
  double sum = 0;
  for (const double ns : useful) sum += ns;
  const double most = *std::max_element(useful.begin(), useful.end());
  const double mean = sum / static_cast<double>(useful.size());
  result.parallel = mean / duration_ns;
  result.load_balance = most > 0 ? mean / most : 0;
  result.communication = most / duration_ns;
  return result;
}

}  // namespace

bool is_useful(const RegionInfo& region) {
  switch (region.role) {
    case OTF2_REGION_ROLE_BARRIER:
    case OTF2_REGION_ROLE_IMPLICIT_BARRIER:
    case OTF2_REGION_ROLE_FLUSH:
    case OTF2_REGION_ROLE_CRITICAL:
    case OTF2_REGION_ROLE_TASK_WAIT:
    case OTF2_REGION_ROLE_TASK_CREATE:
    case OTF2_REGION_ROLE_COLL_ONE2ALL:
    case OTF2_REGION_ROLE_COLL_ALL2ONE:
    case OTF2_REGION_ROLE_COLL_ALL2ALL:
    case OTF2_REGION_ROLE_COLL_OTHER:
    case OTF2_REGION_ROLE_FILE_IO:
    case OTF2_REGION_ROLE_POINT2POINT:
    case OTF2_REGION_ROLE_RMA:
    case OTF2_REGION_ROLE_DATA_TRANSFER:
    case OTF2_REGION_ROLE_ARTIFICIAL:
    case OTF2_REGION_ROLE_THREAD_CREATE:
    case OTF2_REGION_ROLE_THREAD_WAIT:
    case OTF2_REGION_ROLE_ALLOCATE:
    case OTF2_REGION_ROLE_DEALLOCATE:
      return false;
    default:
      return region.paradigm != OTF2_PARADIGM_MPI &&
             region.paradigm != OTF2_PARADIGM_MEASUREMENT_SYSTEM;
  }
}

std::string ProfileSink::begin(const TraceDefinitions& definitions) {
  definitions_ = &definitions;
  marks_.emplace(definitions);
  for (const RegionInfo& region : definitions.regions)
    kinds_.push_back({is_useful(region), region.paradigm == OTF2_PARADIGM_MPI});
  threads_.resize(definitions.locations.size());
  processes_.resize(definitions.processes.size());
  samples_.resize(processes_.size());
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const auto& locations = definitions.processes[i].locations;
    Process& process = processes_[i];
    process.books =
        std::make_unique<NestBooks>(definitions.regions.size(), locations.size());
    process.places.push_back(&process.books->root());
    process.written.resize(definitions.regions.size());
    for (std::uint32_t j = 0; j < locations.size(); ++j) {
      threads_[locations[j]].process = static_cast<std::uint32_t>(i);
      threads_[locations[j]].number = j;
    }
  }
  return {};
}

Place& ProfileSink::place_of(const Thread& thread) const {
  return thread.place != nullptr ? *thread.place
                                 : *processes_[thread.process].places.back();
}

// A thread that is written again before the first one is in the next written iteration
// already.
void ProfileSink::switch_writing(Thread& thread, bool on) {
  thread.written = on;
  thread.place = nullptr;
  const Process& process = processes_[thread.process];
  if (!on || thread.number == 0 || process.held == 0) return;
  const auto& samples = samples_[thread.process];
  if (process.next_written >= samples.size()) return;
  const WrittenIteration& next = samples[process.next_written];
  if (next.depth + 1 == process.places.size())
    thread.place = &process.places.back()->inside(next.loop, next.kind);
}

// The time since the thread's last event belongs to the regions that are open.
void ProfileSink::book(Thread& thread, std::uint64_t ns) {
  if (ns <= thread.ns) return;
  const auto passed = static_cast<double>(ns - thread.ns);
  thread.ns = ns;
  Place& place = place_of(thread);
  if (!thread.written) {
    if (thread.number == 0) place.add_gap(passed);
    return;
  }
  written_ns_ += passed;
  Sums& sums = place.own();
  const auto& stack = thread.stack;
  for (auto region = stack.begin(); region != stack.end(); ++region)
    if (std::find(stack.begin(), region, *region) == region)
      sums.regions[*region].inclusive_ns += passed;
  // Outside of all regions the first thread does the program's serial work, others nothing.
  const RegionKind top =
      stack.empty() ? RegionKind{thread.number == 0, false} : kinds_[stack.back()];
  if (!stack.empty()) sums.regions[stack.back()].exclusive_ns += passed;
  if (top.useful) sums.threads[thread.number].useful_ns += passed;
  if (!top.mpi) sums.threads[thread.number].outside_mpi_ns += passed;
}

void ProfileSink::book_all(std::uint32_t process, std::uint64_t ns) {
  for (const std::uint32_t location : definitions_->processes[process].locations)
    book(threads_[location], ns);
}

void ProfileSink::event(const TraceEvent& event) {
  Thread& thread = threads_[event.location];
  if (marks_->is_mark(event)) {
    book_all(thread.process, event.ns);
    return event.kind == EventKind::kEnter ? begin_iteration(event) : end_iteration(event);
  }
  switch (event.kind) {
    case EventKind::kEnter:
      book(thread, event.ns);
      if (event.ref >= kinds_.size()) return;
      thread.stack.push_back(event.ref);
      // In a gap it is the end of a held iteration.
      if (thread.written) ++place_of(thread).own().regions[event.ref].calls;
      return;
    case EventKind::kLeave:
      book(thread, event.ns);
      if (!thread.stack.empty()) thread.stack.pop_back();
      return;
    case EventKind::kMeasurementOnOff:
      book(thread, event.ns);
      return switch_writing(thread, event.op == OTF2_MEASUREMENT_ON);
    default:
      return communication(event);
  }
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
  const bool held = !marks_->written(event);
  process.open.push_back({event.ref, held, marks_->complete(event), event.ns});
  if (held && process.held++ == 0) return keep_behind(number, event.ns);
  if (held) return;
  const auto& samples = samples_[number];
  const std::size_t at = process.next_written++;
  // One that is written inside a held one is nobody's sample.
  const SampleKind kind =
      process.held == 0 && at < samples.size() ? samples[at].kind : SampleKind::kOther;
  process.places.push_back(&process.places.back()->inside(event.ref, kind));
  for (const std::uint32_t location : definitions_->processes[number].locations)
    threads_[location].place = nullptr;
}

// From here on nothing is written; threads that are not there yet are in the iteration that
// has just ended for the first one.
void ProfileSink::keep_behind(std::uint32_t number, std::uint64_t ns) {
  Process& process = processes_[number];
  if (process.ended == nullptr || process.ended_ns != ns) return;
  for (const std::uint32_t location : definitions_->processes[number].locations) {
    Thread& thread = threads_[location];
    if (thread.number != 0 && thread.written && thread.place == nullptr)
      thread.place = process.ended;
  }
}

void ProfileSink::end_iteration(const TraceEvent& event) {
  Process& process = processes_[threads_[event.location].process];
  if (process.open.empty()) return;
  const OpenIteration iteration = process.open.back();
  process.open.pop_back();
  process.held -= iteration.held;
  const auto ns = static_cast<double>(event.ns - iteration.begin_ns);
  if (!iteration.held) {
    process.places.back()->end_iteration(ns, iteration.complete);
    process.ended = process.places.back();
    process.ended_ns = event.ns;
    process.places.pop_back();
    process.written[iteration.loop] += iteration.complete;
  }
  // Inside a held iteration all is estimated from typical ones.
  if (process.held != 0) return;
  Place& around = *process.places.back();
  if (iteration.complete) {
    ++around.own().regions[iteration.loop].calls;
    around.own().regions[iteration.loop].inclusive_ns += ns;
  }
  if (iteration.held) around.hold(iteration.loop, iteration.complete, ns);
}

std::string ProfileSink::finish(std::uint64_t end_ns) {
  for (Thread& thread : threads_) book(thread, end_ns);
  sum_up(end_ns);
  return {};
}

void ProfileSink::sum_up(std::uint64_t end_ns) {
  profile_.duration_ns = static_cast<double>(end_ns);
  profile_.processes = processes_.size();
  profile_.threads = threads_.size();
  profile_.thread_ns = profile_.duration_ns * static_cast<double>(threads_.size());
  profile_.written_ns = written_ns_;
  std::vector<double> useful;
  std::vector<double> outside_mpi;
  Sums all(definitions_->regions.size(), 0);
  std::vector<double> written(definitions_->regions.size());
  for (const Process& process : processes_) {
    const Sums sums = process.books->total();
    const auto threads = static_cast<double>(sums.threads.size());
    profile_.estimated_ns +=
        threads * (process.books->gap_ns() - process.books->unexplained_ns());
    profile_.unexplained_ns += threads * process.books->unexplained_ns();
    for (const Sums::Thread& thread : sums.threads) useful.push_back(thread.useful_ns);
    if (!sums.threads.empty()) outside_mpi.push_back(sums.threads.front().outside_mpi_ns);
    all.add(sums, 1, 1);
    for (std::size_t i = 0; i < written.size(); ++i) written[i] += process.written[i];
  }
  profile_.threads_efficiency = efficiencies(useful, profile_.duration_ns);
  profile_.mpi_efficiency = efficiencies(outside_mpi, profile_.duration_ns);
  profile_.messages = {all.sends, all.bytes_sent, all.receives, all.bytes_received,
                       all.collectives};
  add_regions(all, written);
  add_messages_of_loops();
}

// Regions by name and place: an archive may define one more than once.
void ProfileSink::add_regions(const Sums& sums, const std::vector<double>& written) {
  std::map<std::tuple<std::string, std::string, std::uint32_t>, RegionProfile> regions;
  std::map<std::string, LoopProfile> loops;
  for (std::size_t i = 0; i < sums.regions.size(); ++i) {
    const RegionInfo& info = definitions_->regions[i];
    const Sums::Region& sum = sums.regions[i];
    if (sum.calls == 0 && sum.inclusive_ns == 0) continue;
    if (kinds_[i].mpi) profile_.uses_mpi = true;
    if (info.is_loop) {
      LoopProfile& loop = loops[place_of_loop(info.name)];
      loop.name = place_of_loop(info.name);
      loop.iterations += sum.calls;
      loop.held += std::max(0.0, sum.calls - written[i]);
      loop.total_ns += sum.inclusive_ns;
      continue;
    }
    RegionProfile& region = regions[{info.name, info.file, info.line}];
    region.name = info.name;
    region.file = info.file;
    region.line = info.line;
    region.calls += sum.calls;
    region.inclusive_ns += sum.inclusive_ns;
    region.exclusive_ns += sum.exclusive_ns;
  }
  for (auto& [key, region] : regions) profile_.regions.push_back(std::move(region));
  for (auto& [key, loop] : loops) profile_.loops.push_back(std::move(loop));
  std::stable_sort(
      profile_.regions.begin(), profile_.regions.end(),
      [](const auto& a, const auto& b) { return a.exclusive_ns > b.exclusive_ns; });
  std::stable_sort(profile_.loops.begin(), profile_.loops.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
}

void ProfileSink::add_messages_of_loops() {
  for (LoopProfile& loop : profile_.loops) {
    double iterations = 0;
    for (std::uint32_t i = 0; i < definitions_->regions.size(); ++i) {
      const RegionInfo& info = definitions_->regions[i];
      if (!info.is_loop || place_of_loop(info.name) != loop.name) continue;
      for (Process& process : processes_) {
        const NestBooks::Sample sample = process.books->sample(i);
        iterations += sample.iterations;
        loop.sends += sample.counts.sends;
        loop.bytes_sent += sample.counts.bytes_sent;
      }
    }
    if (iterations == 0) continue;
    loop.sends /= iterations;
    loop.bytes_sent /= iterations;
  }
}

}  // namespace refrain::profile
