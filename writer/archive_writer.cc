#include "writer/archive_writer.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "base/archive_files.h"
#include "base/folder.h"
#include "cube/write_cube.h"
#include "exchange/tree.h"
#include "filters/region_filter.h"
#include "spool/spool_folder.h"
#include "summary/merged_flow.h"
#include "writer/agree/job_spools.h"
#include "writer/agree/mpi_job.h"
#include "writer/agree/rank_choice.h"
#include "writer/agree/write_options.h"
#include "writer/archive/archive_events.h"
#include "writer/archive/archive_folder.h"
#include "writer/archive/definitions.h"
#include "writer/archive/otf2_archive.h"
#include "writer/archive/process_facts.h"
#include "writer/archive/properties.h"
#include "writer/archive/shared_definitions.h"
#include "writer/archive_summaries.h"
#include "writer/budget/budget_trim.h"
#include "writer/model/loop_summaries.h"
#include "writer/model/process_model.h"
#include "writer/summary.h"

namespace refrain::writer {
namespace {

using base::Failure;
using base::Result;

// What an archive, which keeps its first error, says of what was done with it.
Result<> state_of(const Otf2Archive& archive) {
  if (std::string error = archive.error(); !error.empty()) return Failure{std::move(error)};
  return {};
}

// One call of write_archive(), or a process' part of write_archive_together(). All processes of a job take part
// in the same rounds (exchange/tree.h), which throw where another process has failed.
class ArchiveJob {
 public:
  ArchiveJob(const WriteOptions& options, exchange::Exchange& exchange)
      : options_(options),
        exchange_(exchange),
        together_(exchange.size() > 1),
        first_(exchange.rank() == 0),
        regions_(filter_) {}

  Result<WriteResult> run(bool& others_failed) {
    Result<> done;
    try {
      done = write();
    } catch (const exchange::RoundFailed& failure) {
      others_failed = true;
      return Failure{failure.what()};
    } catch (const std::exception& exception) {
      done = Failure{std::string("cannot write the archive: ") + exception.what()};
    }
    if (!done) {
      exchange::fail_round(exchange_);
      return done.failure();
    }
    result_.writing_ns =
        std::chrono::duration<double, std::nano>(Now::now() - began_).count();
    return std::move(result_);
  }

 private:
  Result<> write() {
    if (auto prepared = prepare(); !prepared) return prepared;
    if (auto built = build_models(); !built) return built;
    plan_files(models_, regions_, threads_);
    plan_threads(models_, regions_, threads_);
    share_definitions();
    if (mpi_) {
      mpi_->unite_comms(models_, first_comm_, first_group_);
      mpi_->plan(models_, regions_, threads_, shared_.total().mpi_locations,
                 options_.logical_clock);
    }
    const std::string folder =
        first_ ? work_folder_ : part_folder(work_folder_, exchange_.rank());
    Otf2Archive archive(folder, models_.front()->journal().text(spool::kTextHost),
                        longest_definition_);
    const FirstNumbers first_numbers{first_location_, first_stream_,
                                     shared_.total().locations};
    outcomes_ = write_events(archive, models_, mpi_ ? &*mpi_ : nullptr, regions_,
                             first_numbers, threads_);
    if (auto state = state_of(archive); !state) return state;
    write_local_definitions(archive);
    if (auto state = state_of(archive); !state) return state;
    auto summaries = write_summaries(folder, options_, exchange_.size(), models_, regions_,
                                     outcomes_, first_location_);
    if (!summaries) return summaries.failure();
    summaries_ = *std::move(summaries);
    result_.sampled = summaries_.sampled;
    if (!first_) {
      archive.close();
      if (auto state = state_of(archive); !state) return state;
    }
    std::optional<JobFacts> job = job_facts();
    exchange::gather_up(exchange_, job);
    on_root([&]() -> Result<> {
      if (!job) return Failure{"another process could not write its part"};
      sum_up(*job);
      write_graph(job->flow);
      if (auto written = write_global(archive, *job); !written) return written;
      archive.close();
      return state_of(archive);
    });
    if (auto published = publish(); !published) return published;
    remove_spool();
    return {};
  }

