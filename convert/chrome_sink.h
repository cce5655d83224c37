// Writes a trace as JSON in Chrome's Trace Event format, for Perfetto and speedscope.
//
// Place in the flow: ARCHITECTURE.md, stage 7, `refrain convert --to chrome`.
// Shapes: one object a line in "traceEvents"; pid is the process in the order of ranks, tid
// the thread in it.
//   B, E        regions. Those of suspended tasks need not nest: regions inside one that ends
//               are ended with it
//   b, e        iterations of loops that Refrain detected (cat "iteration", args of the end: the
//               number), and intervals without measurement (cat "measurement off")
//   s, f        messages (cat "message"): posted, and a nanosecond before they arrived
//   C           values of metrics, by thread
//   i           markers, parameters
//   M           names and order of processes and threads
// Units: microseconds with three decimals, from the begin of the trace.
// Thread-safety: none. Errors: see trace_sink.h.
// Cost: no allocation for most events; memory for messages in flight.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "convert/text_file.h"
#include "reader/message_matcher.h"
#include "reader/trace_sink.h"

namespace refrain::convert {

class ChromeSink final : public reader::TraceSink {
 public:
  explicit ChromeSink(std::string path) : path_(std::move(path)) {}
  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return file_.error(); }
  base::Result<> finish(std::uint64_t end_ns) override;
  std::vector<std::string> notes() const override { return notes_; }

 private:
  struct Frame {
    std::uint32_t region = 0;
    std::uint64_t begin_ns = 0;
  };
  struct Iteration {
    std::uint32_t region = 0;
    bool numbered = false;
    std::int64_t number = 0;
  };
  struct Location {
    std::string ids;  // "pid":...,"tid":...,
    std::vector<Frame> frames;
    std::vector<Iteration> iterations;
    bool off = false;
    bool after_iteration = false;  // its number follows
  };

  void names();
  void open(char phase, const Location& location, std::uint64_t ns);
  void time(std::uint64_t ns);
  void enter(const reader::TraceEvent& event, Location& location);
  void leave(const reader::TraceEvent& event, Location& location);
  void end_iteration(std::uint32_t index, Location& location, std::uint64_t ns);
  void on_off(const reader::TraceEvent& event, Location& location, bool on);
  void message(const reader::MatchedMessage& message);
  void parameter(const reader::TraceEvent& event, Location& location);
  void metric(const reader::TraceEvent& event, const Location& location);
  void marker(const reader::MarkerInfo& marker);
  void id(std::uint32_t location, std::size_t level);

  std::string path_;
  TextFile file_;
  const reader::TraceDefinitions* definitions_ = nullptr;
  std::vector<Location> locations_;
  std::vector<std::string> regions_;  // "name":...,"cat":...
  std::vector<std::string> places_;   // ,"args":{...}
  std::unique_ptr<reader::MessageMatcher> messages_;
  std::uint64_t message_ = 0;
  std::uint64_t not_nested_ = 0;
  std::vector<std::string> notes_;
};

// As a JSON string, with its quotes; invalid UTF-8 is replaced.
std::string json_string(std::string_view text);

}  // namespace refrain::convert
