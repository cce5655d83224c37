// Does what Kokkos does with its tool, without Kokkos: finds the library that KOKKOS_TOOLS_LIBS names, and calls its
// functions around kernels. Usage: kokkos steps|odd COUNT; with MPI (-DWITH_MPI) kokkos ranks COUNT
#include <dlfcn.h>
#ifdef WITH_MPI
// Of C alone.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#endif

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

namespace {

struct Space {
  char name[64];
};
struct Settings {
  bool requires_global_fencing;
  bool padding[255];
};

void* g_tool = nullptr;

template <class Function>
void load(Function*& function, const char* name) {
  function = g_tool == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(g_tool, name));
}

template <class... Values>
void call(void (*function)(Values...), Values... values) {
  if (function != nullptr) function(values...);
}

using Begin = void(const char*, std::uint32_t, std::uint64_t*);
using End = void(std::uint64_t);

struct Construct {
  Begin* begin = nullptr;
  End* end = nullptr;
  explicit Construct(const std::string& name) {
    load(begin, ("kokkosp_begin_" + name).c_str());
    load(end, ("kokkosp_end_" + name).c_str());
  }
  template <class Body>
  void run(const char* name, const Body& body) const {
    std::uint64_t id = 77;
    call(begin, name, std::uint32_t{1}, &id);
    body();
    call(end, id);
  }
};

namespace solver {
template <class T>
struct Scale {};
struct Upper {};
}  // namespace solver

void (*g_push)(const char*);
void (*g_pop)();
void (*g_begin_copy)(Space, const char*, const void*, Space, const char*, const void*,
                     std::uint64_t);
void (*g_end_copy)();
void (*g_create)(const char*, std::uint32_t*);
void (*g_start)(std::uint32_t);
void (*g_stop)(std::uint32_t);
void (*g_event)(const char*);

void copy(const char* to, const char* from, std::uint64_t bytes) {
  Space to_space{}, from_space{};
  std::strcpy(to_space.name, to);
  std::strcpy(from_space.name, from);
  if (g_begin_copy == nullptr) return;
  g_begin_copy(to_space, "y", nullptr, from_space, "x", nullptr, bytes);
  g_end_copy();
}

volatile double g_sum = 0;

void kernel() {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < 2000; ++i) sum += i * 0.5;
  g_sum = sum;
}

void serial_kernel() {
  for (int i = 0; i < 500; ++i) g_sum = g_sum + 1;
}

void run_steps(int count) {
  const Construct for_("parallel_for"), reduce("parallel_reduce"), scan("parallel_scan"),
      fence("fence");
  const auto lambda = [] {};
  const std::string tagged = std::string(typeid(solver::Scale<double>).name()) + "/" +
                             typeid(solver::Upper).name();
  std::uint32_t section = 0;
  call(g_create, "io", &section);
  for (int i = 0; i < count; ++i) {
    call(g_push, "step");
    for_.run("axpy", kernel);
    for_.run(typeid(solver::Scale<double>).name(), serial_kernel);
    for_.run(tagged.c_str(), serial_kernel);
    for_.run(typeid(lambda).name(), serial_kernel);
    reduce.run("dot", kernel);
    scan.run("axpy", serial_kernel);
    copy("HOST", "HOST", 800);
    copy("CUDA", "HOST", 1600);
    fence.run("end of step", serial_kernel);
    if (i % 10 == 0) {
      call(g_start, section);
      call(g_event, "checkpoint");
      call(g_stop, section);
    }
    call(g_pop);
  }
}

void run_odd(int count) {
  const Construct for_("parallel_for");
  call(g_pop);
  call(g_end_copy);
  call(for_.end, std::uint64_t{0});
  call(for_.end, ~std::uint64_t{0});
  call(g_stop, std::uint32_t{5});
  call(g_start, ~std::uint32_t{0});
  const std::string long_name(5000, 'n');
  for (const char* name :
       {"", long_name.c_str(), "two\nlines", "12345678901234567890x", "Z"})
    for_.run(name, serial_kernel);
  for (int i = 0; i < 5000; ++i) {
    std::uint32_t section = 0;
    call(g_create, ("section " + std::to_string(i)).c_str(), &section);
    call(g_start, section);
    call(g_stop, section);
  }
  std::thread([&for_, count] {
    for (int i = 0; i < count; ++i) for_.run("of a thread", serial_kernel);
  }).join();
#pragma omp parallel num_threads(2)
  for (int i = 0; i < count; ++i) for_.run("of each thread", serial_kernel);
  call(g_push, "left open");
}

#ifdef WITH_MPI
// Rank 1 has one kernel that takes three times as long as that of the others.
void run_ranks(int count) {
  const Construct for_("parallel_for"), reduce("parallel_reduce");
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < count; ++i) {
    call(g_push, "step");
    for_.run("assemble", [rank] {
      using Clock = std::chrono::steady_clock;
      const auto end = Clock::now() + std::chrono::milliseconds(rank == 1 ? 3 : 1);
      while (Clock::now() < end) continue;
    });
    reduce.run("dot", kernel);
    double mine = g_sum, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    call(g_pop);
  }
}
#else
void run_ranks(int) {}
#endif

void run(const char* how, int count) {
  if (std::strcmp(how, "odd") == 0) return run_odd(count);
  if (std::strcmp(how, "ranks") == 0) return run_ranks(count);
  run_steps(count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
#endif
  if (const char* library = std::getenv("KOKKOS_TOOLS_LIBS"))
    g_tool = dlopen(std::string(library, std::strcspn(library, ";")).c_str(),
                    RTLD_NOW | RTLD_GLOBAL);
  void (*init)(int, std::uint64_t, std::uint32_t, void*);
  load(init, "kokkosp_init_library");
  call(init, 0, std::uint64_t{20211015}, std::uint32_t{0}, static_cast<void*>(nullptr));
  void (*settings)(std::uint32_t, Settings*);
  load(settings, "kokkosp_request_tool_settings");
  Settings wanted{true, {}};
  call(settings, std::uint32_t{1}, &wanted);
  load(g_push, "kokkosp_push_profile_region");
  load(g_pop, "kokkosp_pop_profile_region");
  load(g_begin_copy, "kokkosp_begin_deep_copy");
  load(g_end_copy, "kokkosp_end_deep_copy");
  load(g_create, "kokkosp_create_profile_section");
  load(g_start, "kokkosp_start_profile_section");
  load(g_stop, "kokkosp_stop_profile_section");
  load(g_event, "kokkosp_profile_event");
  const int count = std::atoi(argv[2]);
  run(argv[1], count);
  void (*finalize)();
  load(finalize, "kokkosp_finalize_library");
  call(finalize);
  std::printf("fences=%d\n", wanted.requires_global_fencing ? 1 : 0);
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
