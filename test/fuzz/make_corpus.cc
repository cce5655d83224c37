// Writes the first inputs of the targets with binary inputs: test/fuzz/make_corpus FOLDER.
// tools/check fuzz --add TARGET FOLDER/TARGET/* puts them into the corpus.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "code/synthetic_program.h"
#include "code_profile/samples/sample_file.h"
#include "reader/foreign_archive.h"
#include "test/fuzz/fuzzed_archives.h"
#include "test/support/files.h"
#include "test/support/loop_nest.h"
#include "writer/testing/sample_builder.h"
#include "writer/testing/spool_builder.h"

namespace refrain {
namespace {

namespace fs = std::filesystem;

void append(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i);
}

void save(const fs::path& file, const std::string& input) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << input;
}

void append(std::string& out, const spool::RecordBuilder& file) {
  std::vector<spool::Record> records = file.log;
  records.insert(records.end(), file.ring.begin(), file.ring.end());
  append(out,
         records.size() | (file.suspended ? 0x8000U : 0U) | (file.ended ? 0U : 0x4000U), 2);
  for (const spool::Record& record : records) {
    char bytes[sizeof record];
    std::memcpy(bytes, &record, sizeof record);
    out.append(bytes, sizeof bytes);
  }
}

// The files of a builder with two locations; `skip`: what it has of itself.
void append(std::string& out, spool::SpoolBuilder& builder, std::size_t skip = 0) {
  spool::RecordBuilder journal = builder.journal();
  journal.log.erase(journal.log.begin(),
                    journal.log.begin() + static_cast<std::ptrdiff_t>(skip));
  append(out, journal);
  for (std::uint32_t i = 0; i < 2; ++i) append(out, builder.location(i));
}

void spools(const fs::path& folder) {
  using namespace spool;
  SpoolBuilder plain(2);
  const std::size_t own = plain.journal().log.size();
  for (std::uint64_t i = 1; i <= 6; ++i)
    plain.region(i, 100 * i, 100 * i + 90, 0x401000 + i % 2 * 0x10);
  plain.loop(0, 100, 0x401000);
  for (std::uint64_t i = 1; i <= 6; ++i) plain.iteration(0, i, 100 * i);
  std::string input(1, '\0');
  append(input, plain, own);
  save(folder / "regions", input);

  SpoolBuilder died(2);
  for (std::uint64_t i = 1; i <= 3; ++i) died.region(i, 100 * i, 100 * i + 90, 0x401000);
  for (std::uint32_t i = 0; i < 2; ++i) died.location(i).not_ended();
  input.assign(1, '\4');
  append(input, died, own);
  save(folder / "died", input);

  input.assign(1, '\3');
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    SpoolBuilder job(2);
    job.mpi(rank, 2);
    const std::size_t known = job.journal().log.size();
    job.journal().add(kMarksEnd, 1);
    auto& log = job.location(0);
    for (std::uint64_t i = 0; i < 4; ++i) {
      log.enter_mpi(100 + 10 * i, rank == 0 ? kTestSend : kTestRecv, 0x401000, i + 1);
      log.message(rank == 0 ? kMpiSend : kMpiRecv, 101 + 10 * i,
                  {.peer = 1 - rank, .tag = 3, .number = i, .bytes = 8});
      log.leave_mpi(102 + 10 * i, rank == 0 ? kTestSend : kTestRecv, 0x401000);
    }
    log.enter_mpi(200, kTestAllreduce, 0x401010, 6);
    log.collective(201, kMpiAllreduce, 0, 1);
    log.leave_mpi(202, kTestAllreduce, 0x401010);
    append(input, job, known);
  }
  save(folder / "messages", input);
}

void archives(const fs::path& folder) {
  for (const std::uint32_t lies : {0U, 1U, 2U, 3U}) {
    const test::TemporaryFolder made;
    reader::write_foreign_archive(made / "archive", {.lies = lies});
    std::string input;
    for (std::size_t i = 0; i < fuzz::kArchiveFiles.size(); ++i) {
      const fs::path file = made / "archive" / fuzz::kArchiveFiles[i];
      if (!fs::exists(file)) continue;
      const std::string text = test::read_file(file);
      append(input, i, 1);
      append(input, text.size(), 4);
      input += text;
    }
    save(folder / ("lies-" + std::to_string(lies)), input);
  }
}

