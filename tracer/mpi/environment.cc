#include "tracer/mpi/environment.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/launcher.h"
#include "summary/time_class.h"
#include "tracer/life/lifecycle.h"
#include "tracer/mpi/call.h"
#include "tracer/mpi/clocks.h"
#include "tracer/mpi/communicator_calls.h"
#include "tracer/mpi/job_exchange.h"
#include "tracer/mpi/message_records.h"
#include "tracer/mpi/message_tables.h"
#include "tracer/mpi/mpi_header.h"
#include "tracer/mpi/other_tools.h"
#include "tracer/mpi/threads.h"
#include "tracer/recorder/memory_reserve.h"
#include "tracer/recorder/own_stack.h"
#include "tracer/recorder/record_time_class.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/live_filter.h"
#include "tracer/runtime/notices.h"
#include "tracer/runtime/search_order.h"

#pragma weak PMPI_Init
#pragma weak PMPI_Initialized
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Bcast
#pragma weak PMPI_Barrier
#pragma weak PMPI_Ibarrier
#pragma weak PMPI_Test
#pragma weak PMPI_Comm_get_parent
#pragma weak PMPI_Query_thread
#pragma weak PMPI_Get_library_version

namespace refrain::mpi {

using runtime::g_session;
using runtime::t_thread;

namespace {

// This process took part in the collectives at the start of MPI, so it must at the end, whether or
// not it could be traced.
bool g_member = false;
// The program has called MPI_Init; sessions.
bool g_initialized = false;
std::atomic<bool> g_sessions{false};

// Waits for all processes of the job. One without the library never comes: those that wait for it
// report that.
bool wait_for_all(int rank, int size) noexcept {
  using namespace std::chrono_literals;
  constexpr auto kPatience = 10s;
  const auto begin = std::chrono::steady_clock::now();
  bool reported = rank != 0 && rank != size - 1;
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) return false;
  for (int done = 0;;) {
    if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    std::this_thread::yield();
    if (reported || std::chrono::steady_clock::now() - begin < kPatience) continue;
    reported = true;
    runtime::warn(
        "MPI_Init waits for processes of the job that are not traced: "
        "trace all processes of the job, or none");
  }
}

// The launcher's processes are no job to MPI. In one line, by the first of them. Where srun has not the interface of Open
// MPI, `refrain run` has reported it: MPI_Init ends the process there.
void report_no_job() noexcept {
  const int processes = base::launched_size();
  if (processes < 2 || !runtime::speaks_for_job()) return;
  const base::SrunInterface srun = base::srun_interface();
  if (kEndsWithoutPmix &&
      (srun == base::SrunInterface::kNone || srun == base::SrunInterface::kPmi))
    return;
  std::array<char, 32> count{};
  std::snprintf(count.data(), count.size(), "%d processes", processes);
  const bool by_srun = srun != base::SrunInterface::kNotSrun;
  constexpr std::string_view kWhat =
      ", and MPI has made each a separate job with its own archive: start it with ";
  runtime::warn({by_srun ? "srun" : "the launcher", " has started ", count.data(), kWhat,
                 by_srun ? kSrunCommand : "", by_srun ? ", or with " : "", "the mpirun of ",
                 kMpiTitle});
}

// Rank 0 has made the directory; an empty name says that it could not.
std::string agree_on_archive(int rank) noexcept {
  std::array<char, 4096> name{};
  if (rank == 0) {
    const std::string made = runtime::make_job_archive();
    if (made.size() < name.size()) std::copy(made.begin(), made.end(), name.begin());
  }
  std::string archive;
  if (PMPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD) ==
      MPI_SUCCESS)
    recorder::attempted([&] { archive = name.data(); });
  return archive;
}

// So that time in calls is of the same class in iterations as in a profile, and the filter knows them.
void classify_procedures() noexcept {
  static constinit std::array<summary::TimeClass, kProcedureNumbers + 1> classes{};
  classes.fill(summary::TimeClass::kMpiManagement);
  for (const ProcedureInfo& procedure : kProcedureTable) {
    classes[procedure.number] = summary::class_of_mpi(procedure.name);
    runtime::name_procedure(static_cast<std::uint16_t>(procedure.number), procedure.name);
  }
  classes[kProcedureNumbers] = summary::class_of_mpi(kPollsName);
  recorder::set_mpi_classes({classes.data(), static_cast<std::uint32_t>(classes.size())});
}