  // Work that only rank 0 does, and whose result all need.
  template <typename Work>
  void on_root(Work work) {
    std::optional<exchange::Nothing> done;
    std::string error = "process 0 could not write its part";
    if (first_) {
      try {
        const Result<> worked = work();
        if (worked)
          done.emplace();
        else
          error = worked.error();
      } catch (const std::exception& exception) {
        error = exception.what();
      }
    }
    exchange::send_down(exchange_, done);
    if (!done) throw exchange::RoundFailed(error);
  }

  Result<> prepare() {
    Assignment wanted{options_, {}};
    if (first_) {
      if (auto parsed = parse_filter(); !parsed) return parsed;
      spool_ = open_job_spools(options_.archive, own_rank());
      if (auto checked = check_distant(); !checked) return checked;
      if (spool_.processes.empty())
        return Failure{spool_.complaints.empty()
                           ? options_.archive + ": no spool to make an archive from"
                           : spool_.complaints.front()};
      folder_.emplace(options_.archive);
      if (auto made = folder_->prepare(options_.overwrite); !made) return made;
      if (options_.recovered) take_settings_of_run();
      wanted.options.filter = options_.filter;
      wanted.options.budget_bytes = options_.budget_bytes;
      wanted.options.representatives = options_.representatives;
      wanted.options.keep_spool = options_.keep_spool;
      wanted.work_folder = folder_->work_folder();
    }
    wanted = exchange::agree(exchange_, std::move(wanted));
    options_ = std::move(wanted.options);
    work_folder_ = std::move(wanted.work_folder);
    if (!first_)
      if (auto parsed = parse_filter(); !parsed) return parsed;
    if (first_) return {};
    spool_ = open_job_spools(options_.archive, own_rank());
    if (spool_.processes.empty()) {
      // Not traced, or not readable here: another process may write it.
      if (std::filesystem::exists(spool::process_path(options_.archive, exchange_.rank())))
        return Failure{"its spool cannot be read"};
      add_missing_rank(spool_, exchange_.rank());
    }
    // Made by rank 0: if it does not exist, this process sees another file system.
    std::error_code problem;
    std::filesystem::create_directory(part_folder(work_folder_, exchange_.rank()), problem);
    if (problem) return Failure{work_folder_ + ": " + problem.message()};
    return {};
  }

  // What is on other hosts would be lost.
  Result<> check_distant() {
    if (spool_.distant.empty()) return {};
    const std::string where = "the spools of " + spool::places_text(spool_.distant);
    if (!options_.incomplete) return Failure{where};
    spool_.complaints.push_back(where + ", and not in the archive");
    options_.keep_spool = true;
    return {};
  }

  void take_settings_of_run() {
    options_.budget_bytes = options_.representatives = 0;
    for (const spool::ProcessSpool& process : spool_.processes) {
      const auto settings = settings_of(spool::parse_journal(process.journal.log()));
      if (options_.budget_bytes == 0) options_.budget_bytes = settings.budget_bytes;
      if (options_.representatives == 0 && !settings.summary_only)
        options_.representatives = filters::representatives(settings);
      if (options_.filter_of_run) take_filter(settings.filter_file);
    }
  }

  // The summary's graph and rows were kept with it. That of the first process is that of all.
  void take_filter(const std::string& path) {
    options_.filter_of_run = false;
    if (path.empty()) return;
    const auto text = base::small_text(path);
    if (text) options_.filter = *text;
    const std::string problem =
        text ? filter_.parse(options_.filter).error() : text.error();
    if (problem.empty()) return;
    options_.filter.clear();
    result_.complaints.push_back("the run's filter file '" + path + "': " + problem +
                                 "; nothing is filtered, but rows of iterations and event "
                                 "flow graphs of the summary are");
  }

  Result<> parse_filter() {
    if (const auto done = filter_.parse(options_.filter); !done)
      return Failure{"filter: " + done.error()};
    return {};
  }

  std::optional<std::uint32_t> own_rank() const {
    return together_ ? std::optional(exchange_.rank()) : std::nullopt;
  }

