#include "writer/archive/archive_events.h"

#include "writer/archive/event_sink.h"
#include "writer/archive/location_reference.h"
#include "writer/process/location_writer.h"
#include "writer/process/parallel_for.h"

namespace refrain::writer {
namespace {

constexpr const char* kWhat = "cannot write events";

struct Task {
  std::size_t process;
  std::size_t location;
  OTF2_LocationRef reference;
};

}  // namespace

std::vector<std::vector<LocationOutcome>> write_events(
    Otf2Archive& archive, const MpiJob::Models& models, const MpiJob* mpi,
    const RegionTable& regions, std::uint64_t first_location, unsigned threads) {
  std::vector<std::vector<LocationOutcome>> outcomes(models.size());
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::uint64_t first = first_location + tasks.size();
    outcomes[i].resize(models[i]->locations());
    for (std::size_t j = 0; j < models[i]->locations(); ++j)
      tasks.push_back({i, j, location_reference(first, j)});
  }
  if (!archive.error().empty() ||
      !archive.check(OTF2_Archive_OpenEvtFiles(archive.get()), kWhat))
    return outcomes;
  parallel_for(tasks.size(), threads, [&](std::size_t i) {
    const Task& task = tasks[i];
    OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive.get(), task.reference);
    if (writer == nullptr) {
      archive.check(OTF2_ERROR_FILE_CAN_NOT_OPEN, kWhat);
      return;
    }
    {
      EventSink sink(writer, regions.regions());
      sink.set_metric(models[task.process]->context().metric);
      if (mpi != nullptr && !mpi->clock(task.process).offsets().empty())
        sink.set_spacing(2);
      LocationInput input = models[task.process]->input(task.location);
      if (mpi != nullptr) input.decided = &mpi->decided(task.process, task.location);
      outcomes[task.process][task.location] = write_location(input, sink);
      if (!archive.check(sink.error(), kWhat)) return;
    }
    archive.check(OTF2_Archive_CloseEvtWriter(archive.get(), writer), kWhat);
  });
  if (archive.error().empty())
    archive.check(OTF2_Archive_CloseEvtFiles(archive.get()), kWhat);
  return outcomes;
}

}  // namespace refrain::writer
