#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "reader/trace_definitions.h"
#include "waits/parallel/letters.h"
#include "waits/parallel/shared_analysis.h"
#include "waits/parallel/state_bytes.h"
#include "waits/parallel/step_bytes.h"

namespace refrain::waits {
namespace {

// Which processes of a trace each of several readers replays.
//
// Place in the flow: private to waits/parallel. Thread-safety: pure. All that share the work find the same.

struct ReaderShare {
  std::vector<ProcessId> processes;
  std::vector<LocationId> locations;  // those of the processes, in their order
};

// By numbers of events about the same. Locations that belong to no process are the first reader's.
std::vector<ReaderShare> shares_of(const reader::TraceDefinitions& definitions,
                                   std::size_t readers);

std::vector<ReaderShare> shares_of(const reader::TraceDefinitions& definitions,
                                   std::size_t readers) {
  const std::size_t processes = definitions.processes.size();
  std::vector<double> events(processes);
  for (const reader::LocationInfo& location : definitions.locations)
    if (location.process < processes)
      events[location.process] += static_cast<double>(location.events);
  std::vector<ProcessId> order;
  for (ProcessId i; i < processes; ++i) order.push_back(i);
  std::ranges::stable_sort(order,
                           [&](ProcessId a, ProcessId b) { return events[a] > events[b]; });
  std::vector<ReaderShare> shares(readers);
  std::vector<double> given(readers);
  std::vector<std::size_t> reader_of(processes);
  for (const ProcessId process : order) {
    const auto least = static_cast<std::size_t>(
        std::distance(given.begin(), std::ranges::min_element(given)));
    given[least] += events[process] + 1;
    reader_of[process] = least;
  }
  for (ProcessId i; i < processes; ++i) shares[reader_of[i]].processes.push_back(i);
  for (LocationId i; i < definitions.locations.size(); ++i) {
    const ProcessId process = definitions.locations[i].process;
    shares[process < processes ? reader_of[process] : 0].locations.push_back(i);
  }
  return shares;
}

constexpr const char* kStopped = "another part of the analysis has failed";

class ShareReader final : private reader::TraceSink {
 public:
  ShareReader(exchange::Exchange& exchange, EventSource& source, std::size_t batch)
      : exchange_(exchange),
        source_(source),
        writer_([this](exchange::Bytes& bytes) { send(bytes); }, batch),
        patterns_(all_patterns()),
        replay_(patterns_, writer_) {}

  base::Result<> run() {
    base::Result<> done;
    try {
      done = hello();
      if (done)
        done = source_.run(base_, *this,
                           [this](std::uint64_t done, std::uint64_t) { done_ = done; });
      if (done && stopped_) done = base::Failure{kStopped};
      if (done) result();
    } catch (const std::exception& wrong) {
      done = base::Failure{std::string("the events cannot be analysed: ") + wrong.what()};
    }
    try {
      if (!done) say_error(done.error());
      while (open_answers_ > 0) answer();
    } catch (const std::exception&) {  // rank 0 cannot be reached
    }
    return done;
  }

 private:
  base::Result<> hello() {
    if (const auto done = source_.open(); !done) return done;
    const reader::TraceDefinitions& definitions = source_.definitions();
    const auto readers = static_cast<std::size_t>(exchange_.size() - 1);
    share_ = std::move(shares_of(definitions, readers)[exchange_.rank() - 1]);
    const auto begin = source_.choose(share_.locations);
    if (!begin) return begin.failure();
    base_ = *begin;
    exchange::ByteWriter out;
    out.number(static_cast<std::uint64_t>(Say::kHello));
    out.number(base_);
    out.number(definitions.locations.size());
    out.number(definitions.processes.size());
    out.number(definitions.regions.size());
    exchange_.send(0, out.bytes());
    ++open_answers_;
    const exchange::Bytes bytes = answer();
    exchange::ByteReader in(bytes);
    in.number();
    base_ = in.number();
    if (stopped_) return base::Failure{kStopped};
    return {};
  }

  // The first bytes of a batch are for its kind and the number of events until then.
  void send(exchange::Bytes& bytes) {
    if (stopped_) return;
    bytes[0] = static_cast<std::uint8_t>(Say::kSteps);
    std::memcpy(bytes.data() + 8, &done_, sizeof done_);
    exchange_.send(0, bytes);
    if (++open_answers_ > kAhead) answer();
  }

  exchange::Bytes answer() {
    --open_answers_;
    exchange::Bytes bytes = exchange_.receive(0);
    if (bytes.empty() || bytes[0] != static_cast<std::uint8_t>(Say::kGo)) stopped_ = true;
    return bytes;
  }

  void result() {
    exchange::ByteWriter out;
    out.number(static_cast<std::uint64_t>(Say::kResult));
    out.number(source_.events());
    put_state(out, replay_.state(), patterns_.tree().metrics.size(), share_.processes);
    exchange_.send(0, out.bytes());
  }

  void say_error(const std::string& error) {
    exchange::ByteWriter out;
    out.number(static_cast<std::uint64_t>(Say::kError));
    out.text(stopped_ ? "" : error);
    exchange_.send(0, out.bytes());
  }

  base::Result<> begin(const reader::TraceDefinitions& definitions) override {
    return replay_.begin(definitions);
  }
  void event(const reader::TraceEvent& event) override {
    writer_.event(event.ticks, event.location);
    replay_.event(event);
  }
  std::string error() const override { return stopped_ ? kStopped : ""; }
  base::Result<> finish(std::uint64_t end_ns) override {
    const auto done = replay_.finish(end_ns);
    writer_.flush();
    return done;
  }

  exchange::Exchange& exchange_;
  EventSource& source_;
  StepWriter writer_;
  PatternSet patterns_;
  Replay replay_;
  ReaderShare share_;
  std::uint64_t base_ = 0;
  std::uint64_t done_ = 0;
  std::size_t open_answers_ = 0;
  bool stopped_ = false;
};

}  // namespace

base::Result<> read_share(exchange::Exchange& exchange, EventSource& source,
                          std::size_t batch) {
  return ShareReader(exchange, source, batch).run();
}

}  // namespace refrain::waits
