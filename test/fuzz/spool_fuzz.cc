// Input: the spool of a job.
//   byte: processes (1 or 2), whether they are ranks of MPI, whether they died
//   files, of each process its journal and two locations: 2 bytes with the number of records and
//   whether the file is suspended, then records of 24 bytes as they lie in a spool
#include <cstring>
#include <filesystem>

#include "test/fuzz/fuzz.h"
#include "test/support/files.h"
#include "watch/live_run.h"
#include "writer/archive_writer.h"
#include "writer/testing/spool_builder.h"

namespace {

void fill(refrain::fuzz::Bytes& bytes, refrain::spool::RecordBuilder& file) {
  const std::uint64_t shape = bytes.number(2);
  for (std::uint64_t i = 0; i < (shape & 0x3fff) && !bytes.empty(); ++i) {
    refrain::spool::Record record{};
    const std::string_view text = bytes.text(sizeof record);
    std::memcpy(&record, text.data(), text.size());
    if ((shape & 0x8000) != 0 && i == (shape & 0x3fff) / 2) file.suspend_in_ring();
    file.add(record);
  }
  if ((shape & 0x4000) != 0) file.not_ended();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  fuzz::Bytes bytes(data, size);
  const std::uint64_t shape = bytes.number(1);
  const test::TemporaryFolder folder;
  const std::filesystem::path archive = folder / "archive";
  const std::uint32_t processes = 1 + (shape & 1);
  for (std::uint32_t process = 0; process < processes; ++process) {
    spool::SpoolBuilder builder(2);
    if ((shape & 2) != 0) builder.mpi(process, processes);
    fill(bytes, builder.journal());
    for (std::uint32_t i = 0; i < builder.locations(); ++i)
      fill(bytes, builder.location(i));
    builder.write(archive, process);
  }
  // As `refrain watch` reads it while it is written.
  watch::LiveRun live;
  const auto done = live.open(archive.string());
  fuzz::require(fuzz::one_line(done.error()), "an error is one line", done.error());
  if (done.ok())
    fuzz::require(live.look().ranks.size() <= processes, "a rank for each process at most");
  writer::WriteOptions options;
  options.archive = archive.string();
  options.threads = 1;
  options.recovered = (shape & 4) != 0;
  const auto result = writer::write_archive(options);
  fuzz::require(fuzz::one_line(result.error()), "an error is one line", result.error());
  fuzz::require(result.ok() == result.error().empty(), "what fails says why",
                result.error());
  fuzz::require(result.ok() == std::filesystem::exists(archive / "traces.otf2"),
                "there is an archive if it says so");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    fuzz::require(entry.path() == archive, "nothing is written outside of the archive",
                  entry.path().string());
  return 0;
}
