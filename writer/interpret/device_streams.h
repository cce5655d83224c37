// Streams of devices in the archive: what a thread gave a device to do.
//
// Place in the flow: ARCHITECTURE.md, stage 5: record_interpreter.h opens a region of a stream
// together with the one of its thread that gives the work; location_writer.h writes both at once.
// A location is the stream of one thread on one device, so that its events come in order and nest:
// devices work for several threads at once. Its regions begin and end, lie in gaps and are cut as
// those of the thread.
//
// Thread-safety: none, one set a location. Ownership: sinks and gaps must live longer.
// Cost: a look-up among the devices of the thread for each operation.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "writer/interpret/shadow_stack.h"

namespace refrain::writer {

// Where the events of a stream go.
struct StreamOutput {
  std::uint16_t device = 0;
  EventSink* sink = nullptr;
};

// The streams of one thread.
class DeviceStreams {
 public:
  DeviceStreams(const std::vector<StreamOutput>& outputs,
                const regions::ProcessRegions& regions, const GapPlan& gaps) {
    for (const StreamOutput& output : outputs) streams_.emplace_back(output, regions, gaps);
  }
  DeviceStreams(const DeviceStreams&) = delete;
  DeviceStreams& operator=(const DeviceStreams&) = delete;

  // Null: nothing of it is written.
  ShadowStack* of(std::uint16_t device) noexcept {
    for (Stream& stream : streams_)
      if (stream.device == device) return &stream.stack;
    return nullptr;
  }
  void begin_gap(std::uint64_t ticks) {
    for (Stream& stream : streams_) stream.stack.begin_gap(ticks);
  }
  void end_gap(std::uint64_t ticks) {
    for (Stream& stream : streams_) stream.stack.end_gap(ticks);
  }

 private:
  struct Stream {
    Stream(const StreamOutput& output, const regions::ProcessRegions& regions,
           const GapPlan& gaps)
        : device(output.device), timeline(*output.sink, regions, nullptr, {}, gaps) {}
    std::uint16_t device;
    Timeline timeline;
    ShadowStack stack{timeline};
  };
  std::deque<Stream> streams_;
};

}  // namespace refrain::writer
