#include "tracer/runtime/journal_writer.h"

#include <limits.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/version.h"

namespace refrain::runtime {
namespace {

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::string program_path() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : std::string("program");
}

void put_preamble(Journal& journal, const filters::Settings& settings,
                  const char* runtime_name, const std::string& program) {
  journal.clock_pair();
  journal.text(spool::kTextVersion, kVersion);
  journal.text(spool::kTextProgram, program);
  journal.text(spool::kTextCommand, command_line());
  journal.text(spool::kTextRuntime, runtime_name == nullptr ? "" : runtime_name);
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, sizeof host - 1);
  journal.text(spool::kTextHost, host);
  std::string values;
  for (const filters::SettingInfo& info : filters::setting_table())
    values += std::string(info.name) + "=" + filters::value_text(settings, info) + "\n";
  journal.text(spool::kTextSettings, values);
  if (const char* const job = std::getenv("REFRAIN_JOB"); job != nullptr) {
    journal.text(spool::kTextRun, job);
  } else if (const char* const run = std::getenv("REFRAIN_RUN"); run != nullptr) {
    const std::string_view text = run;
    journal.text(spool::kTextRun, text.substr(0, text.find(' ', text.find(' ') + 1)));
  }
}

}  // namespace refrain::runtime
