// Target constructs: what a thread gives devices to do.
#include "spool/ompt_values.h"
#include "writer/process/record_interpreter.h"

namespace refrain::writer {

namespace ompt = spool::ompt;
using spool::Record;

// Its stream on the device shows the same, and of a submission the kernel.
void RecordInterpreter::begin_target(const Record& record) {
  Frame frame;
  frame.record_kind = record.kind & static_cast<std::uint8_t>(~spool::kSnapshot);
  frame.sub = record.sub;
  frame.begin_ticks = record.ticks;
  const RegionKeys keys = keys_opened_by(record);
  frame.region = process_.regions->find(keys[0]);
  if (frame.record_kind != spool::kTargetBegin)
    frame.stream =
        streams_.of(static_cast<std::uint16_t>(record.payload >> spool::kDeviceShift));
  stack_.push(frame);
  if (frame.stream == nullptr) return;
  const bool kernel = frame.record_kind == spool::kTargetSubmitBegin;
  Frame there;
  there.begin_ticks = record.ticks;
  there.region = kernel ? process_.regions->find(keys[1]) : frame.region;
  frame.stream->push(there);
}

void RecordInterpreter::end_target_data(const Record& record) {
  const std::size_t index = frame_ended_by(record);
  const bool moves =
      record.sub == ompt::kDataToDevice || record.sub == ompt::kDataFromDevice;
  if (index != stack_.size() && moves) {
    const Frame& frame = stack_[index];
    const auto write = [&](EventSink& sink) {
      sink.bytes_moved(record.ticks, record.payload, frame.region);
    };
    stack_.close_to(index + 1, record.ticks);
    stack_.point(record.ticks, write);
    if (frame.stream != nullptr) frame.stream->point(record.ticks, write);
  }
  end(record);
}

}  // namespace refrain::writer
