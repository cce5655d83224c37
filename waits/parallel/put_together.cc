#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "waits/parallel/letters.h"
#include "waits/parallel/shared_analysis.h"
#include "waits/parallel/state_bytes.h"
#include "waits/parallel/step_bytes.h"
#include "waits/replay/joint_replay.h"

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
    std::uint64_t base = definitions.base_ticks;
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
            "not all processes read the same archive: its folder must be the same file system for all");
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
      if (from.batch.damaged()) fail("what a process says of its events is damaged");
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
