#include "watch/running_jobs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
#include <system_error>

#include "base/folder.h"
#include "spool/spool_place.h"

namespace refrain::watch {
namespace {

namespace fs = std::filesystem;

std::vector<long> processes() {
  std::vector<long> pids;
  std::error_code ignored;
  for (const std::string& name : base::names_in("/proc", ignored)) {
    long pid = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

// "<archive>" of "<archive>/spool/process-<P>/journal.spool"; empty: it is another file.
std::string archive_of_file(const fs::path& file) {
  if (file.filename() != "journal.spool") return {};
  const fs::path process = file.parent_path();
  const fs::path spool = process.parent_path();
  if (!process.filename().string().starts_with("process-") || spool.filename() != "spool")
    return {};
  const std::string folder = spool.parent_path().string();
  std::string archive = spool::archive_of_place(folder);
  return archive.empty() ? folder : archive;
}

// That this process itself records.
std::string recorded_by(long pid) {
  const fs::path descriptors = "/proc/" + std::to_string(pid) + "/fd";
  std::error_code error;
  for (const std::string& name : base::names_in(descriptors.string(), error)) {
    std::string archive = archive_of_file(fs::read_symlink(descriptors / name, error));
    if (!archive.empty()) return archive;
  }
  return {};
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string command_of(long pid) {
  std::string text = contents("/proc/" + std::to_string(pid) + "/cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

// 0: not known. The name in the file, in parentheses, may have any characters.
long parent_of(long pid) {
  const std::string text = contents("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos || name_end + 4 >= text.size()) return 0;
  long parent = 0;
  std::from_chars(text.data() + name_end + 4, text.data() + text.size(), parent);
  return parent;
}

}  // namespace

std::vector<RunningJob> running_jobs() {
  std::map<std::string, RunningJob> jobs;
  for (const long pid : processes()) {
    const std::string archive = recorded_by(pid);
    if (archive.empty()) continue;
    RunningJob& job = jobs[archive];
    job.archive = archive;
    if (job.pids.empty()) job.command = command_of(pid);
    job.pids.push_back(pid);
  }
  std::vector<RunningJob> all;
  all.reserve(jobs.size());
  for (auto& [archive, job] : jobs) all.push_back(std::move(job));
  return all;
}

std::string archive_of_process(long pid) {
  if (std::string own = recorded_by(pid); !own.empty()) return own;
  const std::vector<long> all = processes();
  std::map<long, std::vector<long>> children;
  for (const long each : all) children[parent_of(each)].push_back(each);
  std::vector<long> open = children[pid];
  while (!open.empty()) {
    const long next = open.back();
    open.pop_back();
    if (std::string archive = recorded_by(next); !archive.empty()) return archive;
    const std::vector<long>& more = children[next];
    if (next != 0) open.insert(open.end(), more.begin(), more.end());
  }
  return {};
}

}  // namespace refrain::watch
