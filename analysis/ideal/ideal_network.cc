#include "analysis/ideal/ideal_network.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

#include "analysis/run_totals.h"
#include "base/mpi_roles.h"

namespace refrain::analysis {

namespace {

using reader::EventKind;
using reader::TraceEvent;

// So that no sum of an archive that defines nonsense overflows.
constexpr std::uint64_t kMaxTicks = std::uint64_t{1} << 60;
constexpr double kMaxUnknown = 0.1;  // of the time

// Iterations of one class differ by a factor of √2 at most.
int class_of(double ticks) {
  return ticks < 1 ? -1 : static_cast<int>(2 * std::log2(ticks));
}

constexpr int kAnyClass = 1 << 20;

bool communicates(EventKind kind) {
  switch (kind) {
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend:
    case EventKind::kMpiRecv:
    case EventKind::kMpiIrecv:
    case EventKind::kMpiCollectiveEnd:
    case EventKind::kRmaCollectiveEnd:
    case EventKind::kNonBlockingCollectiveComplete:
      return true;
    default:
      return false;
  }
}

}  // namespace

base::Result<> IdealNetwork::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  for (const reader::RegionInfo& region : definitions.regions) {
    Kind& kind = kinds_.emplace_back();
    if (region.is_loop) {
      kind.loop = static_cast<std::uint32_t>(out_.loops.size());
      out_.loops.push_back(region.name);
    }
    const std::string name = reader::mpi_procedure(region.name);
    kind.mpi = !region.is_loop &&
               (region.paradigm == OTF2_PARADIGM_MPI || name.starts_with("MPI_"));
    if (!kind.mpi) continue;
    kind.file = base::role_of_mpi(name, region.role) == OTF2_REGION_ROLE_FILE_IO;
    kind.start = name.starts_with("MPI_Init") && !name.starts_with("MPI_Initialized");
    kind.end = name == "MPI_Finalize";
    kind.neighbours = name.starts_with("MPI_Neighbor") || name.starts_with("MPI_Ineighbor");
  }
  threads_.resize(definitions.processes.size());
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    threads_[i].process = ProcessId(i);
    for (const LocationId location : definitions.processes[i].locations)
      if (threads_[i].location == kNone && definitions.locations[location].is_thread())
        threads_[i].location = location;
    threads_[i].loops.resize(out_.loops.size());
  }
  for (const reader::LocationInfo& location : definitions.locations)
    counts_.push_back(location.is_thread() && location.process < threads_.size());
  matcher_ = std::make_unique<reader::MessageMatcher>(
      definitions, [this](const reader::MatchedMessage& message) { matched(message); });
  operations_ = std::make_unique<IdealOperations>(definitions);
  return {};
}

// --- Events to steps -----------------------------------------------------------------------

void IdealNetwork::event(const TraceEvent& event) {
  if (!counts_[event.location]) return;
  damaged_ = damaged_ || event.uncertain;
  Thread& thread = threads_[definitions_->locations[event.location].process];
  if (event.location != thread.location) {
    several_threads_ = several_threads_ || communicates(event.kind);
    return;
  }
  Ticks now = static_cast<Ticks>(
      std::min(event.ticks - std::min(event.ticks, definitions_->base_ticks), kMaxTicks));
  if (!std::exchange(thread.seen, true))
    thread.last = thread.at = thread.clock = thread.start = thread.start_clock = now;
  now = std::max(thread.last, now);
  const bool enters = event.kind == EventKind::kEnter;
  const bool region = enters || event.kind == EventKind::kLeave;
  if (region && event.ref >= kinds_.size()) return;
  const Kind kind = region ? kinds_[event.ref] : Kind{};
  thread.last = now;
  if (thread.ended) return;
  if (kind.loop != kNone)
    marked(thread, event, now);
  else if (kind.mpi)
    enters ? enter(thread, event, now) : leave(thread, event.ref, now);
  else if (event.kind == EventKind::kMeasurementOnOff)
    switched(thread, event.op == OTF2_MEASUREMENT_OFF, now);
  else if (!region)
    in_mpi(thread, event, now);
  work();
}

void IdealNetwork::enter(Thread& thread, const TraceEvent& event, Ticks now) {
  if (thread.depth++ != 0) return;
  thread.region = event.ref;
  thread.call = call_of(event);
  begin_call(thread, now);
}

