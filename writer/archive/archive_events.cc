#include "writer/archive/archive_events.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <string>

#include "writer/archive/definitions.h"
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

void plan_files(const MpiJob::Models& models, const regions::RegionTable& regions,
                unsigned threads) {
  for (const auto& model : models) {
    std::vector<std::vector<FileMoment>> moments(model->locations());
    parallel_for(moments.size(), threads, [&](std::size_t i) {
      const auto& keys = model->scan(i).keys;
      if (std::none_of(keys.begin(), keys.end(), [](std::uint64_t key) {
            return key >> 48 == static_cast<std::uint64_t>(regions::RegionClass::kFile);
          }))
        return;
      LocationInput input = location_input(*model, i);
      input.primary = false;
      EventSink nowhere(nullptr, regions.regions());
      nowhere.collect_files(&moments[i]);
      write_location(input, nowhere);
    });
    model->context().files = FileHandles(moments);
  }
}

void plan_threads(const MpiJob::Models& models, const regions::RegionTable& regions,
                  unsigned threads) {
  for (const auto& model : models) {
    const auto begins_threads = [&](std::size_t i) {
      const auto& keys = model->scan(i).keys;
      return std::any_of(keys.begin(), keys.end(), [](std::uint64_t key) {
        const auto cls = static_cast<regions::RegionClass>(key >> 48);
        return cls == regions::RegionClass::kThreadCreate ||
               cls == regions::RegionClass::kThreadJoin ||
               cls == regions::RegionClass::kC11Create ||
               cls == regions::RegionClass::kC11Join;
      });
    };
    std::vector<std::vector<ThreadLink>> links(model->locations());
    parallel_for(links.size(), threads, [&](std::size_t i) {
      if (model->spool().locations[i].facts().thread_function == 0 && !begins_threads(i))
        return;
      LocationInput input = location_input(*model, i);
      input.primary = false;
      EventSink nowhere(nullptr, regions.regions());
      nowhere.collect_threads(&links[i]);
      write_location(input, nowhere);
    });
    model->context().threads = ThreadLinks(links);
  }
}

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
    const ProcessContext& context = models[task.process]->context();
    own.sink().set_metric(context.metric);
    own.sink().set_files(&context.files, context.first_handle,
                         static_cast<std::uint32_t>(task.location));
    own.sink().set_threads(&context.threads, context.contingent);
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

namespace {

enum Marker : OTF2_MarkerRef {
  kLoopFound,
  kSuspended,
  kResumed,
  kBroken,
  kLimit,
  kRecovered,
  kSummary,
  kSlow,
  kMarkers
};

struct MarkerDef {
  const char* category;
  OTF2_MarkerSeverity severity;
};

constexpr MarkerDef kDefs[kMarkers] = {
    {"loop detected", OTF2_SEVERITY_LOW},       {"writing suspended", OTF2_SEVERITY_LOW},
    {"writing resumed", OTF2_SEVERITY_LOW},     {"pattern broken", OTF2_SEVERITY_MEDIUM},
    {"limit reached", OTF2_SEVERITY_HIGH},      {"recovered", OTF2_SEVERITY_HIGH},
    {"iterations skipped", OTF2_SEVERITY_NONE}, {"slow iteration", OTF2_SEVERITY_MEDIUM},
};

const char* suspend_reason(std::uint8_t reason) {
  switch (reason) {
    case spool::kGapIterations:
      return "limit of iterations reached";
    case spool::kGapWindow:
      return "outside the time window";
    case spool::kGapPause:
      return "the program paused the recording";
    case spool::kGapRanks:
      return "left out: not recorded on all ranks";
    case spool::kGapRepresentatives:
      return "represented by another rank with an equal event flow graph";
    case spool::kGapLimit:
      return "memory or disk limit reached";
    default:
      return "unknown reason";
  }
}

const char* resume_reason(const Gap& gap) {
  if (gap.killed) return "the process died; these are its last iterations";
  switch (gap.resume_reason) {
    case spool::kGapIterations:
      return "more iterations of the loop are written";
    case spool::kGapWindow:
      return "inside the time window";
    case spool::kGapPause:
      return "the program resumed the recording";
    case spool::kGapBreak:
      return "pattern broken";
    case spool::kGapLimit:
      return "below the limit again";
    case spool::kGapRanks:
      return "all ranks wrote it";
    case spool::kGapEnd:
      return "the program ended; this is its last iteration";
    case spool::kGapSlow:
      return "iteration with unusual duration";
    default:
      return "unknown reason";
  }
}

class MarkerList {
 public:
  MarkerList(const ProcessModel& process, const std::vector<regions::RegionDef>& regions,
             const ClockMap* clock)
      : process_(process), regions_(regions), clock_(clock) {}

  std::vector<MarkerFacts> make(bool recovered) {
    loops();
    gaps();
    for (const spool::LoopMismatch& mismatch : process_.journal().mismatches)
      put(kBroken, mismatch.ticks, 0,
          loop_name(mismatch.loop) + ": iteration " + std::to_string(mismatch.iteration) +
              " differed from those before");
    for (const spool::LimitReached& limit : process_.journal().limits)
      put(kLimit, limit.ticks, 0,
          limit.cause < spool::kLossCauses ? spool::kLossNames[limit.cause] : "other");
    for (const spool::SkippedSummary& skipped : process_.journal().summaries)
      summary(skipped);
    for (const spool::SlowIteration& slow : process_.journal().slow) this->slow(slow);
    if (recovered)
      put(kRecovered, process_.end_ticks(), 0,
          "recovered: the process died here; open regions end here");
    return std::move(markers_);
  }

