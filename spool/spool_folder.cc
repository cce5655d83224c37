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
  process.folder = folder.string();
  std::vector<std::pair<std::uint32_t, SpoolFile>> locations;
  for (const fs::path& path : entries_of(folder, out)) {
    const std::string name = path.filename().string();
    const bool is_journal = name == "journal.spool";
    const bool is_facts = name == "facts.spool";
    const auto location = number_in(name, "location-", ".spool");
    if (!is_journal && !is_facts && !location) continue;
    SpoolFile file = SpoolFile::open(path.string());
    append(out.complaints, file.complaints());
    out.disk_bytes += file.disk_bytes();
    if (is_journal) {
      process.journal = std::move(file);
    } else if (is_facts) {
      process.facts = std::move(file);
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

}  // namespace refrain::spool
