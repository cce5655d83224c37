#include "tracer/life/archive_at_end.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/folder.h"
#include "base/version.h"
#include "convert/convert.h"
#include "exchange/tree.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/slow_path.h"
#include "tracer/runtime/notices.h"
#include "tracer/runtime/session.h"
#include "writer/archive_writer.h"
#include "writer/summary.h"

namespace refrain::runtime {
namespace {

std::string filter_text(const std::string& path) {
  if (path.empty()) return {};
  auto text = base::small_text(path);
  if (text) return *std::move(text);
  warn("the filter file '" + path + "' " + text.error() + "; nothing is filtered");
  return {};
}

constexpr std::size_t kLeastStack = std::size_t{1} << 20;

// Of threads that are made without saying.
std::size_t usual_stack_bytes() {
  pthread_attr_t attributes;
  std::size_t bytes = 0;
  if (pthread_getattr_default_np(&attributes) != 0) return 0;
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return bytes;
}

writer::WriteOptions options_of(const Session& session) {
  const filters::Settings& settings = session.settings();
  writer::WriteOptions options;
  options.archive = session.folder().archive();
  options.threads = static_cast<unsigned>(settings.writer_threads);
  // Where the main thread has left by pthread_exit(), the last thread calls exit(): and so would each that is made, and ends, from here on.
  // And threads have stacks as large as the program's limit says.
  if (syscall(SYS_gettid) != getpid() || usual_stack_bytes() < kLeastStack)
    options.threads = 1;
  options.keep_spool = settings.keep_spool;
  options.logical_clock = settings.clock == "logical";
  options.budget_bytes = settings.budget_bytes;
  if (!settings.summary_only) options.representatives = filters::representatives(settings);
  options.filter = filter_text(settings.filter_file);
  options.version = kVersion;
  return options;
}

}  // namespace

bool write_archive_at_end(const Session& session, exchange::Exchange& exchange) {
  const recorder::NoLowDescriptors no_low_descriptors;
  const recorder::MoreDescriptors more_descriptors;
  const recorder::NoSizeSignal no_signal;
  const filters::Settings& settings = session.settings();
  writer::WriteOptions options;
  try {
    options = options_of(session);
  } catch (const std::exception&) {
    exchange::fail_round(exchange);  // the others wait for this process
    throw;
  }
  auto result = writer::write_archive_together(options, exchange);
  // A filter that is wrong is so for process 0, too.
  const bool wrong_filter = result.error().starts_with("filter: ");
  if (!result && exchange.size() > 1 && !wrong_filter) {
    warn("the processes could not write the archive together (" + result.error() +
         "); process 0 writes it alone");
    result = writer::write_archive(options);
  }
  if (!result && !options.filter.empty()) {
    // A filter that cannot be understood must not cost the trace.
    warn(result.error() + "; nothing is filtered");
    options.filter.clear();
    result = writer::write_archive(options);
  }
  if (!result) {
    warn("the archive could not be written (" + result.error() +
         (session.folder().root_changed()
              ? ", for the program has changed its root directory"
              : "") +
         "); the recording is kept: try 'refrain recover " + session.folder().archive() +
         "'");
    return false;
  }
  for (const std::string& line : writer::loss_lines(*result)) warn(line);
  const convert::FormatsResult formats =
      convert::write_formats(session.folder().archive(), settings.format);
  for (const std::string& line : formats.warnings) warn(line);
  const std::string report = settings.report ? make_report(session.folder().archive()) : "";
  if (settings.quiet) return true;
  for (const std::string& line : writer::summary_lines(*result, session.folder().archive()))
    say(line);
  if (!formats.files.empty()) say("for Paraver: " + formats.files.front());
  if (!report.empty()) say("report: " + report);
  return true;
}

void take_part_in_archive(exchange::Exchange& exchange) {
  const recorder::NoLowDescriptors no_low_descriptors;
  const recorder::MoreDescriptors more_descriptors;
  const recorder::NoSizeSignal no_signal;
  bool others_failed = false;
  const auto result = writer::write_archive_together({}, exchange, &others_failed);
  if (!result && !others_failed)
    warn("process " + std::to_string(exchange.rank()) +
         " could not write its part of the archive (" + result.error() + ")");
}

namespace {

constexpr int kMaxSeconds = 60;
constexpr std::size_t kStackBytes = std::size_t{256} << 10;
constexpr int kNotStarted = 127;

// As `refrain run` says; else where it is installed or built, seen from this library.
std::string find_command() {
  if (const char* given = std::getenv("REFRAIN_COMMAND"); given != nullptr && *given != 0)
    return given;
  static const char kHere = 0;
  Dl_info here{};
  if (dladdr(&kHere, &here) == 0 || here.dli_fname == nullptr) return {};
  const std::string library = here.dli_fname;
  const std::string folder = library.substr(0, library.rfind('/') + 1);
  for (const char* place : {"../bin/refrain", "../tools/refrain"})
    if (access((folder + place).c_str(), X_OK) == 0) return folder + place;
  return {};
}

// Without what traces the program.
std::vector<char*> environment() {
  std::vector<char*> out;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view text = *each;
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("OMP_TOOL") &&
        !text.starts_with("REFRAIN_"))
      out.push_back(*each);
  }
  out.push_back(nullptr);
  return out;
}