  // As many as have more to do than it takes to start one.
  unsigned useful_threads() const {
    constexpr std::uint64_t kOfLocation =
        2000;  // the files and definitions of one, in records
    constexpr std::uint64_t kOfThread = 10'000;  // half a millisecond
    std::uint64_t work = 0;
    for (const spool::ProcessSpool& process : spool_.processes)
      for (const spool::SpoolFile& location : process.locations)
        work += kOfLocation + location.log().size() + location.ring().older.size() +
                location.ring().newer.size();
    const std::uint64_t most = std::max(1U, std::thread::hardware_concurrency());
    return static_cast<unsigned>(std::clamp<std::uint64_t>(work / kOfThread, 1, most));
  }

  Result<> build_models() {
    threads_ = options_.threads != 0 ? options_.threads : useful_threads();
    for (const spool::ProcessSpool& process : spool_.processes)
      models_.push_back(
          std::make_unique<ProcessModel>(process, regions_, options_.recovered, threads_));
    std::stable_sort(models_.begin(), models_.end(),
                     [](const auto& a, const auto& b) { return a->rank() < b->rank(); });
    if (together_ && models_.front()->rank() != exchange_.rank())
      return Failure{"the spool of process " + std::to_string(exchange_.rank()) +
                     " is that of another rank"};
    if (together_ || MpiJob::is_job(models_)) mpi_.emplace(exchange_);
    if (mpi_)
      result_.ranks = choose_representatives(exchange_, options_, models_, regions_);
    result_.budget_bytes = options_.budget_bytes;
    result_.budget_limit = fit_budget(exchange_, models_, options_.budget_bytes);
    if (mpi_) mpi_->cut(models_);
    for (const auto& model : models_)
      if (!model->wanted()) model->leave_out();
    name_loops();
    return {};
  }

  // One number and one name for each loop, in all processes.
  void name_loops() {
    JobLoops own;
    for (const auto& model : models_) own = merge(std::move(own), model->loops());
    const JobLoops all = exchange::agree(exchange_, std::move(own));
    for (const auto& model : models_) model->name_loops(all, regions_);
  }

  // Numbers for what events refer to, the same in all processes.
  void share_definitions() {
    SharedDefinitions own{.regions = regions_.regions(),
                          .places = regions_.places(),
                          .parameters = regions_.parameters(),
                          .strings = {""},
                          .metrics = {},
                          .sizes = {}};
    for (const auto& model : models_) {
      for (std::string& text : regions::program_texts(model->journal()))
        own.strings.push_back(std::move(text));
      for (const auto& [number, text] : model->journal().user.strings)
        own.strings.push_back(text);
      for (const auto& [slot, file] : model->journal().files.files)
        if (file.use.slow != 0) own.strings.push_back(file.path);
      if (!model->journal().user.metrics.empty())
        own.metrics.push_back(model->journal().user.metrics);
      const std::uint64_t locations = model->locations();
      own.add({locations, model->teams().teams().size(),
               model->journal().mpi.known ? locations : 0, model->streams().size(),
               model->context().files.handles().size(),
               model->context().threads.members().empty() ? 0U : 1U});
    }
    shared_ = exchange::agree(exchange_, merge(SharedDefinitions{}, own));
    longest_definition_ = shared_.longest();
    for (const std::string& text : shared_.strings) strings_.intern(text);
    const regions::RegionNumbers numbers =
        regions_.adopt(std::move(shared_.regions), std::move(shared_.places),
                       std::move(shared_.parameters));
    // A process' number is its rank, where all have one.
    const std::uint32_t number = exchange_.rank();
    first_location_ = shared_.before(number).locations;
    first_stream_ = shared_.before(number).streams;
    const ProcessSize total = shared_.total();
    first_comm_ = static_cast<OTF2_CommRef>(total.teams + total.contingents);
    first_group_ = first_mpi_group(total.teams, total.contingents);
    for (std::size_t i = 0; i < models_.size(); ++i) {
      ProcessModel& model = *models_[i];
      model.renumber(numbers);
      ProcessContext& context = model.context();
      context.process = number + static_cast<std::uint32_t>(i);
      context.first_comm = static_cast<OTF2_CommRef>(shared_.before(context.process).teams);
      context.contingent = static_cast<OTF2_CommRef>(
          total.teams + shared_.before(context.process).contingents);
      context.first_handle =
          static_cast<OTF2_IoHandleRef>(shared_.before(context.process).handles);
      for (const std::string& text : regions::program_texts(model.journal()))
        context.arguments.push_back(strings_.intern(text));
      for (const auto& [number, text] : model.journal().user.strings)
        context.user_strings[number] = strings_.intern(text);
      for (const auto& [slot, file] : model.journal().files.files)
        if (file.use.slow != 0 && slot != 0)
          context.user_strings[file_string(slot)] = strings_.intern(file.path);
      const auto metrics = std::find(shared_.metrics.begin(), shared_.metrics.end(),
                                     model.journal().user.metrics);
      context.metric = static_cast<OTF2_MetricRef>(metrics - shared_.metrics.begin());
      context.program = context.arguments.front();
      context.arguments.erase(context.arguments.begin());
    }
  }

