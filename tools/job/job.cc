#include "tools/job/job.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "base/launcher.h"

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;

std::string find_link(const std::string& name) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../lib", "../lib/refrain", "job", "../tools/job"})
    if (const fs::path file = here / place / name; fs::exists(file, error))
      return file.lexically_normal();
  return {};
}

void check(int result) {
  if (result != 0) throw std::runtime_error("MPI does not carry messages");
}

}  // namespace

base::Result<> Job::join(std::unique_ptr<Job>& job, bool& first) {
  first = base::is_first_of_job();
  if (base::launched_size() < 2) return {};
  const base::SrunInterface srun = base::srun_interface();
  if (srun == base::SrunInterface::kNone)
    return base::Failure{
        "srun has started several processes that cannot find each other: start them with srun --mpi=pmi2 "
        "(MPICH) or --mpi=pmix (Open MPI), or one"};
  const char* launcher = base::launching_mpi();
  const bool openmpi = (launcher != nullptr && std::string_view(launcher) == "openmpi") ||
                       srun == base::SrunInterface::kPmix;
  const std::string name =
      std::string("librefrain_job_") + (openmpi ? "openmpi" : "mpich") + ".so";
  const std::string file = find_link(name);
  if (file.empty())
    return base::Failure{
        name +
        ", with which several processes share an analysis, is not there: install it, or "
        "start the command once, with --threads"};
  const char* wanted = std::getenv("REFRAIN_MPI_LIBRARY");
  if (wanted == nullptr) wanted = openmpi ? "libmpi.so.40" : "libmpich.so.12";
  void* mpi = dlopen(wanted, RTLD_NOW | RTLD_GLOBAL);
  void* library = mpi == nullptr ? nullptr : dlopen(file.c_str(), RTLD_NOW);
  if (library == nullptr) {
    const char* why = dlerror();
    return base::Failure{
        "MPI cannot be loaded, with which several processes share an analysis: " +
        std::string(why == nullptr ? file : why)};
  }
  const auto get =
      reinterpret_cast<RefrainGetJobLink>(dlsym(library, REFRAIN_JOB_LINK_NAME));
  const RefrainJobLink* link = get == nullptr ? nullptr : get();
  if (link == nullptr || link->version != REFRAIN_JOB_LINK_VERSION)
    return base::Failure{file + " is of another version of Refrain: install both together"};
  int rank = 0, size = 1;
  if (link->start(&rank, &size) != 0) return base::Failure{"MPI cannot be started"};
  first = rank == 0;
  if (size > 1) job = std::make_unique<Job>(*link, rank, size);
  return {};
}

void Job::send(std::uint32_t to, const exchange::Bytes& bytes) {
  check(link_.send(static_cast<int>(to), bytes.data(), bytes.size()));
}

exchange::Bytes Job::receive(std::uint32_t from) {
  std::size_t length = 0;
  check(link_.expect(static_cast<int>(from), &length));
  exchange::Bytes bytes(length);
  check(link_.receive(static_cast<int>(from), bytes.data(), length));
  return bytes;
}

int Job::leave(int status) {
  link_.end(&status);
  return status;
}

}  // namespace refrain::tools