struct Start {
  const char* command;
  char* const* arguments;
  char* const* environment;
  bool has_stderr;  // else it has been closed, or is a file of the program's
};

// None of the first three descriptors.
int open_null() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  return null < 0 || null > STDERR_FILENO ? null : fcntl(null, F_DUPFD_CLOEXEC, 3);
}

// In the new process, which shares memory with this one until it is the command: system calls only.
int become_command(void* from) {
  const auto* const start = static_cast<const Start*>(from);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open_null();
  if (null >= 0) {
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (!start->has_stderr) dup2(null, STDERR_FILENO);
  }
  execve(start->command, start->arguments, start->environment);
  _exit(kNotStarted);
}

// No signal when it ends, so the program has no child that it does not know.
pid_t start(const Start& what) {
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return -1;
  const pid_t process = clone(become_command, static_cast<char*>(stack) + kStackBytes,
                              CLONE_VM | CLONE_VFORK, const_cast<Start*>(&what));
  munmap(stack, kStackBytes);
  return process;
}

enum class Ended { kWell, kBadly, kNotStarted, kNotYet };

Ended wait_for(pid_t process) {
  constexpr long kStep = 5'000'000;  // ns
  for (long waited = 0; waited < kMaxSeconds * (1'000'000'000 / kStep); ++waited) {
    int status = 0;
    const pid_t ended = waitpid(process, &status, WNOHANG | __WALL);
    if (ended == process) {
      if (!WIFEXITED(status)) return Ended::kBadly;
      if (WEXITSTATUS(status) == kNotStarted) return Ended::kNotStarted;
      return WEXITSTATUS(status) == 0 ? Ended::kWell : Ended::kBadly;
    }
    if (ended < 0 && errno != EINTR) return Ended::kBadly;
    const timespec step{0, kStep};
    nanosleep(&step, nullptr);
  }
  return Ended::kNotYet;
}

}  // namespace

std::string make_report(const std::string& archive) {
  std::string command = find_command();
  const std::string again = "; 'refrain report " + archive + "' makes it";
  if (command.empty()) {
    warn("no report was made: the command refrain was not found next to the library" +
         again);
    return {};
  }
  std::string file = archive + "/report.html";
  std::array<std::string, 6> words = {"refrain", "report",   archive,
                                      "--quiet", "--output", file};
  std::array<char*, words.size() + 1> arguments = {};
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  const std::vector<char*> variables = environment();
  const pid_t process =
      start({command.c_str(), arguments.data(), variables.data(), stderr_is_ours()});
  const Ended ended = process < 0 ? Ended::kNotStarted : wait_for(process);
  switch (ended) {
    case Ended::kWell:
      return file;
    case Ended::kNotStarted:
      warn("no report was made: '" + command + "' does not start" + again);
      return {};
    case Ended::kNotYet:
      warn("the report is not ready; it will be " + file);
      return {};
    case Ended::kBadly:
      warn("no report was made" + again);
      return {};
  }
  return {};
}

}  // namespace refrain::runtime
