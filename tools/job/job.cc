#include "tools/job/job.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;

// 0: not said.
int number_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

std::string find_link() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../lib", "../lib/refrain", "job", "../tools/job"})
    if (const fs::path file = here / place / "librefrain_job_mpich.so";
        fs::exists(file, error))
      return file.lexically_normal();
  return {};
}

void check(int result) {
  if (result != 0) throw std::runtime_error("MPI does not carry messages");
}

}  // namespace

std::string Job::join(std::unique_ptr<Job>& job, bool& first) {
  first = true;
  if (number_of("OMPI_COMM_WORLD_SIZE") > 1) {
    first = number_of("OMPI_COMM_WORLD_RANK") == 0;
    return "several processes can share an analysis with MPICH only, not with Open MPI: "
           "start it with MPICH's mpirun, or once, with --threads";
  }
  if (number_of("PMI_SIZE") < 2) return {};
  first = number_of("PMI_RANK") == 0;
  const std::string file = find_link();
  if (file.empty())
    return "librefrain_job_mpich.so, with which several processes share an analysis, is not there: install it, or "
           "start the command once, with --threads";
  const char* wanted = std::getenv("REFRAIN_MPI_LIBRARY");
  if (wanted == nullptr) wanted = "libmpich.so.12";
  void* mpi = dlopen(wanted, RTLD_NOW | RTLD_GLOBAL);
  void* library = mpi == nullptr ? nullptr : dlopen(file.c_str(), RTLD_NOW);
  if (library == nullptr) {
    const char* why = dlerror();
    return "MPI cannot be loaded, with which several processes share an analysis: " +
           std::string(why == nullptr ? file : why);
  }
  const auto get =
      reinterpret_cast<RefrainGetJobLink>(dlsym(library, REFRAIN_JOB_LINK_NAME));
  const RefrainJobLink* link = get == nullptr ? nullptr : get();
  if (link == nullptr || link->version != REFRAIN_JOB_LINK_VERSION)
    return file + " is of another version of Refrain: install both together";
  int rank = 0, size = 1;
  if (link->start(&rank, &size) != 0) return "MPI cannot be started";
  first = rank == 0;
  if (size > 1) job = std::make_unique<Job>(*link, rank, size);
  return {};
}

void Job::send(std::uint32_t to, const writer::Bytes& bytes) {
  check(link_.send(static_cast<int>(to), bytes.data(), bytes.size()));
}

writer::Bytes Job::receive(std::uint32_t from) {
  std::size_t length = 0;
  check(link_.expect(static_cast<int>(from), &length));
  writer::Bytes bytes(length);
  check(link_.receive(static_cast<int>(from), bytes.data(), length));
  return bytes;
}

int Job::leave(int status) {
  link_.end(&status);
  return status;
}

}  // namespace refrain::tools
