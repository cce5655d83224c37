#include "writer/otf2/archive_writer.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "filters/region_filter.h"
#include "writer/otf2/archive_folder.h"
#include "writer/otf2/definitions.h"
#include "writer/otf2/location_writer.h"
#include "writer/otf2/loop_summaries.h"
#include "writer/otf2/markers.h"
#include "writer/otf2/mpi_job.h"
#include "writer/otf2/otf2_archive.h"
#include "writer/otf2/parallel_for.h"
#include "writer/otf2/process_model.h"
#include "writer/otf2/properties.h"
#include "writer/spool/spool_folder.h"

namespace refrain::writer {
namespace {

// One call of write_archive(). Each step tells its error, empty for success.
class ArchiveJob {
 public:
  explicit ArchiveJob(const WriteOptions& options)
      : options_(options), regions_(filter_), threads_(options.threads) {
    if (threads_ == 0) threads_ = std::max(1U, std::thread::hardware_concurrency());
  }

  WriteResult run() {
    result_.error = filter_.parse(options_.filter);
    if (!result_.error.empty()) {
      result_.error = "filter: " + result_.error;
    } else {
      result_.error = write();
    }
    result_.ok = result_.error.empty();
    return std::move(result_);
  }

 private:
  std::string write() {
    spool_ = spool::open_spool_folder(options_.archive);
    result_.complaints = spool_.complaints;
    result_.spool_bytes = spool_.disk_bytes;
    // A process that died before its first event still gets its (empty) location.
    for (spool::ProcessSpool& process : spool_.processes)
      if (process.locations.empty() && process.journal.usable())
        process.locations.emplace_back();
    std::erase_if(spool_.processes,
                  [](const auto& process) { return process.locations.empty(); });
    if (spool_.processes.empty())
      return options_.archive + ": no spool to make an archive from";
    add_missing_ranks();
    ArchiveFolder folder(options_.archive);
    std::string error = folder.prepare(options_.overwrite);
    if (!error.empty()) return error;
    build_model();
    error = write_files(folder.work_folder());
    if (error.empty()) error = folder.publish();
    if (!error.empty()) return error;
    result_.archive_bytes = archive_bytes(options_.archive);
    if (!options_.keep_spool) remove_spool();
    return {};
  }

  // A rank that left nothing has a place in the archive nevertheless: readers take a
  // process' number for its rank.
  void add_missing_ranks() {
    std::set<std::uint32_t> ranks;
    std::uint32_t size = 0;
    std::uint32_t next = 0;
    for (const spool::ProcessSpool& process : spool_.processes) {
      next = std::max(next, process.process + 1);
      const spool::MpiJournal mpi = spool::parse_journal(process.journal.log()).mpi;
      if (!mpi.known) continue;
      ranks.insert(mpi.rank);
      size = std::max(size, mpi.size);
    }
    if (ranks.empty() || size > kMostRanks) return;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      if (ranks.contains(rank)) continue;
      result_.complaints.push_back("nothing is known of MPI rank " + std::to_string(rank));
      spool::ProcessSpool& missing = spool_.processes.emplace_back();
      missing.process = next++;
      missing.missing_rank = rank;
      missing.locations.emplace_back();
    }
  }

  void build_model() {
    for (const spool::ProcessSpool& process : spool_.processes)
      models_.push_back(
          std::make_unique<ProcessModel>(process, regions_, options_.recovered, threads_));
    std::stable_sort(models_.begin(), models_.end(), [](const auto& a, const auto& b) {
      return a->rank() < b->rank();
    });
    if (MpiJob::is_job(models_)) {
      mpi_.emplace();
      mpi_->cut(models_);
    }
    choose_metrics();
    std::uint32_t first_comm = 0;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      ProcessModel& model = *models_[i];
      ProcessContext& context = model.context();
      context.process = static_cast<std::uint32_t>(i);
      context.first_comm = first_comm;
      first_comm += static_cast<std::uint32_t>(model.teams().teams().size());
      name_program(model.journal(), context);
      result_.locations += model.locations();
      result_.gaps += model.gaps().gaps.size();
      const double ticks = static_cast<double>(model.end_ticks() - model.start_ticks());
      result_.duration_s = std::max(result_.duration_s, ticks / model.ticks_per_second());
    }
    if (mpi_) {
      mpi_->unite_comms(models_, first_comm);
      mpi_->plan(models_, regions_, threads_, options_.logical_clock);
      result_.mpi.used = true;
      result_.mpi.clock_checked = mpi_->checked();
      result_.mpi.clock_violations = mpi_->violations();
      result_.mpi.clock_repaired = mpi_->repaired();
      result_.mpi.iterations_given_up = mpi_->iterations_given_up();
      result_.mpi.iterations_alone = mpi_->iterations_alone();
    }
    result_.processes = models_.size();
    result_.structure = structure_line(*models_.front());
    for (auto& model : models_) {
      std::vector<LoopSummary> loops = summarize_loops(*model, regions_.regions());
      std::move(loops.begin(), loops.end(), std::back_inserter(result_.loops));
      tell_functions_off(*model);
      const auto& complaints = model->symbols().complaints();
      result_.complaints.insert(result_.complaints.end(), complaints.begin(),
                                complaints.end());
    }
  }