  JobFacts job_facts() {
    JobFacts job;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      ProcessModel& model = *models_[i];
      const ClockMap* clock = mpi_ ? &mpi_->clock(i) : nullptr;
      ProcessFacts facts = process_facts(model, outcomes_[i], clock);
      facts.markers = markers_of(model, regions_.regions(), options_.recovered, clock);
      facts.loops = summarize_loops(model, regions_.regions());
      facts.functions_off = functions_off(model);
      if (i == 0 && first_) facts.structure = structure_line(model);
      if (i == 0) facts.spool_bytes = spool_.disk_bytes;
      if (i == 0) facts.complaints = own_complaints();
      const auto& complaints = model.resolver().complaints();
      facts.complaints.insert(facts.complaints.end(), complaints.begin(), complaints.end());
      facts.complaints.insert(facts.complaints.end(), model.complaints().begin(),
                              model.complaints().end());
      facts.threads_missing = model.spool().missing;
      facts.records_damaged = model.damaged();
      job.processes.push_back(std::move(facts));
    }
    job.flow = exchange::merge_in_tree(std::move(summaries_.flows));
    if (mpi_) job.iterations_given_up = mpi_->iterations_given_up();
    if (mpi_) job.iterations_alone = mpi_->iterations_alone();
    return job;
  }

  std::vector<std::string> own_complaints() const {
    std::vector<std::string> all = spool_.complaints;
    all.insert(all.end(), summaries_.complaints.begin(), summaries_.complaints.end());
    return all;
  }

  void write_local_definitions(Otf2Archive& archive) {
    std::vector<LocalDefinitions> processes;
    processes.reserve(models_.size());
    std::uint64_t location = first_location_, stream = first_stream_;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      LocalDefinitions& process = processes.emplace_back();
      if (mpi_) process.offsets = &mpi_->clock(i).offsets();
      for (std::size_t j = 0; j < models_[i]->locations(); ++j)
        process.locations.push_back(location_reference(location, j));
      for (const DeviceStream& each : models_[i]->streams())
        process.locations.push_back(
            stream_reference(shared_.total().locations, stream++, each.number));
      location += models_[i]->locations();
    }
    writer::write_local_definitions(archive, processes);
  }

  void sum_up(JobFacts& job) {
    add_up(job, result_, by_kind_);
    const filters::Settings settings = settings_of(models_.front()->journal());
    result_.summary_only = models_.front()->journal().summary_only;
    if (!result_.summary_only) result_.limit_reason = limit_reason(settings, result_);
    if (!mpi_) return;
    result_.mpi.used = true;
    result_.mpi.clock_checked = mpi_->checked();
    result_.mpi.clock_violations = mpi_->violations();
    result_.mpi.clock_repaired = mpi_->repaired();
  }

  Result<> write_global(Otf2Archive& archive, const JobFacts& job) {
    OTF2_GlobalDefWriter* definitions = OTF2_Archive_GetGlobalDefWriter(archive.get());
    if (definitions == nullptr)
      archive.check(OTF2_ERROR_FILE_CAN_NOT_OPEN, "cannot write definitions");
    if (auto state = state_of(archive); !state) return state;
    const DefinitionInput input{&job, &regions_, &strings_, mpi_ ? &mpi_->comms() : nullptr,
                                &shared_.metrics};
    archive.check(write_definitions(definitions, input), "cannot write definitions");
    archive.check(OTF2_Archive_CloseGlobalDefWriter(archive.get(), definitions),
                  "cannot write definitions");
    if (auto state = state_of(archive); !state) return state;
    write_markers(archive, job.processes);
    if (auto state = state_of(archive); !state) return state;
    archive.describe(archive_description(result_, by_kind_));
    const Properties properties = shortened(
        archive_properties(models_.front()->journal(), options_, result_, by_kind_),
        result_.loops);
    for (const auto& [name, value] : properties)
      archive.check(
          OTF2_Archive_SetProperty(archive.get(), name.c_str(), value.c_str(), true),
          "cannot set a property");
    return {};
  }

