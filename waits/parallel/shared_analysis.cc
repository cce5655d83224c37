#include "waits/parallel/shared_analysis.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "exchange/mailboxes.h"
#include "reader/trace.h"
#include "waits/parallel/step_bytes.h"
#include "waits/replay/joint_replay.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {
namespace {

class Joint {
 public:
  Joint(exchange::Exchange& exchange, EventSource& source, const reader::Progress& progress)
      : exchange_(exchange),
        source_(source),
        progress_(progress),
        patterns_(all_patterns()),
        readers_(exchange.size() - 1) {}

  base::Result<WaitAnalysis> run(const std::string& folder) {
    WaitAnalysis result;
    try {
      error_ = opened().error();
      const std::uint64_t base = hello();
      answer_hello(base);
      if (error_.empty()) {
        state_.begin(source_.definitions(), patterns_);
        JointReplay joint(state_, patterns_, folder);
        merge(joint);
        if (error_.empty()) {
          result = analysis_of(state_, joint.file(), patterns_.tree());
          for (const Reader& each : readers_) result.events += each.events;
        }
      }
    } catch (const std::exception& wrong) {
      fail(std::string("the events cannot be analysed: ") + wrong.what());
    }
    if (error_.empty()) return result;
    stop_all();
    return base::Failure{error_};
  }

 private:
  struct Reader {
    StepBatch batch;
    std::uint64_t events = 0;
    bool greeted = false;
    bool ended = false;
  };

  base::Result<> opened() {
    try {
      return source_.open();
    } catch (const std::exception& wrong) {
      return base::Failure{std::string("the archive cannot be read: ") + wrong.what()};
    }
  }

  std::uint32_t rank(std::size_t reader) const {
    return static_cast<std::uint32_t>(reader + 1);
  }
  void fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }
  void answer(std::size_t reader, Say what, std::uint64_t base = 0) {
    exchange::ByteWriter out;
    out.number(static_cast<std::uint64_t>(what));
    out.number(base);
    exchange_.send(rank(reader), out.bytes());
  }

  // All say when their events begin.
  std::uint64_t hello() {
    const reader::TraceDefinitions& definitions = source_.definitions();
    std::uint64_t base =
        definitions.is_refrain() ? definitions.base_ticks : ~std::uint64_t{0};
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      const exchange::Bytes bytes = exchange_.receive(rank(i));
      exchange::ByteReader in(bytes);
      const std::uint64_t said = in.number();
      if (said != static_cast<std::uint64_t>(Say::kHello)) {
        ended(i, said, in);
        continue;
      }
      readers_[i].greeted = true;
      base = std::min(base, in.number());
      const std::uint64_t locations = in.number(), processes = in.number();
      const std::uint64_t regions = in.number();
      if (error_.empty() && (locations != definitions.locations.size() ||
                             processes != definitions.processes.size() ||
                             regions != definitions.regions.size()))
        fail(
            "not all processes read the same archive: its directory must be on one file "
            "system for all");
    }
    return base;
  }

  void answer_hello(std::uint64_t base) {
    for (std::size_t i = 0; i < readers_.size(); ++i)
      if (readers_[i].greeted) answer(i, error_.empty() ? Say::kGo : Say::kStop, base);
  }

  // Its last message.
  void ended(std::size_t reader, std::uint64_t said, exchange::ByteReader& in) {
    readers_[reader].ended = true;
    if (said == static_cast<std::uint64_t>(Say::kResult) && error_.empty()) {
      readers_[reader].events = in.number();
      if (add_state(in, state_, patterns_.tree().metrics.size())) return;
    }
    const std::string text =
        said == static_cast<std::uint64_t>(Say::kError) ? in.text() : "";
    fail(text.empty() ? "a part of the analysis has ended early" : text);
  }

  // The reader's next batch; false: it has ended.
  bool next_batch(std::size_t reader) {
    exchange::Bytes bytes = exchange_.receive(rank(reader));
    if (!bytes.empty() && bytes[0] == static_cast<std::uint8_t>(Say::kHello)) {
      answer(reader, Say::kStop);  // not everybody has come this far
      return true;
    }
    if (bytes.size() < StepWriter::kPrefix ||
        bytes[0] != static_cast<std::uint8_t>(Say::kSteps)) {
      exchange::ByteReader in(bytes);
      const std::uint64_t said = in.number();
      ended(reader, said, in);
      return false;
    }
    answer(reader, error_.empty() ? Say::kGo : Say::kStop);
    std::memcpy(&readers_[reader].events, bytes.data() + 8, sizeof(std::uint64_t));
    readers_[reader].batch = StepBatch(std::move(bytes));
    return true;
  }

  void show_progress() {
    if (!progress_) return;
    std::uint64_t done = 0, total = 0;
    for (const Reader& each : readers_) done += each.events;
    for (const reader::LocationInfo& each : source_.definitions().locations)
      total += std::min(each.events, ~std::uint64_t{0} - total);
    progress_(std::min(done, total), total);
  }

  // Has a step, after more batches if need be. False: it has ended, or what it says is damaged.
  bool ready(std::size_t reader) {
    Reader& from = readers_[reader];
    while (!from.ended && !from.batch.has_step()) {
      if (from.batch.damaged()) fail("the results of a process are damaged");
      if (!error_.empty() || !next_batch(reader)) return false;
      show_progress();
    }
    return !from.ended;
  }

  // In the order of places: one reader goes on until another one's is earlier.
  void merge(JointReplay& joint) {
    std::vector<std::size_t> heap;
    const auto later = [this](std::size_t a, std::size_t b) {
      return readers_[b].batch.place() < readers_[a].batch.place();
    };
    for (std::size_t i = 0; i < readers_.size(); ++i)
      if (ready(i)) heap.push_back(i);
    std::ranges::make_heap(heap, later);
    bool all_left = false;
    while (!heap.empty() && error_.empty()) {
      std::ranges::pop_heap(heap, later);
      const std::size_t first = heap.back();
      heap.pop_back();
      StepBatch& batch = readers_[first].batch;
      const StepPlace* until =
          heap.empty() ? nullptr : &readers_[heap.front()].batch.place();
      bool more = true;
      while (more && (until == nullptr || !(*until < batch.place()))) {
        if (!all_left && batch.place().part >= JointSteps::Part::kEnds) {
          joint.all_left();
          all_left = true;
        }
        batch.take(state_, joint);
        more = ready(first);
      }
      if (!more) continue;
      heap.push_back(first);
      std::ranges::push_heap(heap, later);
    }
    if (!all_left && error_.empty()) joint.all_left();
  }

  // Those that still read learn it with the answer to their next batch.
  void stop_all() {
    try {
      for (std::size_t i = 0; i < readers_.size(); ++i)
        while (!readers_[i].ended && next_batch(i)) {
        }
    } catch (const std::exception&) {  // nobody can be reached
    }
  }

  exchange::Exchange& exchange_;
  EventSource& source_;
  const reader::Progress& progress_;
  PatternSet patterns_;
  ReplayState state_;
  std::vector<Reader> readers_;
  std::string error_;
};

}  // namespace

