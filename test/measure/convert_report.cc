// Cost of conversions: events a second of CPU time, and peak memory, on archives
// of several lengths.
//
// Usage: convert_report [millions of events ...]          (default: 1 10)
// The archive: 4 MPI processes with 2 threads each; a thread enters and leaves regions, and
// a process' first one sends a message to the next in every fourth, as programs do. Each
// conversion runs in its own process, whose CPU time (user and system) and maximum resident
// set the kernel reports.
#include <fmt/format.h>
#include <otf2/otf2.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "convert/convert.h"
#include "test/support/files.h"

namespace refrain::test {
namespace {

constexpr int kProcesses = 4, kThreads = 2;
constexpr OTF2_RegionRef kWork = 0, kSend = 1, kRecv = 2;

OTF2_FlushType pre_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
OTF2_TimeStamp post_flush(void*, OTF2_FileType, OTF2_LocationRef) { return 0; }
constexpr OTF2_FlushCallbacks kFlush = {pre_flush, post_flush};

// Ten events: three regions, a send and a receive with their calls.
void write_step(OTF2_EvtWriter* writer, std::uint64_t step, std::uint64_t thread,
                std::uint64_t process) {
  std::uint64_t ticks = step * 10'000 + process * 13 + thread * 7;
  const auto enter = [&](OTF2_RegionRef region) {
    OTF2_EvtWriter_Enter(writer, nullptr, ticks += 100, region);
  };
  const auto leave = [&](OTF2_RegionRef region) {
    OTF2_EvtWriter_Leave(writer, nullptr, ticks += 300, region);
  };
  const bool talks = thread == 0;
  const auto next = static_cast<std::uint32_t>((process + 1) % kProcesses);
  const auto before = static_cast<std::uint32_t>((process + kProcesses - 1) % kProcesses);
  enter(kWork);
  leave(kWork);
  enter(talks ? kSend : kWork);
  if (talks) OTF2_EvtWriter_MpiSend(writer, nullptr, ticks, next, 0, 1, 4096);
  leave(talks ? kSend : kWork);
  ticks += 1000;
  enter(talks ? kRecv : kWork);
  if (talks) OTF2_EvtWriter_MpiRecv(writer, nullptr, ticks + 300, before, 0, 1, 4096);
  leave(talks ? kRecv : kWork);
  enter(kWork);
  leave(kWork);
  if (talks) return;
  enter(kWork);
  leave(kWork);
}

void write_definitions(OTF2_Archive* archive, std::uint64_t steps) {
  OTF2_GlobalDefWriter* writer = OTF2_Archive_GetGlobalDefWriter(archive);
  const char* strings[] = {"", "work", "MPI_Send", "MPI_Recv", "node", "program.c"};
  for (OTF2_StringRef i = 0; i < std::size(strings); ++i)
    OTF2_GlobalDefWriter_WriteString(writer, i, strings[i]);
  OTF2_GlobalDefWriter_WriteClockProperties(
      writer, 2'500'000'000, 0, steps * 10'000 + 10'000, OTF2_UNDEFINED_TIMESTAMP);
  OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, 0, 4, 0,
                                           OTF2_UNDEFINED_SYSTEM_TREE_NODE);
  std::vector<std::uint64_t> world, ranks;
  for (std::uint32_t process = 0; process < kProcesses; ++process) {
    OTF2_GlobalDefWriter_WriteLocationGroup(writer, process, 0,
                                            OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    for (std::uint32_t thread = 0; thread < kThreads; ++thread)
      OTF2_GlobalDefWriter_WriteLocation(writer, process * kThreads + thread, 0,
                                         OTF2_LOCATION_TYPE_CPU_THREAD, 10 * steps,
                                         process);
    world.push_back(process * kThreads);
    ranks.push_back(process);
  }
  for (OTF2_RegionRef region = 0; region < 3; ++region)
    OTF2_GlobalDefWriter_WriteRegion(
        writer, region, 1 + region, 0, 0,
        region == kWork ? OTF2_REGION_ROLE_FUNCTION : OTF2_REGION_ROLE_POINT2POINT,
        region == kWork ? OTF2_PARADIGM_USER : OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, 5,
        10 + region, 0);
  OTF2_GlobalDefWriter_WriteGroup(writer, 0, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                  OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, kProcesses,
                                  world.data());
  OTF2_GlobalDefWriter_WriteGroup(writer, 1, 0, OTF2_GROUP_TYPE_COMM_GROUP,
                                  OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, kProcesses,
                                  ranks.data());
  OTF2_GlobalDefWriter_WriteComm(writer, 0, 0, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
  OTF2_Archive_CloseGlobalDefWriter(archive, writer);
}

void write_archive(const std::filesystem::path& folder, std::uint64_t events) {
  const std::uint64_t steps = events / (10 * kProcesses * kThreads);
  OTF2_Archive* archive =
      OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, 1 << 20, 1 << 20,
                        OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  OTF2_Archive_SetSerialCollectiveCallbacks(archive);
  OTF2_Archive_SetFlushCallbacks(archive, &kFlush, nullptr);
  OTF2_Archive_OpenEvtFiles(archive);
  for (std::uint64_t location = 0; location < kProcesses * kThreads; ++location) {
    OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive, location);
    for (std::uint64_t step = 0; step < steps; ++step)
      write_step(writer, step, location % kThreads, location / kThreads);
    OTF2_Archive_CloseEvtWriter(archive, writer);
  }
  OTF2_Archive_CloseEvtFiles(archive);
  write_definitions(archive, steps);
  OTF2_Archive_Close(archive);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// In a separate process, to measure its memory alone.
bool report(const std::filesystem::path& archive, convert::Format format, const char* name,
            std::uint64_t events) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    convert::ConvertOptions options;
    options.archive = archive;
    options.format = format;
    options.overwrite = true;
    const auto result = convert::convert_archive(options);
    if (!result) fmt::print(stderr, "{}\n", result.error());
    _exit(result && result->events == events ? 0 : 1);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0) return false;
  const double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  fmt::print("{:>10} {:<8} {:>9.2f} {:>16.2f} {:>10.1f}\n", events, name, cpu,
             static_cast<double>(events) / 1e6 / cpu,
             static_cast<double>(usage.ru_maxrss) / 1024);
  return true;
}

int run(int argc, char** argv) {
  std::vector<double> millions;
  for (int i = 1; i < argc; ++i) millions.push_back(std::atof(argv[i]));
  if (millions.empty()) millions = {1, 10};
  fmt::print("{:>10} {:<8} {:>9} {:>16} {:>10}\n", "events", "to", "CPU s",
             "M events/CPU s", "peak MiB");
  for (const double million : millions) {
    const TemporaryFolder folder;
    const std::uint64_t step = 10 * kProcesses * kThreads;
    const auto events = static_cast<std::uint64_t>(million * 1e6) / step * step;
    const pid_t child = fork();  // the memory of writing must not count
    if (child == 0) {
      write_archive(folder.path(), events);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 1;
    using enum convert::Format;
    for (const auto& [format, name] : {std::pair{kCsv, "csv"}, std::pair{kChrome, "chrome"},
                                       std::pair{kParaver, "paraver"}})
      for (int round = 0; round < 3; ++round)
        if (!report(folder.path(), format, name, events)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace refrain::test

int main(int argc, char** argv) { return refrain::test::run(argc, argv); }
