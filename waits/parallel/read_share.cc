#include <cstring>
#include <exception>
#include <utility>

#include "waits/parallel/letters.h"
#include "waits/parallel/shared_analysis.h"
#include "waits/parallel/shares.h"
#include "waits/parallel/state_bytes.h"
#include "waits/parallel/step_bytes.h"

namespace refrain::waits {
namespace {

constexpr const char* kStopped = "another part of the analysis has failed";

class ShareReader final : private reader::TraceSink {
 public:
  ShareReader(exchange::Exchange& exchange, EventSource& source, std::size_t batch)
      : exchange_(exchange),
        source_(source),
        writer_([this](exchange::Bytes& bytes) { send(bytes); }, batch),
        patterns_(all_patterns()),
        replay_(patterns_, writer_) {}

  std::string run() {
    std::string error;
    try {
      error = hello();
      if (error.empty())
        error = source_.run(base_, *this,
                            [this](std::uint64_t done, std::uint64_t) { done_ = done; });
      if (error.empty() && stopped_) error = kStopped;
      if (error.empty()) result();
    } catch (const std::exception& wrong) {
      error = std::string("the events cannot be analysed: ") + wrong.what();
    }
    try {
      if (!error.empty()) say_error(error);
      while (open_answers_ > 0) answer();
    } catch (const std::exception&) {  // rank 0 cannot be reached
    }
    return error;
  }

 private:
  std::string hello() {
    std::string error = source_.open();
    if (!error.empty()) return error;
    const reader::TraceDefinitions& definitions = source_.definitions();
    const auto readers = static_cast<std::size_t>(exchange_.size() - 1);
    share_ = std::move(shares_of(definitions, readers)[exchange_.rank() - 1]);
    error = source_.choose(share_.locations, base_);
    if (!error.empty()) return error;
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
    return stopped_ ? kStopped : "";
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

  std::string begin(const reader::TraceDefinitions& definitions) override {
    return replay_.begin(definitions);
  }
  void event(const reader::TraceEvent& event) override {
    writer_.event(event.ticks, event.location);
    replay_.event(event);
  }
  std::string error() const override { return stopped_ ? kStopped : ""; }
  std::string finish(std::uint64_t end_ns) override {
    std::string error = replay_.finish(end_ns);
    writer_.flush();
    return error;
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

std::string read_share(exchange::Exchange& exchange, EventSource& source,
                       std::size_t batch) {
  return ShareReader(exchange, source, batch).run();
}

}  // namespace refrain::waits