base::Result<WaitAnalysis> put_together(exchange::Exchange& exchange, EventSource& source,
                                        const std::string& folder,
                                        const reader::Progress& progress) {
  return Joint(exchange, source, progress).run(folder);
}

void stop_readers(exchange::Exchange& exchange, std::uint32_t readers) {
  exchange::ByteWriter stop;
  stop.number(static_cast<std::uint64_t>(Say::kStop));
  for (std::uint32_t rank = 1; rank <= readers; ++rank) {
    const exchange::Bytes said = exchange.receive(rank);
    if (said.empty() || said[0] != static_cast<std::uint8_t>(Say::kHello)) continue;
    exchange.send(rank, stop.bytes());
    exchange.receive(rank);
  }
}

}  // namespace refrain::waits

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

namespace refrain::waits {
namespace {

// An archive as an EventSource.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: one a thread.

class ArchiveSource final : public EventSource {
 public:
  explicit ArchiveSource(std::string archive) : archive_(std::move(archive)) {}

  base::Result<> open() override {
    if (opened_) return {};
    base::Result<> done = stream_.open(archive_);
    if (done.ok()) done = has_events(archive_, stream_.definitions());
    opened_ = done.ok();
    return done;
  }
  const reader::TraceDefinitions& definitions() const override {
    return stream_.definitions();
  }
  base::Result<std::uint64_t> choose(const std::vector<LocationId>& locations) override {
    if (const auto done = stream_.open_events(locations); !done) return done.failure();
    return stream_.base_ticks();
  }
  base::Result<> run(std::uint64_t base_ticks, reader::TraceSink& sink,
                     const reader::Progress& progress) override {
    return stream_.run_opened(base_ticks, sink, progress);
  }
  std::uint64_t events() const override { return stream_.events(); }

 private:
  std::string archive_;
  reader::ArchiveStream stream_;
  bool opened_ = false;
};

}  // namespace

base::Result<WaitAnalysis> analyze_in_threads(const std::string& archive,
                                              std::size_t threads,
                                              const reader::Progress& progress) {
  ArchiveSource own(archive);
  if (const auto done = own.open(); !done) return done.failure();
  const std::size_t readers = std::min(threads, own.definitions().processes.size() + 1) - 1;
  if (threads < 2 || readers == 0) return analyze_archive(archive, progress);
  exchange::Mailboxes boxes(static_cast<std::uint32_t>(readers + 1));
  const auto read = [&](std::uint32_t rank) {
    ArchiveSource source(archive);
    (void)read_share(*boxes.of(rank), source);
  };
  std::vector<std::jthread> running;
  for (std::uint32_t rank = 1; rank <= readers; ++rank) {
    try {
      running.emplace_back(read, rank);
    } catch (const std::system_error&) {
      stop_readers(*boxes.of(0), static_cast<std::uint32_t>(running.size()));
      return base::Failure{"threads cannot be started; --threads 1 needs none"};
    }
  }
  return put_together(*boxes.of(0), own, folder_of(archive), progress);
}

base::Result<WaitAnalysis> analyze_in_job(const std::string& archive,
                                          exchange::Exchange& exchange,
                                          const reader::Progress& progress) {
  ArchiveSource source(archive);
  if (exchange.rank() == 0)
    return put_together(exchange, source, folder_of(archive), progress);
  const auto done = read_share(exchange, source);
  return done ? base::Result(WaitAnalysis{}) : done.failure();
}

}  // namespace refrain::waits