void streams(const fs::path& folder) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto run = test::random_nest(
        {.depth = static_cast<int>(1 + seed % 3), .outer_trips = 12}, seed);
    std::string input(1, static_cast<char>(0x1f | (seed % 2 != 0 ? 0x80 : 0)));
    for (const auto symbol : run.symbols) input += static_cast<char>(symbol);
    save(folder / ("nest-" + std::to_string(seed)), input.substr(0, 4096));
  }
}

void programs(const fs::path& folder) {
  const std::vector<std::uint8_t> nest{0x90, 0x75, 0xfd, 0x75, 0xfb, 0xe8,
                                       0,    0,    0,    0,    0xc3};
  // A switch with a table of offsets, in a loop: code/block_graph_test.cc.
  const std::vector<std::uint8_t> switched{
      0x83, 0xf8, 0x01, 0x77, 0x12, 0x48, 0x8d, 0x15, 0x14, 0,    0,    0,    0x48, 0x63,
      0x04, 0x82, 0x48, 0x01, 0xd0, 0xff, 0xe0, 0xeb, 0xe9, 0xc3, 0x90, 0x90, 0x90, 0x90,
      0x90, 0x90, 0x90, 0x90, 0xf5, 0xff, 0xff, 0xff, 0xf7, 0xff, 0xff, 0xff};
  const auto text = [](const std::vector<std::uint8_t>& bytes) {
    return std::string(bytes.begin(), bytes.end());
  };
  save(folder / "nest", std::string(2, '\0') + text(nest));
  save(folder / "switch", std::string("\0 ", 2) + text(switched));
  save(folder / "jump", std::string(2, '\0') + text({0xff, 0xe0, 0x90, 0x90, 0xeb, 0xfa}));
  code::SyntheticProgram program;
  program.add("function", switched);
  program.add("second", nest, false);
  program.add("function.cold", {0x90, 0xeb, 0xf8});
  program.add_frames({16,   0,    0, 0, 0, 0,  0, 0, 1, 'z', 'R', 0, 1, 0x78, 16,
                      1,    0x1b, 0, 0, 0, 16, 0, 0, 0, 24,  0,   0, 0, 0xb0, 0xff,
                      0xff, 0xff, 3, 0, 0, 0,  0, 0, 0, 0,   0,   0, 0, 0});
  save(folder / "file", "f" + text(program.file()));
}

void samples(const fs::path& folder) {
  spool::SampleBuilder builder;
  builder.add({0, 0x1010, 0x1020, 0x3010 | std::uint64_t{1} << 63}, 5)
      .add({0, 0x1010, 0x1010, 0x1010}, 3)
      .add({1, 1, 0x5000 | std::uint64_t{1} << 63}, 2);
  save(folder / "spool", std::string(1, '\0') + builder.file(0));
  spool::SampleBuilder deep(1'000'000);
  std::vector<std::uint64_t> stack{0, 2};
  for (std::uint64_t i = 0; i < 40; ++i) {
    stack.push_back(0x1000 + i % 3 * 0x800);
    deep.add(stack, i);
  }
  save(folder / "deep", std::string(1, '\0') + deep.counters(1, 2, 3, 4, 5).file());
  using Kind = code_profile::SamplePlace::Kind;
  code_profile::PlacedSamples placed;
  placed.command = "./app";
  placed.period_ns = 10'000'000;
  placed.taken = 10;
  placed.threads = 1;
  placed.places = {
      {.function = "main", .file = "a.c", .line = 1, .module = "/a", .address = 1},
      {.kind = Kind::kLoop, .function = "main", .module = "/a", .address = 2},
      {.kind = Kind::kLoop,
       .function = "main",
       .file = "a.c",
       .line = 3,
       .module = "/a",
       .address = 3,
       .parent = 1},
      {.kind = Kind::kUnknown, .function = "[vdso]"},
      {.function = "GOMP_parallel", .module = "/b", .address = 1}};
  placed.nodes = {{code_profile::SampleNode::kThread, 0, 0},
                  {0, 0, 1},
                  {1, 1, 2},
                  {2, 2, 3},
                  {3, 0, 1},
                  {4, 3, 2},
                  {2, 4, 1}};
  save(folder / "archive", "1" + code_profile::to_text(placed));
}

}  // namespace
}  // namespace refrain

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_corpus FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  refrain::spools(folder / "spool");
  refrain::archives(folder / "archive");
  refrain::streams(folder / "detector");
  refrain::programs(folder / "code");
  refrain::samples(folder / "samples");
  return 0;
}
