#include "spool/spool_folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/folder.h"

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

void open_process(const fs::path& folder, std::uint32_t number, SpoolFolder& out) {
  ProcessSpool process;
  process.process = number;
  std::vector<std::pair<std::uint32_t, SpoolFile>> locations;
  for (const fs::path& path : entries_of(folder, out)) {
    const std::string name = path.filename().string();
    const bool is_journal = name == "journal.spool";
    const auto location = number_in(name, "location-", ".spool");
    if (!is_journal && !location) continue;
    SpoolFile file = SpoolFile::open(path.string());
    append(out.complaints, file.complaints());
    out.disk_bytes += file.disk_bytes();
    if (is_journal) {
      process.journal = std::move(file);
    } else if (file.usable() && file.facts().file_kind == kLocationFile) {
      locations.emplace_back(*location, std::move(file));
    }
  }
  if (!process.journal.usable())
    out.complaints.push_back(folder.string() + ": no usable journal");
  std::sort(locations.begin(), locations.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [location, file] : locations) process.locations.push_back(std::move(file));
  out.processes.push_back(std::move(process));
}

}  // namespace

std::string spool_path(const std::string& archive) {
  return (fs::path(archive) / "spool").string();
}

std::string process_path(const std::string& archive, std::uint32_t process) {
  return (fs::path(spool_path(archive)) / ("process-" + std::to_string(process))).string();
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
  for (const fs::path& path : entries_of(spool_path(archive), out)) {
    const auto number = number_in(path.filename().string(), "process-", "");
    if (number) open_process(path, *number, out);
  }
  std::sort(out.processes.begin(), out.processes.end(),
            [](const auto& a, const auto& b) { return a.process < b.process; });
  return out;
}

}  // namespace refrain::spool