  // Processes that were asked for the same counters, and have them, share a class.
  void choose_metrics() {
    for (auto& model : models_) {
      const auto& metrics = model->journal().user.metrics;
      if (metrics.empty()) continue;
      const auto known = std::find(metrics_.begin(), metrics_.end(), metrics);
      model->context().metric = static_cast<OTF2_MetricRef>(known - metrics_.begin());
      if (known == metrics_.end()) metrics_.push_back(metrics);
    }
  }

  void tell_functions_off(ProcessModel& model) {
    for (const spool::FunctionOff& off : model.journal().user.functions_off) {
      const double ns = static_cast<double>(off.ticks) * 1e9 / model.ticks_per_second();
      result_.functions_off.push_back({function_name(model.symbols().at(off.address), off.address),
                                       off.calls,
                                       ns / static_cast<double>(std::max<std::uint64_t>(1, off.calls))});
    }
  }

  void name_program(const spool::Journal& journal, ProcessContext& context) {
    context.program = strings_.intern(journal.text(spool::kTextProgram));
    for (const auto& [number, value] : journal.user.strings)
      context.user_strings[number] = strings_.intern(value);
    const std::string command = journal.text(spool::kTextCommand);
    // The first argument is the program itself.
    bool first = true;
    for (std::size_t at = 0; at < command.size();) {
      const std::size_t end = std::min(command.find('\0', at), command.size());
      if (!first)
        context.arguments.push_back(strings_.intern(command.substr(at, end - at)));
      first = false;
      at = end + 1;
    }
  }

  std::string write_files(const std::string& folder) {
    const spool::Journal& journal = models_.front()->journal();
    Otf2Archive archive(folder, journal.text(spool::kTextHost),
                        "trace of an OpenMP program, reduced by Refrain");
    if (archive.error().empty()) write_events(archive);
    if (archive.error().empty()) write_local_definitions(archive);
    if (archive.error().empty()) write_global(archive);
    archive.close();
    return archive.error();
  }

