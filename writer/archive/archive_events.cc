#include "writer/archive/archive_events.h"

#include <deque>

#include "writer/archive/location_reference.h"
#include "writer/interpret/event_sink.h"
#include "writer/interpret/location_writer.h"
#include "writer/model/parallel_for.h"

namespace refrain::writer {
namespace {

constexpr const char* kEventsFailed = "cannot write events";

struct Stream {
  std::uint16_t device;
  OTF2_LocationRef reference;
};

struct Task {
  std::size_t process;
  std::size_t location;
  OTF2_LocationRef reference;
  std::vector<Stream> streams;
};

std::vector<Task> tasks_of(const MpiJob::Models& models, const FirstNumbers& first) {
  std::vector<Task> tasks;
  std::uint64_t stream_index = first.stream;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::size_t begin = tasks.size();
    for (std::size_t j = 0; j < models[i]->locations(); ++j)
      tasks.push_back({i, j, location_reference(first.location + begin, j), {}});
    for (const DeviceStream& stream : models[i]->streams())
      tasks[begin + stream.thread].streams.push_back(
          {stream.device,
           stream_reference(first.locations, stream_index++, stream.number)});
  }
  return tasks;
}

// The writer of a location, with what goes into it; closed at the end.
class Output {
 public:
  Output(Otf2Archive& archive, OTF2_LocationRef reference,
         const regions::RegionTable& regions, std::uint64_t spacing)
      : archive_(archive),
        writer_(OTF2_Archive_GetEvtWriter(archive.get(), reference)),
        sink_(writer_, regions.regions()) {
    if (writer_ == nullptr) archive.check(OTF2_ERROR_FILE_CAN_NOT_OPEN, kEventsFailed);
    sink_.set_spacing(spacing);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool is_open() const noexcept { return writer_ != nullptr; }
  EventSink& sink() noexcept { return sink_; }
  void close() {
    if (archive_.check(sink_.error(), kEventsFailed))
      archive_.check(OTF2_Archive_CloseEvtWriter(archive_.get(), writer_), kEventsFailed);
  }

 private:
  Otf2Archive& archive_;
  OTF2_EvtWriter* writer_;
  EventSink sink_;
};

}  // namespace

std::vector<std::vector<LocationOutcome>> write_events(
    Otf2Archive& archive, const MpiJob::Models& models, const MpiJob* mpi,
    const regions::RegionTable& regions, const FirstNumbers& first, unsigned threads) {
  std::vector<std::vector<LocationOutcome>> outcomes(models.size());
  for (std::size_t i = 0; i < models.size(); ++i)
    outcomes[i].resize(models[i]->locations());
  const std::vector<Task> tasks = tasks_of(models, first);
  if (!archive.error().empty() ||
      !archive.check(OTF2_Archive_OpenEvtFiles(archive.get()), kEventsFailed))
    return outcomes;
  parallel_for(tasks.size(), threads, [&](std::size_t i) {
    const Task& task = tasks[i];
    const bool offsets = mpi != nullptr && !mpi->clock(task.process).offsets().empty();
    const std::uint64_t spacing = offsets ? 2 : 1;
    Output own(archive, task.reference, regions, spacing);
    std::deque<Output> streams;
    LocationInput input = location_input(*models[task.process], task.location);
    for (const Stream& stream : task.streams) {
      Output& output = streams.emplace_back(archive, stream.reference, regions, spacing);
      if (!output.is_open()) return;
      input.streams.push_back({stream.device, &output.sink()});
    }
    if (!own.is_open()) return;
    own.sink().set_metric(models[task.process]->context().metric);
    if (mpi != nullptr) {
      input.mpi = &mpi->context(task.process);
      input.decided = &mpi->decided(task.process, task.location);
    }
    LocationOutcome& outcome = outcomes[task.process][task.location];
    outcome = write_location(input, own.sink());
    own.close();
    for (Output& stream : streams) {
      outcome.stream_events.push_back(stream.sink().count());
      stream.close();
    }
  });
  if (archive.error().empty())
    archive.check(OTF2_Archive_CloseEvtFiles(archive.get()), kEventsFailed);
  return outcomes;
}

}  // namespace refrain::writer