 private:
  void put(Marker marker, std::uint64_t ticks, std::uint64_t duration,
           const std::string& text) {
    ticks = std::clamp(ticks, process_.start_ticks(), process_.end_ticks());
    if (clock_ != nullptr) ticks = clock_->to_global(ticks);
    markers_.push_back({marker, ticks, duration, text});
  }

  std::string loop_name(std::uint32_t loop) const {
    const std::uint32_t region = process_.regions().of_loop(loop);
    return region < regions_.size() ? regions_[region].name
                                    : "loop " + std::to_string(loop);
  }

  void loops() {
    for (const spool::LoopVisit& visit : process_.journal().visits) {
      if (visit.visit != 0) continue;
      const auto known = process_.journal().loops.find(visit.loop);
      const std::uint32_t events =
          known != process_.journal().loops.end() ? known->second.body_events : 0;
      put(kLoopFound, visit.found_ticks, 0,
          loop_name(visit.loop) + ": " + std::to_string(events) + " events repeat");
    }
  }

  // The name of the outermost loop that was running.
  std::string loop_at(std::uint64_t ticks) const {
    const spool::LoopVisit* best = nullptr;
    for (const spool::LoopVisit& visit : process_.journal().visits) {
      if (visit.first_ticks > ticks) break;
      if (visit.left && visit.left_ticks < ticks) continue;
      if (best == nullptr || visit.level < best->level) best = &visit;
    }
    return best != nullptr ? loop_name(best->loop) + ": " : std::string();
  }

  void gaps() {
    for (const Gap& gap : process_.gaps().gaps) {
      const std::uint64_t end = std::min(gap.resume_ticks, process_.end_ticks());
      put(kSuspended, gap.suspend_ticks,
          end > gap.suspend_ticks ? end - gap.suspend_ticks : 0,
          loop_at(gap.suspend_ticks) + suspend_reason(gap.suspend_reason));
      if (gap.resume_epoch != kNever)
        put(kResumed, gap.resume_ticks, 0, loop_at(gap.resume_ticks) + resume_reason(gap));
    }
  }

  void summary(const spool::SkippedSummary& skipped) {
    const double ns = 1e9 / process_.ticks_per_second();
    const double count =
        static_cast<double>(std::max<std::uint64_t>(1, skipped.iterations));
    char text[160];
    std::snprintf(text, sizeof(text),
                  ": %llu iterations, total %.0f ns, mean %.0f ns, minimum %.0f ns, "
                  "maximum %.0f ns",
                  static_cast<unsigned long long>(skipped.iterations),
                  static_cast<double>(skipped.total) * ns,
                  static_cast<double>(skipped.total) * ns / count,
                  static_cast<double>(skipped.least) * ns,
                  static_cast<double>(skipped.greatest) * ns);
    put(kSummary, skipped.ticks, 0, loop_name(skipped.loop) + text);
  }

  void slow(const spool::SlowIteration& slow) {
    const double us = 1e6 / process_.ticks_per_second();
    char text[200];
    std::snprintf(text, sizeof(text),
                  ": iteration %llu took %.2f us, %s than others (median %.2f us, "
                  "median deviation %.2f us)",
                  static_cast<unsigned long long>(slow.number),
                  static_cast<double>(slow.duration) * us,
                  slow.duration < slow.median ? "less" : "more",
                  static_cast<double>(slow.median) * us,
                  static_cast<double>(slow.mad) * us);
    put(kSlow, slow.ticks, slow.duration, loop_name(slow.loop) + text);
  }

  const ProcessModel& process_;
  const std::vector<regions::RegionDef>& regions_;
  const ClockMap* clock_;
  std::vector<MarkerFacts> markers_;
};

OTF2_ErrorCode define_markers(OTF2_MarkerWriter* writer) {
  for (OTF2_MarkerRef marker = 0; marker < kMarkers; ++marker) {
    const OTF2_ErrorCode code = OTF2_MarkerWriter_WriteDefMarker(
        writer, marker, "Refrain", kDefs[marker].category, kDefs[marker].severity);
    if (code != OTF2_SUCCESS) return code;
  }
  return OTF2_SUCCESS;
}

OTF2_ErrorCode write_of_location(OTF2_MarkerWriter* writer,
                                 const std::vector<MarkerFacts>& markers,
                                 std::uint64_t primary_location) {
  for (const MarkerFacts& marker : markers) {
    const OTF2_ErrorCode code = OTF2_MarkerWriter_WriteMarker(
        writer, marker.global_ticks, marker.duration, marker.marker,
        OTF2_MARKER_SCOPE_LOCATION, primary_location, marker.text.c_str());
    if (code != OTF2_SUCCESS) return code;
  }
  return OTF2_SUCCESS;
}

}  // namespace

std::vector<MarkerFacts> markers_of(const ProcessModel& process,
                                    const std::vector<regions::RegionDef>& regions,
                                    bool recovered, const ClockMap* clock) {
  return MarkerList(process, regions, clock).make(recovered);
}

void write_markers(Otf2Archive& archive, const std::vector<ProcessFacts>& processes) {
  constexpr const char* kWhat = "cannot write markers";
  OTF2_MarkerWriter* writer = OTF2_Archive_GetMarkerWriter(archive.get());
  if (writer == nullptr) {
    archive.check(OTF2_ERROR_FILE_CAN_NOT_OPEN, kWhat);
    return;
  }
  archive.check(define_markers(writer), kWhat);
  std::uint64_t first = 0;
  for (const ProcessFacts& process : processes) {
    archive.check(write_of_location(writer, process.markers,
                                    location_reference(first, process.primary)),
                  kWhat);
    first += process.locations.size();
  }
  archive.check(OTF2_Archive_CloseMarkerWriter(archive.get(), writer), kWhat);
}

}  // namespace refrain::writer
