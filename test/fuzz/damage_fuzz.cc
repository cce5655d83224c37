// Input: damages of an archive whose files of events have more than one chunk (archive_fuzz.cc's are smaller): a byte that
// chooses the file, one with the kind, 4 with the place, 2 with the length, 1 with a value.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "analysis/archive_info.h"
#include "analysis/comparison/comparison.h"
#include "analysis/profile/event_summary.h"
#include "base/notes.h"
#include "convert/convert.h"
#include "reader/foreign_archive.h"
#include "test/fuzz/fuzz.h"
#include "test/support/files.h"
#include "test/support/leaks.h"
#include "waits/wait_analysis.h"

namespace {

constexpr std::uint64_t kPairs = 60'000;  // a chunk and a half

// tools/check fuzz --megabytes: with as few events as there can be, for they take the time.
refrain::reader::ForeignOptions size_of_files() {
  constexpr std::uint32_t kAttributes = 100;
  constexpr std::uint64_t kBytes = 15 * kAttributes;
  const char* const megabytes = std::getenv("REFRAIN_FUZZ_MEGABYTES");
  if (megabytes == nullptr) return {.more_enters = kPairs};
  return {.more_enters = (std::strtoull(megabytes, nullptr, 10) << 20) / kBytes,
          .attributes = kAttributes};
}

const std::string kDamagedFiles[] = {"traces/7.evt", "traces/42.evt", "traces/7.evt",
                                     "traces.def",   "traces/7.evt",  "traces.otf2"};

// The archive, whole, and the texts of its files.
struct Whole {
  refrain::test::TemporaryFolder folder;
  std::map<std::string, std::string> files;

  Whole() {
    refrain::reader::write_foreign_archive(folder.path(), size_of_files());
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
      if (entry.is_regular_file())
        files[std::filesystem::relative(entry.path(), folder.path())] =
            refrain::test::read_file(entry.path());
  }
};

void damage(std::string& file, refrain::fuzz::Bytes& bytes) {
  const std::uint64_t kind = bytes.number(1), place = bytes.number(4);
  const std::uint64_t length = bytes.number(2);
  const char value = static_cast<char>(bytes.number(1));
  const std::size_t at = static_cast<std::size_t>(place) % (file.size() + 1);
  const std::size_t some = std::min(static_cast<std::size_t>(length), file.size() - at);
  switch (kind % 4) {
    case 0:  // from the end
      return file.resize(file.size() -
                         std::min(file.size(), static_cast<std::size_t>(place)));
    case 1:
      std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(at), some, '\0');
      return;
    case 2:
      if (at < file.size()) file[at] = value;
      return;
    default:
      file.erase(at, some);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  namespace fs = std::filesystem;
  fuzz::Bytes bytes(data, size);
  static const Whole whole;
  std::map<std::string, std::string> damaged;
  while (!bytes.empty()) {
    const std::string& name = kDamagedFiles[bytes.number(1) % std::size(kDamagedFiles)];
    damage(damaged.try_emplace(name, whole.files.at(name)).first->second, bytes);
  }
  const test::TemporaryFolder folder;
  const fs::path archive = folder / "archive";
  fs::create_directories(archive / "traces");
  // The others are the same files: large ones take long to copy.
  std::uint64_t most = 0;
  for (const auto& [name, text] : whole.files) {
    const auto changed = damaged.find(name);
    most += (changed == damaged.end() ? text : changed->second).size();
    if (changed == damaged.end())
      fs::create_hard_link(whole.folder / name, archive / name);
    else
      std::ofstream(archive / name, std::ios::binary) << changed->second;
  }
  const test::LibraryMayLeak archive_that_cannot_be_opened;
  // libotf2 leaks file descriptors of archives that it refuses.
  const int first = dup(STDERR_FILENO);
  close(first);
  base::take_notes();
  const auto summarized = analysis::summarize_events(archive.string());
  fuzz::require(fuzz::one_line(summarized.error()), "an error is one line",
                summarized.error());
  // Nothing is read twice: an event takes two bytes or more.
  if (summarized)
    fuzz::require(summarized->events <= most / 2, "no more events than bytes",
                  std::to_string(summarized->events));
  convert::ConvertOptions options;
  options.archive = archive.string();
  options.overwrite = true;
  const auto converted = convert::convert_archive(options);
  fuzz::require(fuzz::one_line(converted.error()), "an error is one line",
                converted.error());
  const auto analyzed = waits::analyze_archive(archive.string());
  fuzz::require(fuzz::one_line(analyzed.error()), "an error is one line", analyzed.error());
  const std::string compared = analysis::read_trace_profile(archive.string()).error();
  fuzz::require(fuzz::one_line(compared), "an error is one line", compared);
  for (const std::string& line : base::take_notes())
    fuzz::require(fuzz::one_line(line), "a note is one line", line);
  close_range(static_cast<unsigned>(first), ~0U, 0);
  return 0;
}