std::uint32_t IdealNetwork::call_of(const TraceEvent& event) {
  const std::uint32_t site = reader::call_site(event);
  const auto next = static_cast<std::uint32_t>(calls_.size());
  const auto [at, is_new] = call_numbers_.try_emplace({event.ref, site}, next);
  if (!is_new) return at->second;
  std::string name = definitions_->regions[event.ref].name;
  if (site != kNone) {
    const std::string place =
        definitions_->value_text(OTF2_TYPE_SOURCE_CODE_LOCATION, site);
    name += " @" + place.substr(place.rfind('/') + 1);
  }
  calls_.push_back({.name = name, .without = name == without_});
  return next;
}

void IdealNetwork::begin_call(Thread& thread, Ticks now) {
  thread.begun = now;
  push(thread, {.step = Step::kCompute, .time = now});
  if (kinds_[thread.region].end) {
    thread.ended = true;
    push(thread, {.step = Step::kEnd, .time = now});
  }
}

void IdealNetwork::leave(Thread& thread, std::uint32_t region, Ticks now) {
  if (thread.depth == 0 || (thread.depth == 1 && region != thread.region)) return;
  if (--thread.depth == 0) end_call(thread, now);
}

// What it sends it has sent before it waits for others.
void IdealNetwork::end_call(Thread& thread, Ticks now) {
  const Kind& kind = kinds_[thread.region];
  if (calls_[thread.call].without) without_waits(thread);
  for (Item& item : thread.waits) item.call = thread.call;
  for (const Item& item : thread.sends) push(thread, item);
  for (const Item& item : thread.waits) push(thread, item);
  thread.sends.clear();
  thread.waits.clear();
  push(thread, {.step = kind.start  ? Step::kStart
                        : kind.file ? Step::kCompute
                                    : Step::kSkip,
                .time = now});
}

void IdealNetwork::without_waits(Thread& thread) {
  for (Item& item : thread.waits) {
    if (item.step == Step::kReceive) forget(item.number);
    if (item.step == Step::kWait) item.step = Step::kPass;
  }
  std::erase_if(thread.waits, [](const Item& item) { return item.step == Step::kReceive; });
}

void IdealNetwork::in_mpi(Thread& thread, const TraceEvent& event, Ticks now) {
  if (event.uncertain) return;
  const std::uint32_t before =
      static_cast<std::uint32_t>(thread.sends.size() + thread.waits.size());
  const auto known = [&] {
    return definitions_->process_of(event.ref, event.peer, thread.process) <
           threads_.size();
  };
  reader::MessageSide message{.location = event.location};
  switch (event.kind) {
    case EventKind::kMpiSend:
    case EventKind::kMpiIsend:
      if (!known()) return;
      thread.sends.push_back({.step = Step::kSend, .number = end_of_message()});
      message.number = thread.sends.back().number;
      matcher_->event(event, message);
      break;
    case EventKind::kMpiRecv:
    case EventKind::kMpiIrecv:
      if (known()) {
        thread.waits.push_back({.step = Step::kReceive, .number = end_of_message()});
        message.number = thread.waits.back().number;
      }
      matcher_->event(event, message);
      break;
    case EventKind::kMpiIrecvRequest:
    case EventKind::kMpiRequestCancelled:
      return matcher_->event(event, message);
    case EventKind::kMpiCollectiveEnd:
    case EventKind::kRmaCollectiveEnd: {
      const bool window = event.kind == EventKind::kRmaCollectiveEnd;
      const bool neighbours = thread.depth != 0 && kinds_[thread.region].neighbours;
      const auto part = operations_->next(thread.process, event.ref, window, true, event.op,
                                          event.peer, neighbours);
      thread.sends.push_back(
          {.step = Step::kArrive, .number = part.operation, .rank = part.rank});
      thread.waits.push_back(
          {.step = Step::kWait, .number = part.operation, .rank = part.rank});
      break;
    }
    case EventKind::kNonBlockingCollectiveRequest:
      started(thread, event);
      break;
    case EventKind::kNonBlockingCollectiveComplete:
      completed(thread, event);
      break;
    default:
      return;
  }
  // Of tools that write no region for it.
  if (thread.depth == 0 && before != thread.sends.size() + thread.waits.size()) {
    push(thread, {.step = Step::kCompute, .time = now});
    for (std::vector<Item>* items : {&thread.sends, &thread.waits}) {
      for (const Item& item : *items) push(thread, item);
      items->clear();
    }
  }
}

