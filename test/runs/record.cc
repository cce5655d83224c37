// Records one run, as an action of the build (tools/bazel/recorded_run.bzl): into a directory its `archive`, the messages
// that ranks log (`log.RANK`, messages.h), what the program printed (`output`, `errors`) and its exit `status`. Fails,
// with what was printed, if that is not the one that the run is to have.
//
//   record FOLDER NAME STATUS PROGRAM THREADS RANKS WAY [SETTING=VALUE ...] -- [VARIABLE=VALUE ...] -- [ARGUMENT ...]
//
// RANKS: 0 without MPI. WAY: inside, outside (of mpirun).
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "test/runs/run_program.h"

namespace refrain::test {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// Those up to the next "--", which is removed, too.
Words take_part(Words& words) {
  Words part;
  while (!words.empty()) {
    std::string word = words.front();
    words.erase(words.begin());
    if (word == "--") break;
    part.push_back(std::move(word));
  }
  return part;
}

std::map<std::string, std::string> pairs(const Words& words) {
  std::map<std::string, std::string> result;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) throw std::runtime_error("no value: " + word);
    result[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return result;
}

constexpr int kMaxTries = 4;

bool overflowed(const Result& result) {
  return result.errors.find("ring_overflow") != std::string::npos;
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

int record(Words words) {
  constexpr std::size_t kFixed = 7;
  if (words.size() < kFixed) throw std::runtime_error("too few arguments");
  const Words fixed(words.begin(), words.begin() + kFixed);
  words.erase(words.begin(), words.begin() + kFixed);
  const fs::path folder = fs::absolute(fixed[0]);
  const int status = std::stoi(fixed[2]), threads = std::stoi(fixed[4]),
            ranks = std::stoi(fixed[5]);
  const auto settings = pairs(take_part(words)), environment = pairs(take_part(words));
  std::string name;
  Result result;
  const auto run = [&] {
    if (ranks == 0) {
      const Job job{fixed[3], words, threads, settings, environment};
      name = name_of_run(job);
      result = run_job(job, Way::kRun, folder / "archive");
      return;
    }
    const MpiJob job{.program = fixed[3],
                     .arguments = words,
                     .ranks = ranks,
                     .threads = threads,
                     .settings = settings,
                     .environment = environment,
                     .message_log = folder / "log"};
    const MpiWay way = fixed[6] == "outside" ? MpiWay::kOutside : MpiWay::kInside;
    name = name_of_run(job, way);
    result = run_mpi(job, way, folder / "archive");
  };
  run();
  // Where a busy machine takes a thread's core away, an iteration becomes a slow one whose begin is not in the ring any more. (What
  // an overflow does is tested with small rings.)
  for (int tries = 1; tries < kMaxTries && overflowed(result); ++tries) {
    for (const fs::directory_entry& each : fs::directory_iterator(folder))
      fs::remove_all(each.path());
    run();
  }
  if (name != fixed[1]) throw std::runtime_error("its name is " + name);
  if (result.timed_out || result.exit_status != status)
    throw std::runtime_error((result.timed_out
                                  ? "took too long"
                                  : "status " + std::to_string(result.exit_status)) +
                             "\n" + result.output + result.errors);
  write(folder / "output", result.output);
  write(folder / "errors", result.errors);
  write(folder / "status", std::to_string(result.exit_status));
  return 0;
}

}  // namespace
}  // namespace refrain::test

int main(int argc, char** argv) {
  try {
    return refrain::test::record({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "record %s: %s\n", argc > 2 ? argv[2] : "", error.what());
    return 1;
  }
}
