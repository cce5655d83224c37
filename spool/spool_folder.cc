#include "spool/spool_folder.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/folder.h"
#include "base/texts.h"
#include "spool/journal.h"
#include "spool/spool_place.h"

namespace refrain::spool {
namespace {

namespace fs = std::filesystem;

// The number in "<prefix><number><suffix>".
std::optional<std::uint32_t> number_in(std::string_view name, std::string_view prefix,
                                       std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) ||
      name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::vector<fs::path> entries_of(const fs::path& folder, SpoolFolder& out) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const std::string& name : base::names_in(folder.string(), error))
    entries.push_back(folder / name);
  if (error) out.complaints.push_back(folder.string() + ": " + error.message());
  return entries;
}

// Locations have numbers from 0, and the journal says how many there were.
void note_missing(ProcessSpool& process, SpoolFolder& out) {
  constexpr std::size_t kNamed = 8;
  // Of a damaged header, any number: it may be so many for each that is there, and some.
  constexpr std::uint32_t kMost = 1 << 20;
  std::vector<bool> there(process.journal.usable() &&
                                  process.journal.facts().file_kind == kJournalFile
                              ? std::min(process.journal.facts().location, kMost)
                              : 0);
  for (const SpoolFile& file : process.locations) {
    const std::uint32_t number = file.facts().location;
    if (number >= kMost) continue;
    if (number >= there.size()) there.resize(number + 1);
    there[number] = true;
  }
  std::string names;
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (there[i]) continue;
    if (++process.missing <= kNamed)
      names += (names.empty() ? "location-" : ", location-") + std::to_string(i) + ".spool";
  }
  if (process.missing == 0) return;
  if (process.missing > kNamed) names += ", ...";
  out.complaints.push_back(
      process.folder + ": nothing is known of " + std::to_string(process.missing) + " of " +
      std::to_string(there.size()) + " threads, because " + names +
      (process.missing == 1 ? " is missing or damaged" : " are missing or damaged"));
}

void open_process(const fs::path& folder, std::uint32_t number, SpoolFolder& out) {
  ProcessSpool process;
  process.process = number;
  process.folder = folder.string();
  for (const fs::path& path : entries_of(folder, out)) {
    const std::string name = path.filename().string();
    const bool is_journal = name == "journal.spool";
    const bool is_facts = name == "facts.spool";
    const bool is_location = number_in(name, "location-", ".spool").has_value();
    if (!is_journal && !is_facts && !is_location) continue;
    SpoolFile file = SpoolFile::open(path.string());
    append(out.complaints, file.complaints());
    out.disk_bytes += file.disk_bytes();
    if (is_journal) {
      process.journal = std::move(file);
    } else if (is_facts) {
      process.facts = std::move(file);
    } else if (file.usable() && file.facts().file_kind == kLocationFile) {
      process.locations.push_back(std::move(file));
    }
  }
  if (!process.journal.usable())
    out.complaints.push_back(folder.string() + ": no usable journal");
  sort_locations(process.locations);
  note_missing(process, out);
  out.processes.push_back(std::move(process));
}

}  // namespace

std::string spool_path(const std::string& archive) {
  return (fs::path(archive) / "spool").string();
}

std::string process_path(const std::string& archive, std::uint32_t process) {
  const fs::path own =
      fs::path(spool_path(archive)) / ("process-" + std::to_string(process));
  std::error_code error;
  if (fs::exists(own / "journal.spool", error)) return own.string();
  const std::optional<SpoolPlace> place = read_place(archive, process);
  return place ? place->folder : own.string();
}