void IdealNetwork::started(Thread& thread, const TraceEvent& event) {
  if (free_started_.empty()) {
    free_started_.push_back(static_cast<std::uint32_t>(started_.size()));
    started_.emplace_back();
  }
  const std::uint32_t number = free_started_.back();
  free_started_.pop_back();
  started_[number] = {};
  thread.requests[event.request] = thread.first_open + thread.open.size();
  thread.open.push_back(
      {.started = number,
       .neighbours = thread.depth != 0 && kinds_[thread.region].neighbours});
  thread.sends.push_back({.step = Step::kBegin, .number = number});
}

void IdealNetwork::completed(Thread& thread, const TraceEvent& event) {
  const auto found = thread.requests.find(event.request);
  if (found == thread.requests.end()) return;
  const std::uint64_t at = found->second - thread.first_open;
  thread.requests.erase(found);
  Open& own = thread.open[at];
  own.completed = true;
  own.comm = event.ref;
  own.operation = event.op;
  own.root = event.peer;
  thread.waits.push_back({.step = Step::kFinish, .number = own.started});
  while (!thread.open.empty() && thread.open.front().completed) {
    const Open& front = thread.open.front();
    Started& to = started_[front.started];
    to.part = operations_->next(thread.process, front.comm, false, false, front.operation,
                                front.root, front.neighbours);
    to.known = true;
    if (to.begun != kNotYet) wake(operations_->arrive(to.part, to.begun));
    if (to.waiter != kNone) wake(to.waiter);
    thread.open.pop_front();
    ++thread.first_open;
  }
}

// A call that goes on while nothing is written is over, and another one goes on after that.
void IdealNetwork::switched(Thread& thread, bool off, Ticks now) {
  if (thread.off == off) return;
  if (off && thread.depth != 0) end_call(thread, now);
  if (!off) not_written(thread, now);
  thread.off = off;
  thread.off_until = now;
  for (Level& level : thread.levels) level.written = kPart;
  if (!off && thread.depth != 0) begin_call(thread, now);
}

void IdealNetwork::not_written(Thread& thread, Ticks now) {
  if (thread.off && !thread.levels.empty())
    thread.levels.back().off += now - thread.off_until;
  thread.off_until = now;
}

// An iteration of a loop. None of them is inside of a call.
void IdealNetwork::marked(Thread& thread, const TraceEvent& event, Ticks now) {
  not_written(thread, now);
  if (event.kind == EventKind::kEnter) {
    thread.levels.push_back({.loop = kinds_[event.ref].loop,
                             .written = thread.off ? kNot : kWhole,
                             .begun = now});
    return push(thread, {.step = Step::kIteration, .time = now});
  }
  if (thread.levels.empty() || thread.levels.back().loop != kinds_[event.ref].loop) return;
  const Level level = thread.levels.back();
  thread.levels.pop_back();
  push(thread, {.step = Step::kIterationEnd,
                .number = level.loop,
                .rank = level.written,
                .time = now});
  if (level.off == 0) return;
  if (!thread.levels.empty() && thread.levels.back().written == kNot) {
    thread.levels.back().off += level.off;
    return;
  }
  const std::uint32_t outermost =
      thread.levels.empty() ? level.loop : thread.levels.front().loop;
  const int cls =
      level.written == kNot ? class_of(static_cast<double>(now - level.begun)) : kAnyClass;
  thread.loops[outermost].off[level.loop][cls].time += static_cast<double>(level.off);
}

// --- Messages ------------------------------------------------------------------------------

std::uint32_t IdealNetwork::end_of_message() {
  if (free_ends_.empty()) {
    free_ends_.push_back(static_cast<std::uint32_t>(ends_.size()));
    ends_.emplace_back();
  }
  const std::uint32_t number = free_ends_.back();
  free_ends_.pop_back();
  ends_[number] = {};
  return number;
}