  // The archive is complete without it.
  void write_graph(const summary::MergedFlow& flow) {
    if (flow.nodes.empty()) return;
    const auto written = summary::write_merged_flow(work_folder_, flow);
    if (!written) result_.complaints.push_back(written.error());
  }

  // Moves the files of all ranks together, then the whole archive to its place.
  Result<> publish() {
    if (!first_)
      if (auto own = move_part(work_folder_, exchange_.rank()); !own) return own;
    std::optional<exchange::Nothing> moved = exchange::Nothing{};
    exchange::gather_up(exchange_, moved);
    on_root([&]() -> Result<> {
      if (!moved) return Failure{"another process could not move its part"};
      write_profile();
      if (auto published = folder_->publish(); !published) return published;
      const base::ArchiveBytes bytes = base::archive_bytes(options_.archive);
      result_.archive_bytes = bytes.all;
      result_.event_bytes = bytes.events;
      return {};
    });
    return {};
  }

  // Of the summaries of all processes. The archive is complete without it.
  void write_profile() {
    if (!std::filesystem::exists(std::filesystem::path(work_folder_) / "summary")) return;
    const auto done =
        cube::write_cube(work_folder_, work_folder_ + "/" + cube::kProfileName);
    if (!done) result_.complaints.push_back(done.error());
  }

  // Each process removes its own part, then the first one the rest. The archive exists:
  // errors are only complaints now.
  void remove_spool() {
    if (options_.keep_spool) return;
    if (!first_) spool::remove_spool_of(options_.archive, exchange_.rank());
    exchange::agree(exchange_, exchange::Nothing{});
    if (!first_) return;
    std::error_code error;
    spool::remove_spools(options_.archive, error);
    if (error)
      result_.complaints.push_back(spool::spool_path(options_.archive) +
                                   " cannot be removed: " + error.message());
  }

  using Now = std::chrono::steady_clock;
  const Now::time_point began_ = Now::now();
  WriteOptions options_;
  exchange::Exchange& exchange_;
  const bool together_;  // several processes, each with its own spool
  const bool first_;
  filters::RegionFilter filter_;
  std::optional<ArchiveFolder> folder_;
  std::string work_folder_;
  spool::SpoolFolder spool_;
  regions::RegionTable regions_;
  StringTable strings_;
  SharedDefinitions shared_;
  ProcessModels models_;
  std::vector<std::vector<LocationOutcome>> outcomes_;
  std::array<std::uint64_t, kEventKinds> by_kind_{};
  std::optional<MpiJob> mpi_;
  WrittenSummaries summaries_;        // of the processes here
  std::uint64_t first_location_ = 0;  // number of locations before the first one here
  std::uint64_t first_stream_ = 0;    // likewise, of streams
  OTF2_CommRef first_comm_ = 0;       // of the communicators of MPI
  OTF2_GroupRef first_group_ = 0;     // of the groups of MPI
  std::uint64_t longest_definition_ = 0;
  unsigned threads_ = 1;
  WriteResult result_;
};

}  // namespace

base::Result<WriteResult> write_archive(const WriteOptions& options) noexcept {
  exchange::Alone alone;
  return write_archive_together(options, alone);
}

base::Result<WriteResult> write_archive_together(const WriteOptions& options,
                                                 exchange::Exchange& exchange,
                                                 bool* others_failed) noexcept {
  bool ignored = false;
  base::Failure failed;
  try {
    std::optional<ArchiveJob> job;
    try {
      job.emplace(options, exchange);
    } catch (const std::exception&) {
      exchange::fail_round(exchange);
      throw;
    }
    return job->run(others_failed != nullptr ? *others_failed : ignored);
  } catch (const std::exception& exception) {
    try {
      failed.why = std::string("cannot write the archive: ") + exception.what();
    } catch (...) {
    }
  } catch (...) {
  }
  return failed;
}

}  // namespace refrain::writer