std::vector<std::uint32_t> process_numbers(const std::string& archive,
                                           std::error_code& error) {
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : base::names_in(spool_path(archive), error)) {
    auto number = number_in(name, "process-", "");
    if (!number) number = number_in(name, "process-", kPlaceSuffix);
    if (number) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::optional<SpoolPlace> distant_place(const std::string& archive, std::uint32_t process) {
  std::error_code error;
  std::optional<SpoolPlace> place = read_place(archive, process);
  if (!place || place->host == own_host() ||
      fs::is_directory(process_path(archive, process), error))
    return std::nullopt;
  return place;
}

void remove_spool_of(const std::string& archive, std::uint32_t process) noexcept {
  try {
    base::remove_tree(
        (fs::path(spool_path(archive)) / ("process-" + std::to_string(process))).string());
    if (const std::optional<SpoolPlace> place = read_place(archive, process))
      remove_placed(*place);
  } catch (const std::exception&) {
    // No memory: it stays.
  }
}

void remove_spools(const std::string& archive, std::error_code& error) noexcept {
  try {
    for (const std::uint32_t process : process_numbers(archive, error))
      remove_spool_of(archive, process);
    base::remove_tree(spool_path(archive), error);
  } catch (const std::exception&) {
    error = std::make_error_code(std::errc::not_enough_memory);
  }
}

SpoolFolder open_spool_of(const std::string& archive, std::uint32_t process) {
  SpoolFolder out;
  const fs::path folder = process_path(archive, process);
  std::error_code error;
  if (fs::is_directory(folder, error)) open_process(folder, process, out);
  return out;
}

SpoolFolder open_spool_folder(const std::string& archive) {
  SpoolFolder out;
  std::error_code error;
  for (const std::uint32_t number : process_numbers(archive, error)) {
    const fs::path folder = process_path(archive, number);
    std::error_code ignored;
    if (const auto place = distant_place(archive, number))
      out.distant.push_back({number, *place});
    else if (read_place(archive, number) && !fs::is_directory(folder, ignored))
      out.complaints.push_back(folder.string() + ": is gone");
    else
      open_process(folder, number, out);
  }
  if (error) out.complaints.push_back(spool_path(archive) + ": " + error.message());
  return out;
}

namespace fs = std::filesystem;

// Process numbers are reused, so one counts only if it has one of the spool's files open.
long recording_process(const std::string& archive) {
  const SpoolFolder folder = open_spool_folder(archive);
  for (const ProcessSpool& process : folder.processes) {
    const auto pid = static_cast<long>(process.journal.facts().pid);
    if (process.journal.facts().ended || pid <= 0 || kill(static_cast<pid_t>(pid), 0) != 0)
      continue;
    std::error_code error;
    const fs::path spool = fs::canonical(process.folder, error);
    if (error) continue;
    const fs::path descriptors = "/proc/" + std::to_string(pid) + "/fd";
    std::error_code ignored;
    for (const std::string& name : base::names_in(descriptors.string(), error))
      if (fs::read_symlink(descriptors / name, ignored)
              .string()
              .starts_with(spool.string() + "/"))
        return pid;
  }
  return 0;
}

namespace {

bool exists(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0;
}

// One that has ended is there until somebody has waited for it. (Its first thread may have ended alone.)
bool is_running(pid_t process) {
  if (kill(process, 0) != 0) return false;
  const std::string of = "/proc/" + std::to_string(process);
  std::ifstream file(of + "/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t state = text.rfind(')') + 2;
  if (state >= text.size() || (text[state] != 'Z' && text[state] != 'X')) return true;
  std::error_code ignored;
  return base::names_in(of + "/task", ignored).size() > 1;
}

// Whose a directory is that a process made for itself: its name has host and process.
struct Maker {
  bool here = false;  // of this host
  pid_t pid = 0;
};

// None: it is an archive's directory.
std::optional<Maker> maker_of(const std::string& folder) {
  const std::string name = fs::path(folder).filename().string();
  if (!name.starts_with(kProvisionalPrefix) && !name.starts_with(kPlacePrefix))
    return std::nullopt;
  const std::size_t dash = name.find_last_of('-');
  return Maker{name.substr(0, dash).ends_with('-' + own_host()),
               static_cast<pid_t>(std::atol(name.c_str() + dash + 1))};
}

// A process names its recording before it opens a file there, and recording_process() finds it only then: those of this host that
// live may be about to, and of another host what is new.
bool may_start_now(const Maker& maker, std::int64_t changed) {
  if (maker.here) return maker.pid > 0 && is_running(maker.pid);
  constexpr std::int64_t kNewSeconds = 60;
  return std::time(nullptr) - changed < kNewSeconds;
}

bool may_start_now(const std::string& archive, const struct stat& info) {
  if (!fs::path(archive).filename().string().starts_with(kProvisionalPrefix)) return false;
  const std::optional<Maker> maker = maker_of(archive);
  return maker && may_start_now(*maker, info.st_mtime);
}

// Its process was killed before it wrote anything there, not even what kind of file it is.
bool is_blank(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return false;
  std::ifstream in(file, std::ios::binary);
  if (!in) return false;
  char first[sizeof kMagic] = {};
  in.read(first, sizeof first);
  return std::ranges::all_of(first, [](char byte) { return byte == 0; });
}

// The latest change of the directories of a recording, in seconds of the epoch.
std::int64_t last_change(const std::string& archive) {
  std::int64_t latest = 0;
  for (const char* part : {"", "/spool", "/spool/process-0"}) {
    struct stat info {};
    if (stat((archive + part).c_str(), &info) == 0)
      latest = std::max<std::int64_t>(latest, info.st_mtime);
  }
  return latest;
}

}  // namespace

Recording recording_in(const std::string& archive) {
  if (!exists(spool_path(archive))) return Recording::kNone;
  const SpoolFolder spools = open_spool_folder(archive);
  const auto readable = [](const ProcessSpool& process) {
    return process.journal.usable() || !process.locations.empty();
  };
  if (!spools.distant.empty() || std::ranges::any_of(spools.processes, readable))
    return Recording::kReadable;
  if (const auto maker = maker_of(archive);
      maker && may_start_now(*maker, last_change(archive)))
    return Recording::kStarting;
  for (const ProcessSpool& process : spools.processes) {
    std::error_code ignored;
    for (const std::string& name : base::names_in(process.folder, ignored))
      if (!is_blank(fs::path(process.folder) / name)) return Recording::kUnreadable;
  }
  return Recording::kEmpty;
}

bool remove_empty_recording(const std::string& archive) noexcept {
  constexpr std::int64_t kMoment = 10;  // s
  try {
    const std::optional<Maker> maker = maker_of(archive);
    if (!maker || !maker->here || maker->pid <= 0 ||
        std::time(nullptr) - last_change(archive) < kMoment ||
        recording_in(archive) != Recording::kEmpty)
      return false;
    std::error_code error;
    for (const std::uint32_t process : process_numbers(archive, error))
      remove_spool_of(archive, process);
    // What somebody else has put there stays.
    rmdir(spool_path(archive).c_str());
    unlink((archive + "/archive").c_str());
    return rmdir(archive.c_str()) == 0;
  } catch (const std::exception&) {
    return false;  // no memory
  }
}

namespace {

// Its recording has ended, and a process of it is still there: it writes the archive.
bool may_be_written_now(const std::string& archive) {
  const SpoolFolder folder = open_spool_folder(archive);
  return std::ranges::any_of(folder.processes, [](const ProcessSpool& process) {
    const auto pid = static_cast<pid_t>(process.journal.facts().pid);
    return process.journal.facts().ended && pid > 0 && pid != getpid() && is_running(pid);
  });
}

bool end_reported(const std::string& archive) {
  const SpoolFolder folder = open_spool_folder(archive);
  return std::ranges::any_of(folder.processes, [](const ProcessSpool& process) {
    return process.journal.facts().end_reported;
  });
}

void look_at(const std::string& archive, std::int64_t since, FoundArchives& found) {
  struct stat info {};
  if (stat(archive.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_mtime < since)
    return;
  if (!archive_of_place(archive).empty()) return;  // a part of one
  const auto written = [&archive] {
    return exists(archive + "/traces.otf2") || exists(archive + "/traces.prv");
  };
  const bool spool = exists(archive + "/spool");
  const Recording recording =
      spool && !written() ? recording_in(archive) : Recording::kNone;
  if (recording == Recording::kEmpty && !written()) {
    found.empty.push_back(archive);
    return;
  }
  found.any |= written() || spool;
  if (recording == Recording::kReadable && !may_start_now(archive, info) &&
      recording_process(archive) == 0 && !may_be_written_now(archive) && !written())
    (end_reported(archive) ? found.reported : found.left).push_back(archive);
}

// `shown`: what comes before the names in the directory.
void look_in(const std::string& folder, const std::string& shown, const std::string& prefix,
             std::int64_t since, FoundArchives& found) {
  std::error_code ignored;
  std::size_t looks = 0;
  for (const std::string& name : base::names_in(folder, ignored)) {
    if (!name.starts_with(prefix) || ++looks > FoundArchives::kMaxLooks) continue;
    look_at(shown + name, since, found);
  }
}

}  // namespace

FoundArchives find_archives(const std::string& archive, const std::string& folder,
                            std::int64_t since) {
  FoundArchives found;
  if (archive.empty()) {
    look_in(folder, folder + '/', "refrain-", since, found);
    look_in(folder, folder + '/', kProvisionalPrefix, since, found);
    return found;
  }
  look_at(archive, since, found);
  const std::size_t name = archive.find_last_of('/') + 1;  // 0: there is none
  const std::string before = archive.substr(0, name),
                    beside = before.empty() ? "." : before;
  look_in(beside, before, archive.substr(name) + '.', since, found);
  look_in(beside, before, kProvisionalPrefix, since, found);
  return found;
}

namespace {

std::string setting_in(std::string_view settings, std::string_view key) {
  while (!settings.empty()) {
    const std::size_t end = settings.find('\n');
    if (end == std::string_view::npos) return {};  // cut
    if (const std::string_view line = settings.substr(0, end); line.starts_with(key))
      return std::string(line.substr(key.size()));
    settings.remove_prefix(end + 1);
  }
  return {};
}

// Also of one with a slash at its end.
fs::path without_slash(const std::string& path) {
  return fs::path(path + "/").parent_path();
}

}  // namespace

std::vector<PartOfJob> parts_of(const std::string& archive,
                                const std::vector<std::string>& spool_dirs) {
  std::error_code error;
  const fs::path name = without_slash(archive);
  const fs::path whole = fs::absolute(name, error).lexically_normal();
  FoundArchives found;
  const fs::path beside = name.parent_path();
  look_in(beside.empty() ? "." : beside.string(),
          beside.empty() ? std::string() : (beside / "").string(), kProvisionalPrefix, 0,
          found);
  append(found.left, found.reported);
  const std::size_t next_to_it = found.left.size();
  found.reported.clear();
  for (const std::string& folder : spool_dirs)
    look_in(folder, (fs::path(folder) / "").string(), kPlacePrefix, 0, found);
  append(found.left, found.reported);
  std::vector<PartOfJob> parts;
  for (std::size_t i = 0; i < found.left.size(); ++i) {
    const SpoolFolder spools = open_spool_folder(found.left[i]);
    for (const ProcessSpool& process : spools.processes) {
      const Journal journal = parse_journal(process.journal.log());
      const fs::path wanted =
          without_slash(setting_in(journal.text(kTextSettings), "archive="));
      // A provisional directory is where the archive was to be.
      if (i < next_to_it ? wanted.filename() != whole.filename()
                         : wanted.lexically_normal() != whole)
        continue;
      parts.push_back(
          {found.left[i], journal.text(kTextRun), process.journal.facts().start_epoch_ns});
      break;
    }
  }
  std::ranges::stable_sort(parts, {}, &PartOfJob::start_epoch_ns);
  return parts;
}

std::string run_in(const std::string& archive) {
  for (const ProcessSpool& process : open_spool_folder(archive).processes)
    if (std::string run = parse_journal(process.journal.log()).text(kTextRun); !run.empty())
      return run;
  return {};
}

std::string line_about_left(const std::vector<std::string>& left) {
  // ARCHIVE.2 is before ARCHIVE.10.
  const auto earlier = [](const std::string& a, const std::string& b) {
    return std::make_pair(a.size(), a) < std::make_pair(b.size(), b);
  };
  const std::string& first = *std::ranges::min_element(left, earlier);
  const std::string why =
      "processes were killed, ended without exit() or became another program (exec): "
      "'refrain recover " +
      base::shell_word(first) + "' makes the archive";
  if (left.size() == 1)
    return "the recording in '" + first + "' has no archive because its " + why;
  return std::to_string(left.size()) + " recordings, the first in '" + first +
         "', have no archive because their " + why;
}

namespace {

namespace fs = std::filesystem;

bool has_journal(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "journal.spool", ignored);
}

// Complete under its name, or not there.
base::Result<> copy_spool(const std::string& from, const std::string& archive,
                          std::uint32_t process) {
  const fs::path to =
      fs::path(spool_path(archive)) / ("process-" + std::to_string(process));
  const fs::path aside = to.string() + ".new";
  std::error_code error;
  base::remove_tree(aside.string());
  fs::copy(from, aside, fs::copy_options::recursive, error);
  if (!error) fs::rename(aside, to, error);
  if (!error) return {};
  base::remove_tree(aside.string());
  return base::Failure{"cannot copy '" + from + "' to '" + to.string() +
                       "': " + error.message()};
}

}  // namespace

std::vector<DistantSpool> distant_spools(const std::string& archive) {
  std::vector<DistantSpool> distant;
  std::error_code ignored;
  for (const std::uint32_t process : process_numbers(archive, ignored))
    if (const auto place = distant_place(archive, process))
      distant.push_back({process, *place});
  return distant;
}

std::string places_text(const std::vector<DistantSpool>& distant) {
  if (distant.empty()) return {};
  constexpr std::size_t kMaxHosts = 8;
  std::vector<std::string> hosts;
  hosts.reserve(distant.size());
  for (const DistantSpool& spool : distant) hosts.push_back(spool.place.host);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::string names;
  for (std::size_t i = 0; i < hosts.size() && i < kMaxHosts; ++i)
    names += (i == 0 ? "" : ", ") + hosts[i];
  if (hosts.size() > kMaxHosts)
    names += " and " + std::to_string(hosts.size() - kMaxHosts) + " more hosts";
  const bool one = distant.size() == 1;
  return std::to_string(distant.size()) + (one ? " process is on " : " processes are on ") +
         names + " (process " + std::to_string(distant.front().process) + ": " +
         distant.front().place.folder + ")";
}

std::size_t find_moved_spools(const std::string& archive, const std::string& folder) {
  std::size_t found = 0;
  std::error_code error;
  const fs::path in = fs::absolute(folder, error).lexically_normal();
  for (const std::uint32_t process : process_numbers(archive, error)) {
    const std::optional<SpoolPlace> place = read_place(archive, process);
    if (!place || has_journal(process_path(archive, process))) continue;
    const std::string moved =
        in / fs::path(place_root(place->folder)).filename() / "spool" / "process-0";
    if (has_journal(moved) && write_place(archive, process, {own_host(), moved})) ++found;
  }
  return found;
}

base::Result<std::size_t> collect_spools(const std::string& archive) {
  std::size_t spools = 0;
  std::error_code ignored;
  for (const std::uint32_t process : process_numbers(archive, ignored)) {
    const std::optional<SpoolPlace> place = read_place(archive, process);
    if (!place || !has_journal(place->folder)) continue;
    if (auto copied = copy_spool(place->folder, archive, process); !copied)
      return copied.failure();
    remove_place(archive, process);
    remove_placed(*place);
    ++spools;
  }
  return spools;
}

}  // namespace refrain::spool