// The receive does not wait for its message.
void IdealNetwork::forget(std::uint32_t receive) {
  End& own = ends_[receive];
  if (own.other == kNone) {
    own.given_up = true;
    return;
  }
  End& send = ends_[own.other];
  if (send.sent != kNotYet)
    release(own.other);
  else
    send.given_up = true;
  release(receive);
}

void IdealNetwork::release(std::uint32_t end) { free_ends_.push_back(end); }

void IdealNetwork::matched(const reader::MatchedMessage& message) {
  const auto send = static_cast<std::uint32_t>(message.send.number),
             receive = static_cast<std::uint32_t>(message.receive.number);
  if (ends_[receive].given_up) {
    release(receive);
    if (ends_[send].sent != kNotYet) return release(send);
    ends_[send].given_up = true;
    return;
  }
  ends_[receive].other = send;
  if (ends_[receive].waiter != kNone) wake(ends_[receive].waiter);
}

// --- The replay ----------------------------------------------------------------------------

void IdealNetwork::push(Thread& thread, Item item) {
  thread.queue.push_back(item);
  if (thread.queue.size() == 1) wake(thread.process);
  if (thread.queue.size() > kMaxSteps) give_up(thread);
}

void IdealNetwork::wake(std::uint32_t process) { ready_.push_back(process); }
void IdealNetwork::wake(const std::vector<std::uint32_t>& processes) {
  ready_.insert(ready_.end(), processes.begin(), processes.end());
}

void IdealNetwork::work() {
  while (!ready_.empty()) {
    const std::uint32_t process = ready_.back();
    ready_.pop_back();
    run(threads_[process]);
  }
}

void IdealNetwork::run(Thread& thread) {
  while (!thread.queue.empty() && done(thread, thread.queue.front()))
    thread.queue.pop_front();
}

bool IdealNetwork::done(Thread& thread, const Item& item) {
  switch (item.step) {
    case Step::kCompute:
      thread.clock += item.time - thread.at;
      thread.at = item.time;
      return true;
    case Step::kSkip:
      thread.at = item.time;
      return true;
    case Step::kEnd:
      thread.end = thread.at;
      thread.end_clock = thread.clock;
      return true;
    case Step::kStart:
      // What was before it is the process' own.
      thread.start = thread.at = item.time;
      thread.start_clock = thread.clock = 0;
      return true;
    case Step::kSend: {
      End& end = ends_[item.number];
      end.sent = thread.clock;
      if (end.given_up)
        release(item.number);
      else if (end.waiter != kNone)
        wake(end.waiter);
      return true;
    }
    case Step::kReceive:
      return receive(thread, item);
    case Step::kArrive:
      wake(operations_->arrive({item.number, item.rank}, thread.clock));
      return true;
    case Step::kWait: {
      const auto time = operations_->leave({item.number, item.rank}, thread.process);
      if (!time) return false;
      wait_until(thread, *time, item);
      operations_->left({item.number, item.rank});
      return true;
    }
    case Step::kPass:
      operations_->left({item.number, item.rank});
      return true;
    case Step::kBegin: {
      Started& own = started_[item.number];
      own.begun = thread.clock;
      if (own.known) wake(operations_->arrive(own.part, own.begun));
      return true;
    }
    case Step::kFinish: {
      Started& own = started_[item.number];
      own.waiter = thread.process;
      if (!own.known) return false;
      const auto time = operations_->leave(own.part, thread.process);
      if (!time) return false;
      wait_until(thread, *time, item);
      operations_->left(own.part);
      free_started_.push_back(item.number);
      return true;
    }
    case Step::kIteration:
      thread.clock += item.time - thread.at;
      thread.at = item.time;
      thread.iterations.emplace_back(thread.at, thread.clock);
      return true;
    case Step::kIterationEnd:
      thread.clock += item.time - thread.at;
      thread.at = item.time;
      iteration_ends(thread, item);
      return true;
  }
  return true;
}

void IdealNetwork::wait_until(Thread& thread, Ticks time, const Item& item) {
  const Ticks waits = std::max<Ticks>(0, time - thread.clock);
  thread.clock += waits;
  calls_[item.call].waited += waits;
}

