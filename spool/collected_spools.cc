#include "spool/collected_spools.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/folder.h"

namespace refrain::spool {
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
  constexpr std::size_t kMostHosts = 8;
  std::vector<std::string> hosts;
  hosts.reserve(distant.size());
  for (const DistantSpool& spool : distant) hosts.push_back(spool.place.host);
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::string names;
  for (std::size_t i = 0; i < hosts.size() && i < kMostHosts; ++i)
    names += (i == 0 ? "" : ", ") + hosts[i];
  if (hosts.size() > kMostHosts)
    names += " and " + std::to_string(hosts.size() - kMostHosts) + " more hosts";
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
