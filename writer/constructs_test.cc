// Constructs of OpenMP in archives: tasks, locks, single, nested regions; and senseless
// records.
#include <otf2/otf2.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "test/support/trace_checks.h"
#include "writer/testing/archive_text.h"

namespace refrain::writer::constructs_test {
namespace {

namespace fs = std::filesystem;
using spool::SpoolBuilder;
using Lines = std::vector<std::string>;

constexpr std::uint64_t kNext = std::uint64_t{spool::kTaskNextExplicit} << 48;
constexpr std::uint64_t kPrior = std::uint64_t{spool::kTaskPriorExplicit} << 48;

// A region of one thread with content, from 100 to 900.
template <typename Inside>
Written inside_region(const test::TemporaryFolder& folder, Inside inside) {
  SpoolBuilder builder(1);
  builder.location(0)
      .sync(1, 100)
      .add(spool::kParallelBegin, 100, 1, 0x5000 | 1ULL << 48)
      .add(spool::kImplicitTaskBegin, 100, 1, 1ULL << 32);
  inside(builder.location(0));
  builder.location(0)
      .add(spool::kImplicitTaskEnd, 900, 1, 1ULL << 32)
      .add(spool::kParallelEnd, 900, 1, 0x5000);
  return write_and_check(builder, folder);
}

// The lines between the start and the end of the region.
Lines body(const Written& written) {
  Lines all = lines(written.trace, 0);
  return {all.begin() + 4, all.end() - 4};
}

TEST_CASE("Tasks: nested - switches, regions and completions") {
  const test::TemporaryFolder folder;
  const Written written = inside_region(folder, [](spool::RecordBuilder& log) {
    log.add(spool::kTaskCreate, 200, 1, 0x6000, 4)
        .add(spool::kTaskSchedule, 210, 1, 0x6000 | kNext, 7)
        .add(spool::kTaskCreate, 220, 2, 0x7000, 4)
        .add(spool::kSyncRegionBegin, 230, 0, 0x8000, 5)
        .add(spool::kTaskSchedule, 240, 2, 0x7000 | kNext | kPrior, 7)
        .add(spool::kTaskSchedule, 250, 1, 0x6000 | kNext | kPrior, 1)
        .add(spool::kSyncRegionEnd, 260, 0, 0x8000, 5)
        .add(spool::kTaskSchedule, 270, 0, kPrior, 1);
  });
  CHECK(body(written) ==
        Lines{"200 enter !$omp create task @0x5fff", "200 create 0.1",
              "201 leave !$omp create task @0x5fff", "210 switch 0.1",
              "210 enter !$omp task @0x5fff", "220 enter !$omp create task @0x6fff",
              "220 create 0.2", "221 leave !$omp create task @0x6fff",
              "230 enter !$omp taskwait @0x7fff", "240 switch 0.2",
              "240 enter !$omp task @0x6fff", "250 leave !$omp task @0x6fff",
              "250 complete 0.2", "250 switch 0.1", "260 leave !$omp taskwait @0x7fff",
              "270 leave !$omp task @0x5fff", "270 complete 0.1"});
  CHECK(written.result.events_unmatched == 0);
}

TEST_CASE("Tasks: resumed too early - before the task in between is complete") {
  const test::TemporaryFolder folder;
  const Written written = inside_region(folder, [](spool::RecordBuilder& log) {
    log.add(spool::kTaskSchedule, 210, 1, 0x6000 | kNext, 7)
        .add(spool::kSyncRegionBegin, 230, 0, 0x8000, 5)
        .add(spool::kTaskSchedule, 240, 2, 0x7000 | kNext | kPrior, 7)
        .add(spool::kTaskSchedule, 250, 1, 0x6000 | kNext | kPrior, 7)
        .add(spool::kTaskSchedule, 255, 1, 0x6000 | kNext | kPrior, 1)
        .add(spool::kSyncRegionEnd, 260, 0, 0x8000, 5)
        .add(spool::kTaskSchedule, 270, 0, kPrior, 1);
  });
  const Lines found = body(written);
  CHECK(std::count(found.begin(), found.end(), "256 complete 0.2") == 1);
  CHECK(std::count(found.begin(), found.end(), "260 leave !$omp taskwait @0x7fff") == 1);
  CHECK(std::count(found.begin(), found.end(), "270 complete 0.1") == 1);
  CHECK(std::count_if(found.begin(), found.end(), [](const std::string& line) {
          return line.find("complete") != std::string::npos;
        }) == 2);
  CHECK(written.result.events_unmatched == 0);
}

TEST_CASE("Tasks: suspended - an untied one without a record") {
  const test::TemporaryFolder folder;
  const Written written = inside_region(folder, [](spool::RecordBuilder& log) {
    log.add(spool::kSyncRegionBegin, 200, 0, 0x8000, 5)
        .add(spool::kTaskSchedule, 210, 1, 0x6000 | kNext, 7)
        .add(spool::kSyncRegionEnd, 260, 0, 0x8000, 5);
  });
  CHECK(body(written) == Lines{"200 enter !$omp taskwait @0x7fff", "210 switch 0.1",
                               "210 enter !$omp task @0x5fff",
                               "260 leave !$omp task @0x5fff",
                               "261 leave !$omp taskwait @0x7fff"});
}

TEST_CASE("Single: gcc's - without an end, closed by the next construct") {
  const test::TemporaryFolder folder;
  const Written written = inside_region(folder, [](spool::RecordBuilder& log) {
    log.add(spool::kWorkBegin, 200, 1, 0x6000, 3)
        .add(spool::kWorkBegin, 300, 1, 0x7000, 3)
        .add(spool::kSyncRegionBegin, 400, 0, 0x8000, 2)
        .add(spool::kSyncRegionEnd, 410, 0, 0x8000, 2)
        .add(spool::kWorkBegin, 500, 1, 0x6000, 4)
        .add(spool::kWorkEnd, 510, 1, 0x6000, 4);
  });
  CHECK(body(written) ==
        Lines{"200 enter !$omp single @0x5fff", "201 enter !$omp single sblock @0x5fff",
              "300 leave !$omp single sblock @0x5fff", "301 leave !$omp single @0x5fff",
              "302 enter !$omp single @0x6fff", "303 enter !$omp single sblock @0x6fff",
              "400 leave !$omp single sblock @0x6fff", "401 leave !$omp single @0x6fff",
              "402 enter !$omp implicit barrier @0x7fff",
              "410 leave !$omp implicit barrier @0x7fff", "500 enter !$omp single @0x5fff",
              "510 leave !$omp single @0x5fff"});
}

TEST_CASE("Locks: order - acquisitions are numbered over all locations") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(2);
  const auto use = [&](std::uint32_t location, std::uint64_t at, std::uint64_t lock) {
    builder.location(location)
        .add(spool::kMutexAcquire, at, lock, 0x6000, 1)
        .add(spool::kMutexAcquired, at + 5, lock, 0x6000, 1)
        .add(spool::kMutexReleased, at + 9, lock, 0x6000, 1);
  };
  use(0, 100, 0xaa);
  use(1, 110, 0xaa);
  use(0, 120, 0xbb);
  use(0, 130, 0xaa);
  const Written written = write_and_check(builder, folder);
  CHECK(lines_with(written.trace, 0, "acquire") ==
        Lines{"105 acquire 0 1", "125 acquire 1 1", "135 acquire 0 3"});
  CHECK(lines_with(written.trace, 1, "") ==
        Lines{"110 enter omp_set_lock @0x5fff", "115 acquire 0 2",
              "115 leave omp_set_lock @0x5fff", "119 release 0 2"});
}

TEST_CASE("Locks: critical, tests that fail, nest locks") {
  const test::TemporaryFolder folder;
  const Written written = inside_region(folder, [](spool::RecordBuilder& log) {
    log.add(spool::kMutexAcquire, 200, 0xaa, 0x6000, 5)
        .add(spool::kMutexAcquired, 210, 0xaa, 0x6000, 5)
        .add(spool::kMutexReleased, 220, 0xaa, 0x6000, 5)
        .add(spool::kMutexAcquire, 300, 0xbb, 0x7000, 2)  // fails
        .add(spool::kMutexAcquire, 310, 0xbb, 0x7000, 2)  // succeeds
        .add(spool::kMutexAcquired, 315, 0xbb, 0x7000, 2)
        .add(spool::kMutexAcquire, 318, 0xbb, 0x9000, 3)
        .add(spool::kNestLock, 320, 0xbb, 0x8000, 1)
        .add(spool::kMutexReleased, 330, 0xbb, 0x7000, 2)
        .add(spool::kMutexReleased, 340, 0xcc, 0x7000, 5);  // never acquired
  });
  CHECK(body(written) ==
        Lines{"200 enter !$omp critical @0x5fff", "210 acquire 0 1",
              "210 enter !$omp critical sblock @0x5fff",
              "220 leave !$omp critical sblock @0x5fff", "220 release 0 1",
              "221 leave !$omp critical @0x5fff", "300 enter omp_test_lock @0x6fff",
              "301 leave omp_test_lock @0x6fff", "310 enter omp_test_lock @0x6fff",
              "315 acquire 1 1", "315 leave omp_test_lock @0x6fff",
              "318 enter omp_set_nest_lock @0x8fff", "320 leave omp_set_nest_lock @0x8fff",
              "321 enter omp_set_nest_lock again @0x7fff",
              "322 leave omp_set_nest_lock again @0x7fff", "330 release 1 1"});
  CHECK(written.result.events_unmatched == 1);
}

TEST_CASE("Nested regions: teams of their own, ids that look like epochs") {
  const test::TemporaryFolder folder;
  SpoolBuilder builder(2);
  builder.location(0)
      .sync(1, 100)
      .add(spool::kParallelBegin, 100, 1, 0x5000 | 1ULL << 48)
      .add(spool::kImplicitTaskBegin, 100, 1, 1ULL << 32)
      .add(spool::kParallelBegin, 200, 1, 0x6000 | 2ULL << 48, spool::kTeamNested)
      .add(spool::kImplicitTaskBegin, 200, 1, 2ULL << 32, spool::kTeamNested)
      .add(spool::kImplicitTaskEnd, 300, 1, 2ULL << 32, spool::kTeamNested)
      .add(spool::kParallelEnd, 300, 1, 0x6000, spool::kTeamNested)
      .add(spool::kImplicitTaskEnd, 400, 1, 1ULL << 32)
      .add(spool::kParallelEnd, 400, 1, 0x5000);
  builder.location(1)
      .add(spool::kImplicitTaskBegin, 210, 1, 2ULL << 32 | 1, spool::kTeamNested)
      .add(spool::kImplicitTaskEnd, 290, 1, 2ULL << 32 | 1, spool::kTeamNested);
  const Written written = write_and_check(builder, folder);
  CHECK(lines(written.trace, 0) ==
        Lines{"1 ProgramBegin", "100 fork 1", "100 team 0",
              "100 enter !$omp parallel @0x4fff", "200 fork 2", "200 team 1",
              "200 enter !$omp parallel @0x5fff", "300 leave !$omp parallel @0x5fff",
              "300 team end 1", "300 join", "400 leave !$omp parallel @0x4fff",
              "400 team end 0", "400 join", "400 ProgramEnd"});
  CHECK(lines(written.trace, 1) == Lines{"210 team 1", "210 enter !$omp parallel @0x5fff",
                                         "290 leave !$omp parallel @0x5fff",
                                         "290 team end 1"});
}

TEST_CASE("Nested regions: an end without begin - does not end another with its number") {
  const test::TemporaryFolder folder;
  const Written written = inside_region(folder, [](spool::RecordBuilder& log) {
    log.add(spool::kImplicitTaskEnd, 300, 1, 2ULL << 32, spool::kTeamNested)
        .add(spool::kFlush, 400, 0, 0x6000);
  });
  CHECK(body(written) ==
        Lines{"400 enter !$omp flush @0x5fff", "401 leave !$omp flush @0x5fff"});
  CHECK(written.result.events_unmatched == 1);
}

TEST_CASE("Roles: what readers of OpenMP traces look for") {
  const test::TemporaryFolder folder;
  const Written written = inside_region(folder, [](spool::RecordBuilder& log) {
    log.add(spool::kWorkBegin, 200, 1, 0x6000, 3)
        .add(spool::kWorkEnd, 210, 1, 0x6000, 3)
        .add(spool::kSyncRegionBegin, 400, 0, 0x8000, 3)
        .add(spool::kSyncRegionEnd, 410, 0, 0x8000, 3);
  });
  const std::map<std::string, unsigned> roles = {
      {"!$omp parallel @0x4fff", OTF2_REGION_ROLE_PARALLEL},
      {"!$omp single @0x5fff", OTF2_REGION_ROLE_SINGLE},
      {"!$omp single sblock @0x5fff", OTF2_REGION_ROLE_SINGLE_SBLOCK},
      {"!$omp barrier @0x7fff", OTF2_REGION_ROLE_BARRIER}};
  std::size_t found = 0;
  for (const auto& [ref, region] : written.trace.regions) {
    if (!roles.contains(region.name)) continue;
    ++found;
    CHECK(region.role == roles.at(region.name));
    CHECK(region.paradigm == OTF2_PARADIGM_OPENMP);
    CHECK(region.file == "OMP");
  }
  CHECK(found == roles.size());
}

TEST_CASE("Roles: waits and tasks - what readers count as synchronisation") {
  const test::TemporaryFolder folder;
  const Written written = inside_region(folder, [](spool::RecordBuilder& log) {
    log.add(spool::kSyncRegionBegin, 200, 0, 0x6000, 5)
        .add(spool::kSyncRegionEnd, 210, 0, 0x6000, 5)
        .add(spool::kSyncRegionBegin, 300, 0, 0x7000, 6)
        .add(spool::kSyncRegionEnd, 310, 0, 0x7000, 6)
        .add(spool::kSyncRegionBegin, 400, 0, 0x8000, 3)
        .add(spool::kWaitBegin, 410, 0, 0x8000, 3)
        .add(spool::kWaitEnd, 420, 0, 0x8000, 3)
        .add(spool::kSyncRegionEnd, 430, 0, 0x8000, 3)
        .add(spool::kSyncRegionBegin, 500, 0, 0x9000, 2)
        .add(spool::kWaitBegin, 510, 0, 0x9000, 2)
        .add(spool::kWaitEnd, 520, 0, 0x9000, 2)
        .add(spool::kSyncRegionEnd, 530, 0, 0x9000, 2)
        .add(spool::kMutexAcquire, 600, 0xaa, 0xa000, 1)
        .add(spool::kMutexAcquired, 610, 0xaa, 0xa000, 1);
  });
  const std::map<std::string, unsigned> roles = {
      {"!$omp taskwait @0x5fff", OTF2_REGION_ROLE_BARRIER},
      {"!$omp taskgroup @0x6fff", OTF2_REGION_ROLE_BARRIER},
      {"!$omp barrier @0x7fff", OTF2_REGION_ROLE_BARRIER},
      {"!$omp barrier wait @0x7fff", OTF2_REGION_ROLE_BARRIER},
      {"!$omp implicit barrier @0x8fff", OTF2_REGION_ROLE_IMPLICIT_BARRIER},
      {"!$omp implicit barrier wait @0x8fff", OTF2_REGION_ROLE_IMPLICIT_BARRIER},
      {"omp_set_lock @0x9fff", OTF2_REGION_ROLE_FUNCTION}};
  std::size_t found = 0;
  for (const auto& [ref, region] : written.trace.regions) {
    if (!roles.contains(region.name)) continue;
    ++found;
    INFO(region.name);
    CHECK(region.role == roles.at(region.name));
    // Readers recognise OpenMP by this name, or by the file.
    CHECK(region.canonical_name == region.name);
    CHECK((region.name.starts_with("!$omp") || region.file == "OMP"));
  }
  CHECK(found == roles.size());
}

TEST_CASE("Tasks: back to the implicit one - only where readers are not there already") {
  const test::TemporaryFolder folder;
  const Written written = inside_region(folder, [](spool::RecordBuilder& log) {
    log.add(spool::kTaskSchedule, 210, 1, 0x6000 | kNext, 7)
        .add(spool::kTaskSchedule, 220, 0, kPrior, 1)  // complete
        .add(spool::kTaskSchedule, 230, 0, 0, 7)
        .add(spool::kTaskSchedule, 240, 2, 0x6000 | kNext, 7)
        .add(spool::kTaskSchedule, 250, 0, kPrior, 7);  // left
  });
  CHECK(lines_with(written.trace, 0, "switch") ==
        Lines{"210 switch 0.1", "240 switch 0.2", "250 switch 0.0"});
}

spool::Record random_record(std::mt19937& random, std::uint64_t ticks) {
  static constexpr std::uint8_t kKinds[] = {1,  2,  3,  18, 19, 20, 21, 22,   23,   24,  25,
                                            26, 27, 28, 29, 30, 31, 32, 33,   34,   35,  36,
                                            37, 38, 39, 16, 17, 0,  47, 0x92, 0x94, 0x96};
  const auto below = [&](std::uint32_t limit) { return random() % limit; };
  return spool::make_record(kKinds[below(std::size(kKinds))], ticks + below(30), below(6),
                            0x5000 + 16 * below(3) + (std::uint64_t{below(4)} << 48),
                            static_cast<std::uint8_t>(below(14)));
}

TEST_CASE("Fuzz: any sequence of records - balanced and in order of time") {
  std::mt19937 random(20240611);
  for (int round = 0; round < 60; ++round) {
    const test::TemporaryFolder folder;
    SpoolBuilder builder(3);
    for (std::uint32_t location = 0; location < 3; ++location) {
      if (random() % 3 == 0) builder.location(location).not_ended();
      const std::uint64_t suspend_at = random() % 400;
      for (std::uint64_t i = 0; i < 200; ++i) {
        if (i == suspend_at) builder.location(location).suspend_in_ring();
        builder.location(location).add(random_record(random, 100 + 10 * i));
      }
    }
    builder.loop(1, 900, 0x5000);
    for (std::uint64_t i = 0; i < 30; ++i) builder.iteration(1, i, 100 + random() % 2000);
    builder.gap(0, random() % 6, 500);
    if (random() % 2 == 0) builder.resumed(0, random() % 6, 1500);
    WriteOptions options;
    options.recovered = random() % 2 == 0;
    builder.write(folder.path());
    options.archive = folder.path().string();
    const auto result = write_archive(options);
    INFO("round " << round << " " << result.error());
    REQUIRE(result);
    const test::Trace trace = test::read_trace(folder.path());
    CHECK(test::text(test::check_nesting(trace)) == "");
    CHECK(test::text(test::check_times(trace)) == "");
    CHECK(test::text(test::check_counts(trace)) == "");
  }
}

TEST_CASE("Fuzz: damaged files - no crash, and what is written is valid") {
  std::mt19937 random(4711);
  for (int round = 0; round < 60; ++round) {
    const test::TemporaryFolder folder;
    SpoolBuilder builder(2);
    builder.loop(1, 450, 0x5000);
    for (std::uint64_t i = 0; i < 20; ++i) {
      builder.region(i + 1, 100 + 100 * i, 180 + 100 * i, 0x5000);
      builder.iteration(1, i, 100 + 100 * i);
    }
    const fs::path process = builder.write(folder.path());
    for (const auto& entry : fs::directory_iterator(process)) {
      std::string data = test::read_file(entry.path());
      for (int flip = 0; flip < 12; ++flip) {
        // Half of the flips are in the most sensitive part.
        const std::size_t at = flip % 2 == 0 ? random() % 256 : random() % data.size();
        if (round % 3 != 0 || at >= 16) data[at] ^= static_cast<char>(1U << random() % 8);
      }
      if (round % 5 == 0) data.resize(random() % data.size());
      std::ofstream(entry.path(), std::ios::binary) << data;
    }
    WriteOptions options;
    options.archive = folder.path().string();
    options.recovered = round % 2 == 0;
    const auto result = write_archive(options);
    if (!result) {
      CHECK_FALSE(result.error().empty());
      continue;
    }
    CHECK(test::text(test::check_nesting(test::read_trace(folder.path()))) == "");
  }
}

}  // namespace
}  // namespace refrain::writer::constructs_test