bool IdealNetwork::receive(Thread& thread, const Item& item) {
  End& own = ends_[item.number];
  own.waiter = thread.process;
  if (own.other == kNone) return false;
  End& send = ends_[own.other];
  send.waiter = thread.process;
  if (send.sent == kNotYet) return false;
  wait_until(thread, send.sent, item);
  release(own.other);
  release(item.number);
  return true;
}

void IdealNetwork::iteration_ends(Thread& thread, const Item& item) {
  const auto [at, clock] = thread.iterations.back();
  thread.iterations.pop_back();
  const auto time = static_cast<double>(thread.at - at);
  const double saved = time - static_cast<double>(thread.clock - clock);
  Loop& loop = thread.loops[item.number];
  if (item.rank == kWhole) loop.whole[class_of(time)].add(time, saved);
  if (!thread.iterations.empty()) return;
  loop.all.add(time, saved);
  if (item.rank == kWhole) loop.whole_time += time;
  if (item.rank == kPart) loop.part_time += time;
  ++loop.iterations;
  if (loop.first.size() < IdealRun::Loop::kFirst) loop.first.push_back({time, saved});
}

// The first step waits for what is not in the archive, or not yet.
void IdealNetwork::give_up(Thread& thread) {
  run(thread);
  if (thread.queue.empty()) return;
  const Item item = thread.queue.front();
  ++out_.given_up;
  if (item.step == Step::kReceive) {
    forget(item.number);
  } else if (item.step == Step::kWait) {
    operations_->left({item.number, item.rank});
  } else if (item.step == Step::kFinish && started_[item.number].known) {
    operations_->left(started_[item.number].part);
  }
  thread.queue.pop_front();
  run(thread);
}

// --- The result ----------------------------------------------------------------------------

// The share of its time that an iteration of this class saves; of no class, the mean of all. Negative: not known.
double IdealNetwork::saved_by(const ByClass& written, int cls) {
  const Sums* like = nullptr;
  int nearest = 0;
  Sums all;
  for (const auto& [other, sums] : written) {
    all.add(sums.time, sums.saved);
    if (sums.time > 0 && (like == nullptr || std::abs(other - cls) < nearest)) {
      like = &sums;
      nearest = std::abs(other - cls);
    }
  }
  if (!(all.time > 0)) return -1;
  if (cls == kAnyClass) like = &all;
  return std::max(0.0, like->saved / like->time);
}

IdealRun::Process IdealNetwork::result_of(const Thread& thread, std::uint32_t rank) {
  const double ns = 1e9 / static_cast<double>(definitions_->ticks_per_second);
  IdealRun::Process out{.rank = rank, .whole = {}, .loops = {}};
  out.whole.time_ns = ns * static_cast<double>(thread.end - thread.start);
  out.whole.saved_ns =
      out.whole.time_ns - ns * static_cast<double>(thread.end_clock - thread.start_clock);
  for (const Loop& loop : thread.loops) {
    IdealRun::Loop& to = out.loops.emplace_back();
    to.iterations = loop.iterations;
    for (const Sums& each : loop.first)
      to.first.push_back({ns * each.time, ns * each.saved});
    to.time_ns = ns * loop.all.time;
    if (loop.part_time > loop.whole_time) out_.in_parts += to.time_ns;
    to.saved_ns = ns * loop.all.saved;
    // Where no iteration is whole: as all else of the outermost one, with what is estimated of it.
    double off = 0, rest = 0, saved = 0;
    for (const auto& [number, classes] : loop.off)
      for (const auto& [cls, sums] : classes) {
        const double share = saved_by(written_[number], cls);
        off += sums.time;
        if (share < 0)
          rest += sums.time;
        else
          saved += share * sums.time;
      }
    const double known = loop.all.time - rest;
    if (known > 0 && rest > 0)
      saved += rest * std::clamp((loop.all.saved + saved) / known, 0.0, 1.0);
    else
      unknown_time_ += ns * rest;
    // The replay took for computation what was not written.
    to.saved_ns += ns * saved;
    out.whole.saved_ns += ns * saved;
    out_.estimated += ns * off;
  }
  return out;
}