void report_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (PMPI_Get_library_version(text.data(), &length) == MPI_SUCCESS)
    g_session->put_fact(t_thread.recorder, spool::kTextMpi,
                        std::string_view(text.data(), static_cast<std::size_t>(length)));
}

// Before MPI_Init, in which a process may be killed.
void report_names() {
  std::string names;
  for (const ProcedureInfo& procedure : kProcedureTable)
    names += std::to_string(procedure.number) + " " + procedure.name + "\n";
  names += std::to_string(kProcedureNumbers) + " " + kPollsName + "\n";
  g_session->put_fact(t_thread.recorder, spool::kTextProcedures, names);
}

// Reported by the first process when it knows its rank.
std::vector<std::string> g_other_tools;

void look_for_other_tools() noexcept {
  try {
    const OtherTools tools = find_other_tools();
    g_other_tools = described(tools);
    if (!tools.meaning) return;
    std::string names;
    for (const std::string& name : tools.before) names += (names.empty() ? "" : " ") + name;
    g_session->put_fact(t_thread.recorder, spool::kTextTaken, names);
  } catch (const std::exception&) {
    // No memory: the line is not printed.
  }
}

}  // namespace

namespace {

// Returns true if the function at an address is a wrapper of a procedure (its number and one), in C or Fortran.
bool is_procedure(std::uint64_t function, std::uint64_t callee) noexcept {
  Dl_info info{};
  const auto is_it = [callee](const ProcedureInfo& info) {
    return info.number + 1u == callee;
  };
  const auto found = std::find_if(kProcedureTable.begin(), kProcedureTable.end(), is_it);
  if (found == kProcedureTable.end() ||
      dladdr(reinterpret_cast<const void*>(function), &info) == 0 ||
      info.dli_sname == nullptr)
    return false;
  std::string_view name = info.dli_sname;
  if (name.front() == 'P' || name.front() == 'p') name.remove_prefix(1);
  while (!name.empty() && name.back() == '_') name.remove_suffix(1);
  const std::string_view wanted = found->name;
  return std::equal(name.begin(), name.end(), wanted.begin(), wanted.end(),
                    [](char a, char b) { return std::tolower(a) == std::tolower(b); });
}

// Once. False: there is no memory for them.
bool make_all_tables() noexcept {
  static const bool made = recorder::attempted([] {
    make_tables();
    make_communicators();
  });
  return made;
}

}  // namespace

bool start_tracing() noexcept {
  if (PMPI_Init == nullptr || !runtime::tracing_enabled()) return false;
  const recorder::SlowPath slow_path;
  if (!make_all_tables()) {
    runtime::warn("MPI calls are not traced: no memory");
    return false;
  }
  if (runtime::start_session(runtime::Source::kMpi, nullptr) == nullptr) return false;
  if (!recorder::attempted(report_names)) g_tables_failed.store(true);
  classify_procedures();
  g_frames = static_cast<unsigned>(g_session->settings().mpi_frames);
  runtime::SymbolStream& symbols = g_session->stream();
  g_records_local = g_session->settings().local_calls;
  g_facts = nullptr;
  if (g_frames != 0 || symbols.by_paths())
    recorder::attempted([&symbols] { g_facts = &symbols.facts(); });
  if (g_facts != nullptr) g_facts->paths().begin_on_this_thread();
  runtime::ProgramFacts::set_is_callee(is_procedure);
  symbols.set_receives_open(receives_open);
  g_known_calls.forget();
  g_polls = {g_session->settings().limit, recorder::Clock::ticks_of_seconds(kMostBetween)};
  look_for_other_tools();
  g_tracing.store(true);
  return true;
}

void SessionInit::after(int result) noexcept {
  if (result == MPI_SUCCESS) g_sessions.store(true, std::memory_order_relaxed);
}