  void write_events(Otf2Archive& archive) {
    struct Task {
      std::size_t process;
      std::size_t location;
      std::uint64_t ref;
    };
    std::vector<Task> tasks;
    outcomes_.resize(models_.size());
    for (std::size_t i = 0; i < models_.size(); ++i) {
      outcomes_[i].resize(models_[i]->locations());
      for (std::size_t j = 0; j < models_[i]->locations(); ++j)
        tasks.push_back({i, j, tasks.size()});
    }
    if (!archive.check(OTF2_Archive_OpenEvtFiles(archive.get()), "cannot write events"))
      return;
    parallel_for(tasks.size(), threads_, [&](std::size_t i) {
      const Task& task = tasks[i];
      OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive.get(), task.ref);
      if (writer == nullptr) {
        archive.check(OTF2_ERROR_FILE_CAN_NOT_OPEN, "cannot write events");
        return;
      }
      {
        EventSink sink(writer, regions_.regions());
        sink.set_metric(models_[task.process]->context().metric);
        LocationInput input = models_[task.process]->input(task.location);
        if (mpi_) input.decided = &mpi_->decided(task.process, task.location);
        outcomes_[task.process][task.location] = write_location(input, sink);
        if (!archive.check(sink.error(), "cannot write events")) return;
      }
      archive.check(OTF2_Archive_CloseEvtWriter(archive.get(), writer),
                    "cannot write events");
    });
    if (archive.error().empty())
      archive.check(OTF2_Archive_CloseEvtFiles(archive.get()), "cannot write events");
    sum_up();
  }

  void sum_up() {
    for (std::size_t i = 0; i < models_.size(); ++i) {
      for (std::size_t j = 0; j < models_[i]->locations(); ++j) {
        const LocationOutcome& outcome = outcomes_[i][j];
        const spool::SpoolFacts& facts = models_[i]->spool().locations[j].facts();
        result_.events_seen += facts.events_seen;
        result_.events_written += outcome.events_written;
        result_.events_filtered += outcome.filtered;
        result_.events_unmatched += outcome.unmatched;
        result_.archive_events += outcome.archive_events;
        result_.mpi.counts.add(outcome.mpi);
        for (std::size_t cause = 0; cause < spool::kLossCauses; ++cause)
          result_.lost[cause] += facts.lost[cause];
        for (std::size_t kind = 0; kind < kEventKinds; ++kind)
          by_kind_[kind] += outcome.by_kind[kind];
      }
      // What befell threads that could not be given a location is told in the journal.
      const spool::SpoolFile& journal = models_[i]->spool().journal;
      if (!journal.usable()) continue;
      result_.events_seen += journal.facts().events_seen;
      for (std::size_t cause = 0; cause < spool::kLossCauses; ++cause)
        result_.lost[cause] += journal.facts().lost[cause];
    }
  }

  // Definitions are global but for the offsets of clocks; readers open a file of local
  // ones for each location whether it has any or not.
  void write_local_definitions(Otf2Archive& archive) {
    if (!archive.check(OTF2_Archive_OpenDefFiles(archive.get()),
                       "cannot write definitions"))
      return;
    std::size_t process = 0;
    std::uint64_t end_of_process = models_.front()->locations();
    for (std::uint64_t ref = 0; ref < result_.locations; ++ref) {
      for (; ref == end_of_process; end_of_process += models_[process]->locations())
        ++process;
      OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(archive.get(), ref);
      if (writer == nullptr) {
        archive.check(OTF2_ERROR_FILE_CAN_NOT_OPEN, "cannot write definitions");
        break;
      }
      if (mpi_) write_offsets(archive, writer, process);
      if (!archive.check(OTF2_Archive_CloseDefWriter(archive.get(), writer),
                         "cannot write definitions"))
        break;
    }
    archive.check(OTF2_Archive_CloseDefFiles(archive.get()), "cannot write definitions");
  }

  void write_offsets(Otf2Archive& archive, OTF2_DefWriter* writer, std::size_t process) {
    for (const auto& offset : mpi_->clock(process).offsets())
      archive.check(OTF2_DefWriter_WriteClockOffset(writer, offset.ticks,
                                                    offset.offset_ticks,
                                                    static_cast<double>(offset.error_ticks)),
                    "cannot write definitions");
  }

  void write_global(Otf2Archive& archive) {
    OTF2_GlobalDefWriter* definitions = OTF2_Archive_GetGlobalDefWriter(archive.get());
    if (definitions == nullptr) {
      archive.check(OTF2_ERROR_FILE_CAN_NOT_OPEN, "cannot write definitions");
      return;
    }
    const DefinitionInput input{&models_,           &regions_, &outcomes_, &strings_,
                                mpi_ ? &*mpi_ : nullptr, &metrics_};
    archive.check(write_definitions(definitions, input), "cannot write definitions");
    archive.check(OTF2_Archive_CloseGlobalDefWriter(archive.get(), definitions),
                  "cannot write definitions");
    write_marks(archive);
    const Properties properties =
        archive_properties(models_.front()->journal(), options_, result_, by_kind_);
    for (const auto& [name, value] : properties)
      archive.check(
          OTF2_Archive_SetProperty(archive.get(), name.c_str(), value.c_str(), true),
          "cannot set a property");
  }

  void write_marks(Otf2Archive& archive) {
    OTF2_MarkerWriter* markers = OTF2_Archive_GetMarkerWriter(archive.get());
    if (markers == nullptr) {
      archive.check(OTF2_ERROR_FILE_CAN_NOT_OPEN, "cannot write markers");
      return;
    }
    archive.check(define_markers(markers), "cannot write markers");
    for (std::size_t i = 0; i < models_.size(); ++i) {
      if (models_[i]->locations() == 0) continue;
      const std::uint64_t location = first_location(models_, i) + models_[i]->primary();
      archive.check(write_markers(markers, *models_[i], location, regions_.regions(),
                                  options_.recovered, mpi_ ? &mpi_->clock(i) : nullptr),
                    "cannot write markers");
    }
    archive.check(OTF2_Archive_CloseMarkerWriter(archive.get(), markers),
                  "cannot write markers");
  }

  void remove_spool() {
    std::error_code error;
    std::filesystem::remove_all(spool::spool_path(options_.archive), error);
    if (error)
      result_.complaints.push_back(spool::spool_path(options_.archive) +
                                   ": cannot be removed: " + error.message());
  }

  const WriteOptions& options_;
  filters::RegionFilter filter_;
  spool::SpoolFolder spool_;
  RegionTable regions_;
  StringTable strings_;
  std::vector<std::vector<spool::Metric>> metrics_;
  std::vector<std::unique_ptr<ProcessModel>> models_;
  std::vector<std::vector<LocationOutcome>> outcomes_;
  std::array<std::uint64_t, kEventKinds> by_kind_{};
  std::optional<MpiJob> mpi_;
  unsigned threads_;
  WriteResult result_;

  static constexpr std::uint32_t kMostRanks = 1U << 20;
};

}  // namespace

WriteResult write_archive(const WriteOptions& options) noexcept {
  WriteResult failed;
  try {
    return ArchiveJob(options).run();
  } catch (const std::exception& exception) {
    try {
      failed.error = std::string("cannot write the archive: ") + exception.what();
    } catch (...) {
    }
  } catch (...) {
  }
  return failed;
}

}  // namespace refrain::writer