base::Result<> IdealNetwork::finish(std::uint64_t) {
  for (Thread& thread : threads_) {
    if (!thread.seen) continue;
    if (thread.depth != 0 && !thread.ended) end_call(thread, thread.last);
    if (!thread.ended) {
      push(thread, {.step = Step::kCompute, .time = thread.last});
      push(thread, {.step = Step::kEnd, .time = thread.last});
    }
  }
  matcher_->flush();
  work();
  // In the order in which they stopped, so that what others wait for comes first.
  for (;;) {
    Thread* first = nullptr;
    for (Thread& thread : threads_)
      if (!thread.queue.empty() && (first == nullptr || thread.at < first->at))
        first = &thread;
    if (first == nullptr) break;
    give_up(*first);
    work();
  }
  written_.resize(out_.loops.size());
  for (const Thread& thread : threads_)
    for (std::size_t i = 0; i < written_.size(); ++i)
      for (const auto& [cls, sums] : thread.loops[i].whole)
        written_[i][cls].add(sums.time, sums.saved);
  double all = 0;
  std::size_t ranks = 0;
  for (const Thread& thread : threads_) {
    const std::uint32_t rank = definitions_->processes[thread.process].rank;
    ranks += rank != reader::kNone ? 1 : 0;
    if (!thread.seen || rank == reader::kNone) continue;
    out_.processes.push_back(result_of(thread, rank));
    all += out_.processes.back().whole.time_ns;
  }
  if (all > 0) {
    out_.estimated /= all;
    out_.in_parts /= all;
  }
  if (out_.processes.empty())
    out_.unknown = "there are no events of MPI's ranks";
  else if (out_.processes.size() < ranks)
    out_.unknown = "only some ranks have events";
  else if (damaged_)
    out_.unknown = "a part of a file of events is damaged";
  else if (several_threads_)
    out_.unknown = "several threads of a rank call MPI";
  else if (unknown_time_ > kMaxUnknown * all)
    out_.unknown = "loops have no iteration that was written in full";
  return {};
}

std::map<std::string, double> IdealNetwork::waits() const {
  std::map<std::string, double> out;
  for (const Call& call : calls_) out[call.name] += static_cast<double>(call.waited);
  return out;
}

namespace {

// Several replays of the same events.
class Replays final : public reader::TraceSink {
 public:
  explicit Replays(const std::vector<std::string>& without) {
    all_.emplace_back(std::make_unique<IdealNetwork>());
    for (const std::string& call : without)
      all_.push_back(std::make_unique<IdealNetwork>(call));
  }
  base::Result<> begin(const reader::TraceDefinitions& definitions) override {
    for (const auto& each : all_)
      if (const auto done = each->begin(definitions); !done) return done;
    return {};
  }
  void event(const TraceEvent& event) override {
    for (const auto& each : all_) each->event(event);
  }
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override {
    for (const auto& each : all_)
      if (const auto done = each->finish(end_ns); !done) return done;
    return {};
  }
  // The first one is as it was.
  IdealNetwork& operator[](std::size_t number) { return *all_[number]; }

 private:
  std::vector<std::unique_ptr<IdealNetwork>> all_;
};

double time_of(const IdealRun& run) {
  double most = 0;
  for (const IdealRun::Process& process : run.processes)
    most = std::max(most, process.whole.time_ns - process.whole.saved_ns);
  return most;
}

using WaitsByCall = std::map<std::string, double>;

double waits_in(const WaitsByCall& waits, const std::string& call) {
  const auto found = waits.find(call);
  return found == waits.end() ? 0 : found->second;
}

double all_waits(const WaitsByCall& waits) {
  double sum = 0;
  for (const auto& [name, waited] : waits) sum += waited;
  return sum;
}

WithoutWaits compared(const std::string& call, const std::vector<std::string>& calls,
                      const WaitsByCall& before, const WaitsByCall& after) {
  WithoutWaits out;
  out.gone.resize(calls.size());
  const double waited = waits_in(before, call);
  if (waited <= 0) return out;
  for (const auto& [name, then] : after) {
    const double more = then - waits_in(before, name);
    if (more <= out.moved * waited) continue;
    out.moved_to = name;
    out.moved = more / waited;
  }
  out.saved = (all_waits(before) - all_waits(after)) / waited;
  for (std::size_t i = 0; i < calls.size(); ++i)
    if (const double of = waits_in(before, calls[i]); of > 0)
      out.gone[i] = std::clamp(1 - waits_in(after, calls[i]) / of, 0.0, 1.0);
  return out;
}

// Nothing, if there are events to replay.
base::Result<std::string> opened(reader::ArchiveStream& stream,
                                 const std::string& archive) {
  if (const auto done = stream.open(archive); !done) return base::Failure{done.error()};
  if (stream.definitions().summary_only())
    return std::string("there are no events (--summary-only)");
  if (const auto done = stream.definitions().need_threads(); !done)
    return base::Failure{done.error()};
  return std::string();
}

}  // namespace