namespace {
void begin_job(int result) noexcept {
  int rank = 0;
  int size = 1;
  if (result != MPI_SUCCESS || PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
      PMPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS) {
    g_tracing.store(false);
    return;
  }
  if (MPI_Comm parent = MPI_COMM_NULL;
      PMPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL) {
    g_tracing.store(false);
    runtime::join_job({}, 0, 1);
    return;
  }
  g_member = true;
  if (size == 1) report_no_job();
  if (rank == 0)
    for (const std::string& line : g_other_tools) runtime::warn(line);
  if (!wait_for_all(rank, size)) {
    g_tracing.store(false);
    return;
  }
  // From here on all make the same calls, whatever fails in one of them: the others would wait.
  const std::string archive = agree_on_archive(rank);
  const bool joined = runtime::join_job(archive, static_cast<std::uint32_t>(rank),
                                        static_cast<std::uint32_t>(size));
  // Where there was no memory for tables of calls, OpenMP's regions may be recorded all the same.
  const bool traced = joined && make_all_tables();
  g_tracing.store(traced);
  if (traced) {
    if (!recorder::attempted(report_library)) g_tables_failed.store(true);
    enter_world(MPI_COMM_WORLD);
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    g_threads_multiple = level == MPI_THREAD_MULTIPLE;
  }
  agree_on_clock_every(traced ? g_session->settings().clock_every : 0);
  // Also where this process is not traced: the others ask it.
  measure_clocks(rank, size, OwnCommunicator());
}

void end_job(Call& call) noexcept {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  g_tracing.store(false);
  g_member = false;
  int size = 1;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  const WorldErrorsReturned errors_returned;
  const OwnCommunicator own;
  measure_clocks(rank, size, own);
  call.end();
  if (g_session != nullptr && make_all_tables()) report_not_received();
  if (g_tables_failed.load() && g_session != nullptr)
    g_session->put_fact(t_thread.recorder, spool::kTextTaken, "(no memory)");
  runtime::finish_recording();
  // All have stopped recording before the first one reads what was recorded.
  PMPI_Barrier(MPI_COMM_WORLD);
  int wanted = rank == 0 && runtime::has_job_archive() ? 1 : 0;
  if (PMPI_Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS || wanted == 0)
    return;
  if (own.valid()) {
    JobExchange exchange(own);
    runtime::write_job_archive(exchange);
  } else if (rank == 0) {  // the program has all communicators that there are
    exchange::Alone alone;
    runtime::write_job_archive(alone);
  }
}
}  // namespace

// Collective operations of MPICH need more than 128 KiB of the stack: more than those have that the program makes, perhaps.
void Init::after(int result) noexcept {
  g_initialized = true;
  if (g_member || !runtime::takes_part()) return;
  const recorder::LongPath long_path;
  recorder::on_large_stack([result] { begin_job(result); });
}

Finalize::Finalize(Call& call) noexcept {
  if (!g_member) return;
  const recorder::LongPath long_path;
  recorder::on_large_stack([&call] { end_job(call); });
}

namespace {
void look_for_mpi() {
  if (PMPI_Init == nullptr) return;
  // The launcher (PMI) marks processes that MPI_Comm_spawn makes.
  if (std::getenv("PMI_SPAWNED") != nullptr) return runtime::stay_out();
  runtime::expect_job();
  redirect_fortran_libraries();
}
REFRAIN_AT_LOAD(look_for_mpi);

__attribute__((destructor)) void at_unload() {
  if (PMPI_Init == nullptr || g_initialized || !runtime::tracing_enabled() ||
      !runtime::speaks_for_job())
    return;
  if (g_sessions.load(std::memory_order_relaxed))
    return runtime::warn(
        "MPI calls are not traced: the program uses sessions and no MPI_Init");
  try {
    int initialized = 0;
    const std::string other = runtime::taken_by("MPI_Init");
    if (!other.empty() && PMPI_Initialized(&initialized) == MPI_SUCCESS && initialized != 0)
      runtime::warn(
          {"MPI calls are not traced: ", other, " intercepts MPI_Init before Refrain"});
  } catch (const std::exception&) {
    return;
  }
}
}  // namespace

}  // namespace refrain::mpi