base::Result<WhatIf> without_waits(const std::string& archive,
                                   const std::vector<std::string>& calls) {
  reader::ArchiveStream stream;
  WhatIf out;
  const auto unknown = opened(stream, archive);
  if (!unknown) return unknown.failure();
  out.unknown = *unknown;
  std::uint64_t events = 0;
  for (const reader::LocationInfo& location : stream.definitions().locations)
    events += std::min(location.events, kMostReplayed);
  if (events > kMostReplayed) out.unknown = "there are too many events";
  if (!out.unknown.empty()) return out;
  Replays replays(calls);
  if (const auto done = stream.run(replays); !done) return base::Failure{done.error()};
  const std::map<std::string, double> before = replays[0].waits();
  const IdealRun as_it_was = replays[0].take();
  out.unknown = as_it_was.unknown;
  if (out.unknown.empty() && as_it_was.in_parts > kMaxUnknown)
    out.unknown = "iterations have gaps inside";
  if (!out.unknown.empty()) return out;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    out.calls.push_back(compared(calls[i], calls, before, replays[i + 1].waits()));
    out.calls.back().gain_ns =
        std::max(0.0, time_of(as_it_was) - time_of(replays[i + 1].take()));
  }
  return out;
}

base::Result<IdealRun> ideal_run(const std::string& archive,
                                 const reader::Progress& progress) {
  reader::ArchiveStream stream;
  const auto unknown = opened(stream, archive);
  if (!unknown) return unknown.failure();
  if (!unknown->empty()) {
    IdealRun none;
    none.unknown = *unknown;
    return none;
  }
  IdealNetwork sink;
  if (const auto done = stream.run(sink, progress); !done)
    return base::Failure{done.error()};
  return sink.take();
}

IdealOperations::IdealOperations(const reader::TraceDefinitions& definitions)
    : definitions_(definitions),
      comms_(2 * definitions.comms.size() + definitions.windows.size()) {}

IdealOperations::Kind IdealOperations::kind_of(std::uint32_t operation) {
  switch (operation) {
    case OTF2_COLLECTIVE_OP_BCAST:
    case OTF2_COLLECTIVE_OP_SCATTER:
    case OTF2_COLLECTIVE_OP_SCATTERV:
      return Kind::kFromRoot;
    case OTF2_COLLECTIVE_OP_GATHER:
    case OTF2_COLLECTIVE_OP_GATHERV:
    case OTF2_COLLECTIVE_OP_REDUCE:
      return Kind::kToRoot;
    case OTF2_COLLECTIVE_OP_SCAN:
    case OTF2_COLLECTIVE_OP_EXSCAN:
      return Kind::kLower;
    default:
      return Kind::kAll;
  }
}

std::uint32_t IdealOperations::comm_of(std::uint32_t index) const {
  const std::size_t comms = definitions_.comms.size(),
                    windows = definitions_.windows.size();
  if (index < comms) return index;
  return index < comms + windows ? definitions_.windows[index - comms].comm
                                 : static_cast<std::uint32_t>(index - comms - windows);
}

IdealOperations::Part IdealOperations::next(ProcessId process, std::uint32_t comm,
                                            bool window, bool blocks,
                                            std::uint32_t operation, std::uint32_t root,
                                            bool neighbours) {
  const std::size_t comms = definitions_.comms.size(),
                    windows = definitions_.windows.size();
  if (comm >= (window ? windows : comms) || operation == OTF2_COLLECTIVE_OP_DESTROY_HANDLE)
    return {};
  const auto index = static_cast<std::uint32_t>(window   ? comms + comm
                                                : blocks ? comm
                                                         : comms + windows + comm);
  Comm& of = comms_[index];
  if (!of.known()) of = Comm(reader::CommMembers(definitions_, comm_of(index)));
  const Comm::Turn turn = of.next(process);
  if (turn.operation == nullptr || of.size() < 2) return {};
  if (turn.operation->number == kNone) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(operations_.size()));
      operations_.emplace_back();
    }
    turn.operation->number = free_.back();
    free_.pop_back();
    Operation& fresh = operations_[turn.operation->number];
    fresh.begun = fresh.arrived = fresh.left = 0;
    fresh.comm = index;
    fresh.latest = 0;
  }
  const std::uint32_t found = turn.operation->number;
  Operation& to = operations_[found];
  if (to.begun++ == 0) {
    const bool between = !window && definitions_.comms[comm].remote != reader::kNone;
    to.kind = between || window                        ? Kind::kAll
              : !neighbours                            ? kind_of(operation)
              : !definitions_.comms[comm].grid.empty() ? Kind::kNeighbours
                                                       : Kind::kAll;
    to.root = root;
    const bool each = to.kind == Kind::kLower || to.kind == Kind::kNeighbours;
    to.times.assign(each ? of.size() : to.kind == Kind::kFromRoot ? 1 : 0, kNotYet);
  }
  return {found, turn.rank};
}

std::vector<std::uint32_t>& IdealOperations::arrive(Part part, Ticks time) {
  woken_.clear();
  if (part.operation == kNone) return woken_;
  Operation& to = operations_[part.operation];
  ++to.arrived;
  to.latest = std::max(to.latest, time);
  if (to.kind == Kind::kFromRoot) {
    if (part.rank == to.root) to.times[0] = time;
  } else if (!to.times.empty()) {
    to.times[part.rank] = time;
  }
  const bool all = to.arrived == comms_[to.comm].size();
  if (all || !to.times.empty()) woken_.swap(to.waiters);
  return woken_;
}

std::optional<IdealOperations::Ticks> IdealOperations::latest_of(const Operation& operation,
                                                                 std::uint32_t rank) const {
  Ticks latest = 0;
  const auto add = [&](std::uint32_t other) {
    const Ticks time = operation.times[other];
    latest = time == kNotYet || latest == kNotYet ? kNotYet : std::max(latest, time);
  };
  if (operation.kind == Kind::kLower) {
    for (std::uint32_t lower = 0; lower < rank; ++lower) add(lower);
  } else {
    reader::for_each_neighbour(definitions_.comms[comm_of(operation.comm)].grid, rank, add);
  }
  if (latest == kNotYet) return {};
  return latest;
}

std::optional<IdealOperations::Ticks> IdealOperations::leave(Part part,
                                                             std::uint32_t waiter) {
  if (part.operation == kNone) return 0;
  Operation& of = operations_[part.operation];
  std::optional<Ticks> found;
  const bool is_root = part.rank == of.root;
  switch (of.kind) {
    case Kind::kFromRoot:
      if (is_root || of.root >= comms_[of.comm].size()) return 0;
      if (of.times[0] != kNotYet) found = of.times[0];
      break;
    case Kind::kToRoot:
      if (!is_root) return 0;
      [[fallthrough]];
    case Kind::kAll:
      if (of.arrived == comms_[of.comm].size()) found = of.latest;
      break;
    case Kind::kLower:
    case Kind::kNeighbours:
      found = latest_of(of, part.rank);
  }
  if (!found) of.waiters.push_back(waiter);
  return found;
}

void IdealOperations::left(Part part) {
  if (part.operation == kNone) return;
  Operation& of = operations_[part.operation];
  ++of.left;
  drop(comms_[of.comm]);
}

// Operations in which all have been, and those which somebody never comes to.
void IdealOperations::drop(Comm& comm) {
  while (!comm.open.empty()) {
    const std::uint32_t number = comm.open.front().number;
    const std::uint32_t begun = number == kNone ? 0 : operations_[number].begun;
    if (number != kNone && operations_[number].left != begun) return;
    if (begun != comm.size() && comm.open.size() <= kMax) return;
    if (number != kNone) {
      operations_[number].waiters.clear();
      free_.push_back(number);
    }
    comm.drop_front();
  }
}

}  // namespace refrain::analysis
