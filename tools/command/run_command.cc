// `refrain run [options] -- program arguments`: traces a program as it is.
//
// Prepares the environment and becomes the program (exec), so that its process number,
// signals and exit status are what they were without us.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/archive_info.h"
#include "base/folder.h"
#include "base/launcher.h"
#include "base/processor.h"
#include "base/texts.h"
#include "base/watch_socket.h"
#include "filters/settings.h"
#include "spool/journal.h"
#include "spool/spool_folder.h"
#include "tools/command/subcommand.h"
#include "tools/programs/elf_program.h"
#include "tools/programs/installation.h"
#include "tools/programs/mpi_abi.h"
#include "tools/programs/mpi_choice.h"
#include "tools/programs/openmp_choice.h"

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;

// Says what a traced program could not say itself, because it was killed, crashed, or ended in another way that runs no
// code of the library's.
//
// Place in the flow: `refrain run` becomes the program, so that its process number, parent and status are what they were
// without us. Before that it starts a process that waits for the program's end, and has nothing to do with it: no child of
// it, in a session of its own, with none of its files but stderr. The library sends that process a message when the program has
// ended in order (tracer/life/run_report.h). Without one it looks at what was left, and says it in one line.
// Thread-safety: once. Errors: nobody watches. Cost: two forks; about a millisecond.

class RunWatch {
 public:
  // Of this process, which becomes the program. `archive`, `folder`, `since`: as spool::find_archives(). Names itself in
  // REFRAIN_WATCH. `silent`: nothing is said of a run that left nothing. `preloader`: a script of the command that gives LD_PRELOAD
  // another value; empty: there is none. `serial`: serial programs are recorded, too.
  void start(const std::string& archive, const std::string& folder, std::int64_t since,
             bool silent, const std::string& preloader, bool serial);
  // The program was not started.
  void stop() const;

 private:
  std::string name_;
};

struct Watched {
  int process;  // pidfd
  int socket;
  std::string archive;
  std::string folder;
  std::int64_t since;
  bool silent;
  std::string preloader;
  bool serial;
};

enum class End { kUnknown, kAllSaid, kNothing };

// Takes what has come; whether that says how it ended.
End read_messages(Watched& watched) {
  base::WatchMessage message{};
  while (recv(watched.socket, &message, 1, MSG_DONTWAIT) > 0) {
    if (message == base::WatchMessage::kSaid) watched.silent = true;
    if (message == base::WatchMessage::kEnded) return End::kAllSaid;
    if (message == base::WatchMessage::kNothing) return End::kNothing;
  }
  return End::kUnknown;
}

End wait_for_end(Watched& watched) {
  std::array<pollfd, 2> sources{
      {{watched.process, POLLIN, 0}, {watched.socket, POLLIN, 0}}};
  for (;;) {
    if (poll(sources.data(), sources.size(), -1) < 0 && errno != EINTR)
      return End::kAllSaid;
    const End end = read_messages(watched);
    if (end != End::kUnknown || (sources[0].revents & POLLIN) != 0) return end;
  }
}

// Returns true if that is why.
bool report_preloader(const Watched& watched) {
  if (watched.preloader.empty()) return false;
  std::fprintf(
      stderr,
      "refrain: no archive: '%s' gives LD_PRELOAD another value, so Refrain's library was not loaded "
      "in what it starts; let it keep the old value (LD_PRELOAD=...:$LD_PRELOAD)\n",
      watched.preloader.c_str());
  return true;
}

// Of a command of which nothing was recorded, although what it becomes would be.
const char* serial_text(bool serial) {
  return serial
             ? "; a serial program of a script is recorded only where the shell becomes it "
               "(exec PROGRAM)"
             : "";
}

void report(const Watched& watched) {
  const spool::FoundArchives found =
      spool::find_archives(watched.archive, watched.folder, watched.since);
  if (!found.left.empty()) {
    std::fprintf(stderr, "refrain: %s\n", spool::line_about_left(found.left).c_str());
  } else if (!found.any && !watched.silent && !report_preloader(watched)) {
    std::fprintf(
        stderr,
        "refrain: no archive: nothing was recorded. The program was killed early, used no "
        "OpenMP, MPI or regions of refrain.h, or started programs that are linked "
        "statically or with another LD_PRELOAD%s\n",
        serial_text(watched.serial));
  }
}

void report_nothing(bool serial) {
  std::fprintf(
      stderr,
      "refrain: no archive: no process of the command used OpenMP, MPI (MPICH, Open MPI) or regions "
      "of refrain.h, or those that did are statically linked or had another LD_PRELOAD%s\n",
      serial_text(serial));
}

[[noreturn]] void watch(Watched watched) {
  setsid();
  std::signal(SIGPIPE, SIG_IGN);
  // What the program's readers wait for to be closed.
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  const unsigned low = static_cast<unsigned>(std::min(watched.process, watched.socket));
  const unsigned high = static_cast<unsigned>(std::max(watched.process, watched.socket));
  if (low > 3) syscall(SYS_close_range, 3U, low - 1, 0U);
  if (high - low > 1) syscall(SYS_close_range, low + 1, high - 1, 0U);
  syscall(SYS_close_range, high + 1, ~0U, 0U);
  if (chdir("/") != 0) _exit(0);
  const End end = wait_for_end(watched);
  if (end == End::kUnknown) report(watched);
  if (end == End::kNothing && !watched.silent && !report_preloader(watched))
    report_nothing(watched.serial);
  std::fflush(stderr);
  _exit(0);
}

void RunWatch::start(const std::string& archive, const std::string& folder,
                     std::int64_t since, bool silent, const std::string& preloader,
                     bool serial) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::string name = "refrain-" + std::to_string(getpid()) + '-' +
                           std::to_string(now.tv_sec * 1'000'000'000 + now.tv_nsec);
  Watched watched{static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)),
                  base::bind_watch_socket(name),
                  archive,
                  folder,
                  since,
                  silent,
                  preloader,
                  serial};
  if (watched.process >= 0 && watched.socket >= 0) {
    std::fflush(nullptr);
    const pid_t between = fork();
    if (between == 0) {
      if (fork() == 0) watch(watched);
      _exit(0);
    }
    if (between > 0) {
      waitpid(between, nullptr, 0);
      name_ = name;
      setenv("REFRAIN_WATCH", name.c_str(), 1);
    }
  }
  if (watched.process >= 0) close(watched.process);
  if (watched.socket >= 0) close(watched.socket);
}

void RunWatch::stop() const {
  if (!name_.empty()) base::tell_watch_socket(name_.c_str(), base::WatchMessage::kEnded);
}

// Where the command's launcher gives the program LD_PRELOAD (mpirun -x LD_PRELOAD=..., -genv LD_PRELOAD ..., env LD_PRELOAD=...), our
// libraries come before what it gives: it would take their place.
// `program`: the path of what is traced; its own arguments stay.
void keep_preloads(std::vector<std::string>& command, const std::string& program,
                   const std::string& ours) {
  constexpr std::string_view kName = "LD_PRELOAD";
  constexpr std::string_view kAssigns = "LD_PRELOAD=";
  bool of_env = false;  // options and assignments of `env`
  for (std::size_t i = 0; i < command.size(); ++i) {
    std::string& word = command[i];
    if (i != 0 && (word == program || find_program(word) == program)) return;
    const std::string before = i == 0 ? std::string() : command[i - 1];
    const bool of_option = before == "-x" || before == "--x";
    if (word.starts_with(kAssigns) && (of_option || of_env))
      word.insert(kAssigns.size(), ours + ':');
    else if ((before == "-genv" || before == "-env") && word == kName &&
             i + 1 < command.size())
      command[i + 1] = ours + ':' + command[i + 1];
    of_env = fs::path(word).filename() == "env" ||
             (of_env && (word.starts_with('-') || word.find('=') != std::string::npos));
  }
}

// The first word of a command that is a script which gives LD_PRELOAD a value without the old one; empty: none is seen to.
std::string preloading_script(const std::vector<std::string>& command) {
  constexpr std::size_t kMost = 1 << 16;
  for (std::size_t i = 0; i < std::min<std::size_t>(command.size(), 32); ++i) {
    const std::string path = i == 0 ? find_program(command[i]) : command[i];
    if (!base::is_regular_file(path)) continue;
    std::ifstream file(path, std::ios::binary);
    std::string text(kMost, '\0');
    file.read(text.data(), kMost);
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
    if (!text.starts_with("#!")) continue;
    for (std::size_t at = 0; (at = text.find("LD_PRELOAD=", at)) != std::string::npos;
         ++at) {
      const std::string value = text.substr(at, text.find_first_of(" \t\n;", at) - at);
      if (value.find("$LD_PRELOAD") == std::string::npos &&
          value.find("${LD_PRELOAD") == std::string::npos)
        return path;
    }
  }
  return {};
}

class RunCommand final : public Subcommand {
 public:
  const char* name() const override { return "run"; }
  const char* help() const override { return "trace a program without recompiling it"; }
  void add_options(CLI::App& app) override;
  void add_settings(CLI::App& app, const char* group);
  int run() override;

 private:
  std::string as_typed(std::string complaint) const;
  base::Result<> export_settings();
  base::Result<> check_switch_value(bool is_program) const;
  base::Result<> check_archive(const std::string& archive, bool overwrite) const;
  void remove_old_archive() const;
  void report_left_recordings() const;
  void export_run() const;
  base::Result<> choose_runtime(const Program& program);
  void report_untraceable(const Program& program);
  void report(const std::string& line);
  void report_devices(const Program& program) const;
  void export_kokkos_tool(const Program& program, const std::string& library);
  base::Result<> choose_library(const base::Result<MpiChoice>& choice,
                                const Program& traced, std::string& library);

  std::map<std::string, std::string> values_;  // of settings, by name, as given
  std::map<std::string, bool> switches_;
  std::string archive_;  // absolute path; empty: no name was given
  std::string task_;     // behind the archive's name: ".task-3"
  bool overwrite_ = false;
  bool quiet_ = false;
  std::vector<const char*> sources_;  // with libraries of their own
  bool serial_ = false;               // the program is recorded, whatever it uses
  bool reported_ = false;             // that something is not traced
  bool no_summary_ = false;
  std::vector<std::string> command_;
  std::string mpi_ = "auto";
};

std::string flag_of(const filters::SettingInfo& info) {
  std::string name = info.name;
  std::replace(name.begin(), name.end(), '_', '-');
  std::string flag = "--" + name;
  if (std::string_view(info.name) == "limit") return "-n," + flag;
  if (std::string_view(info.name) == "archive") return "-o," + flag;
  return flag;
}

// What kind of value help asks for: the choices themselves, where there are such.
std::string value_name(const filters::SettingInfo& info) {
  switch (info.type) {
    case filters::SettingType::kChoice:
      return std::string("{") + info.choices + (info.counted ? "[=K]}" : "}");
    case filters::SettingType::kList:
      return "LIST";
    case filters::SettingType::kBytes:
      return "SIZE";
    case filters::SettingType::kSeconds:
      return "TIME";
    case filters::SettingType::kCount:
    case filters::SettingType::kNumber:
      return "NUMBER";
    default:
      return "TEXT";
  }
}

// Puts `name` in the place of each `variable`, but for longer words that begin like it.
void rename_variable(std::string& text, const std::string& variable,
                     const std::string& name) {
  for (std::size_t at = text.find(variable); at != std::string::npos;
       at = text.find(variable, at)) {
    const std::size_t end = at + variable.size();
    const bool longer =
        end < text.size() &&
        (text[end] == '_' || std::isupper(static_cast<unsigned char>(text[end])) != 0);
    if (!longer) text.replace(at, variable.size(), name);
    at = longer ? end : at + name.size();
  }
}

void prepend(const char* variable, const std::string& value) {
  const char* old = std::getenv(variable);
  const std::string joined =
      old == nullptr || *old == 0 ? value : value + ":" + std::string(old);
  setenv(variable, joined.c_str(), 1);
}

constexpr const char* kWhat = "What to write";
constexpr const char* kWhere = "Where to";
constexpr const char* kDetection = "Detection";
constexpr const char* kResources = "Resources";

const char* group_of(const filters::SettingInfo& info) {
  if (info.expert) return kExpertSettings;
  const std::string_view name = info.name;
  for (const char* one :
       {"archive", "spool_dir", "overwrite", "quiet", "group_readable", "format", "report"})
    if (name == one) return kWhere;
  for (const char* one : {"symbols", "detector", "nested", "slow_factor", "min_gap"})
    if (name == one) return kDetection;
  for (const char* one : {"disk_limit", "clock", "libomp"})
    if (name == one) return kResources;
  return kWhat;
}

// "4G", as options of sizes take it.
std::string size_text(std::uint64_t bytes) {
  const char* unit = "";
  for (const char* larger : {"K", "M", "G"}) {
    if (bytes == 0 || bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = larger;
  }
  return std::to_string(bytes) + unit;
}

// " (default: 100 us)".
std::string default_text(const filters::SettingInfo& info) {
  std::string text = filters::value_text(filters::Settings(), info);
  if (text.empty() || info.type == filters::SettingType::kBool) return {};
  const std::string_view range = info.range;
  if (text == "0" && range.starts_with("0 ("))  // "0 (never) or more"
    text = range.substr(3, range.find(')') - 3);
  else if (info.type == filters::SettingType::kSeconds && text != "0")
    text = base::duration_text(std::stod(text) * 1e9, 3);
  else if (info.type == filters::SettingType::kBytes)
    text = size_text(std::stoull(text));
  else if (*info.unit != 0)
    text += std::string(" ") + info.unit;
  return " (default: " + text + ")";
}

}  // namespace

void RunCommand::add_settings(CLI::App& app, const char* group) {
  for (const filters::SettingInfo& info : filters::setting_table()) {
    if (std::string_view(info.name) == "enabled" || group_of(info) != std::string(group))
      continue;
    const std::string help = info.one_line + default_text(info);
    CLI::Option* option = nullptr;
    if (info.type == filters::SettingType::kBool)
      option = app.add_flag(flag_of(info), switches_[info.name], help);
    else if (*info.implicit_value != 0)  // "--loops", "--loops=1000"
      option = app.add_flag(flag_of(info) + '{' + info.implicit_value + '}',
                            values_[info.name], help);
    else
      option = app.add_option(flag_of(info), values_[info.name], help);
    if (info.type != filters::SettingType::kBool) option->type_name(value_name(info));
    option->group(group);
  }
}

void RunCommand::add_options(CLI::App& app) {
  for (const char* group : {kWhat, kWhere, kDetection, kResources, kExpertSettings})
    add_settings(app, group);
  app.add_flag("--no-summary", no_summary_, "record no totals (--summary-memory 0)")
      ->excludes("--summary-memory")
      ->excludes("--summary-only")
      ->group(kWhat);
  app.add_option("--mpi", mpi_,
                 "MPI library of the program; auto (default): that of the first program in "
                 "the command that uses one")
      ->check(CLI::IsMember({"auto", "mpich", "openmpi", "none"}))
      ->group(kResources);
  app.add_option("program", command_, "the program and its arguments, after --")
      ->required();
  app.positionals_at_end();
  app.prefix_command(false);
}

// A complaint of a setting, with the option in the place of the variable where the user typed
// that.
std::string RunCommand::as_typed(std::string complaint) const {
  for (const filters::SettingInfo& info : filters::setting_table()) {
    const auto value = values_.find(info.name);
    if (value == values_.end() || value->second.empty()) continue;
    std::string flag = flag_of(info);
    std::replace(flag.begin(), flag.end(), ',', '/');
    rename_variable(complaint, filters::variable_name(info), flag);
  }
  return complaint;
}

// Checks what was given and puts it into the environment, where the library looks.
base::Result<> RunCommand::export_settings() {
  filters::Settings settings;
  for (const std::string& line : filters::read_settings(
           settings, [](const char* name) -> const char* { return std::getenv(name); }))
    return base::Failure{line};
  for (const filters::SettingInfo& info : filters::setting_table()) {
    std::string text = values_[info.name];
    if (switches_[info.name]) text = "yes";
    if (no_summary_ && std::string_view(info.name) == "summary_memory") text = "0";
    if (text.empty()) continue;
    if (const auto done = filters::set_value(settings, info, text); !done)
      return base::Failure{as_typed(done.error())};
    setenv(filters::variable_name(info).c_str(), text.c_str(), 1);
  }
  // What --overwrite means is done here, once: each process of the command has its own
  // archive.
  if (settings.overwrite) setenv("REFRAIN_OVERWRITE", "no", 1);
  overwrite_ = settings.overwrite;
  quiet_ = settings.quiet;
  serial_ = settings.record_serial_programs();
  if (settings.threads) sources_.push_back("threads");
  if (settings.files_s > 0) sources_.push_back("files");
  if (settings.memory_from_bytes != 0) sources_.push_back("memory");
  // Read again as the library will: what belongs together is fitted there.
  settings = {};
  for (const std::string& line : filters::read_settings(
           settings, [](const char* name) -> const char* { return std::getenv(name); }))
    return base::Failure{as_typed(line)};
  if (!settings.archive.empty()) {
    settings.archive += task_;
    // The program may change its directory before it starts OpenMP.
    setenv("REFRAIN_ARCHIVE", fs::absolute(settings.archive).c_str(), 1);
    if (const auto done = check_archive(settings.archive, overwrite_); !done) return done;
    archive_ = fs::absolute(settings.archive);
  } else if (access(".", W_OK) != 0) {
    return base::Failure{std::string("cannot write to the current directory: ") +
                         std::strerror(errno)};
  }
  if (!settings.spool_dir.empty()) {
    // Where it is not, each process makes it: this may be another node.
    if (fs::exists(settings.spool_dir) && access(settings.spool_dir.c_str(), W_OK) != 0)
      return base::Failure{"cannot write to '" + settings.spool_dir +
                           "': " + std::strerror(errno)};
    setenv("REFRAIN_SPOOL_DIR", fs::absolute(settings.spool_dir).c_str(), 1);
  }
  if (!settings.filter_file.empty()) {
    std::error_code ignored;
    if (fs::is_fifo(settings.filter_file, ignored))
      return base::Failure{"'" + settings.filter_file +
                           "' is a pipe; a filter is read more than once"};
    if (const auto text = base::small_text(settings.filter_file); !text)
      return base::Failure{"'" + settings.filter_file + "' " + text.error()};
    setenv("REFRAIN_FILTER", fs::absolute(settings.filter_file).c_str(), 1);
  }
  return {};
}

base::Result<> RunCommand::check_archive(const std::string& archive, bool overwrite) const {
  std::error_code error;
  const fs::path path = fs::absolute(archive);
  const auto why_not = [&]() -> std::string {
    if (!fs::is_directory(path, error))
      return "'" + archive + "' exists and is not a directory";
    if (access(path.c_str(), W_OK) != 0)
      return "cannot write to '" + archive + "': " + std::strerror(errno);
    if (fs::is_empty(path, error)) return {};
    if (!overwrite) return "'" + archive + "' exists; --overwrite replaces it";
    if (!fs::exists(path / "traces.otf2") && !fs::exists(path / "traces.prv") &&
        !fs::exists(path / "spool"))
      return "'" + archive + "' exists and is not an archive; it is not replaced";
    return {};
  };
  if (fs::exists(path, error)) {
    const std::string why = why_not();
    if (why.empty()) return {};
    // Another process of the job may have taken it away meanwhile.
    if (fs::exists(path, error)) return base::Failure{why};
  }
  // Whether the directory can be made is seen by making another one next to it: all ranks of a job
  // look at the same time.
  fs::path above = path.parent_path();
  while (!fs::exists(above, error) && above.has_relative_path())
    above = above.parent_path();
  std::string probe = above / ".refrain-XXXXXX";
  if (mkdtemp(probe.data()) == nullptr)
    return base::Failure{"cannot make the directory '" + archive +
                         "': " + std::strerror(errno)};
  fs::remove(probe, error);
  return {};
}

base::Result<> RunCommand::choose_runtime(const Program& program) {
  const auto choice = choose_openmp(program, wanted_libomp());
  if (!choice) return choice.failure();
  if (!choice->preload.empty()) prepend("LD_PRELOAD", choice->preload);
  report(choice->report);
  if (choice->replaces && !quiet_ && base::is_first_of_job())
    std::fprintf(
        stderr,
        "refrain: '%s' runs with LLVM's OpenMP runtime, %s, in place of libgomp; --libomp "
        "none keeps libgomp, without OpenMP regions\n",
        program.path.c_str(), choice->preload.c_str());
  return {};
}

// What is not traced, once for a job.
void RunCommand::report(const std::string& line) {
  if (line.empty()) return;
  reported_ = true;
  if (!quiet_ && base::is_first_of_job())
    std::fprintf(stderr, "refrain: %s\n", line.c_str());
}

void RunCommand::report_untraceable(const Program& program) {
  if (program.alone)
    report("'" + program.path +
           "' is linked statically and not traced, only programs that it starts; link it "
           "with shared libraries");
  else if (program.privileged)
    report("'" + program.path +
           "' runs with other privileges than yours (setuid, capabilities), so no library "
           "can be loaded into it and it is not traced; a copy without these privileges "
           "can be");
}

// Of a program that uses MPI the variant of the library that has the wrappers of its MPI; it
// needs no MPI library itself.
base::Result<> RunCommand::choose_library(const base::Result<MpiChoice>& choice,
                                          const Program& traced, std::string& library) {
  if (!choice) return choice.failure();
  report(choice->report);
  if (mpi_ == "none") reported_ = true;  // as was asked for
  if (choice->mpi.empty()) return {};
  const std::string variant = find_variant(library, choice->mpi);
  if (variant.empty())
    return base::Failure{"'" + traced.path + "' uses MPI, and librefrain_" + choice->mpi +
                         ".so was not found next to " + library};
  library = variant;
  // What loads MPI later (mpi4py, a plugin) finds it here already: our wrappers need its procedures
  // from the start.
  if (!choice->preload.empty()) prepend("LD_PRELOAD", choice->preload);
  return {};
}

void RunCommand::report_devices(const Program& program) const {
  if (quiet_ || !base::is_first_of_job()) return;
  if (const std::string why = why_devices_are_not_traced(program); !why.empty())
    std::fprintf(stderr, "refrain: '%s': %s\n", program.path.c_str(), why.c_str());
}

// Kokkos loads the tool that a variable names. Before version 3.7 it was another one, at which later versions warn.
void RunCommand::export_kokkos_tool(const Program& program, const std::string& library) {
  for (const char* name : {"KOKKOS_TOOLS_LIBS", "KOKKOS_PROFILE_LIBRARY"})
    if (const char* other = std::getenv(name);
        other != nullptr && std::strstr(other, "librefrain") == nullptr && *other != '\0')
      return report(std::string(name) +
                    " names another tool: Kokkos' kernels are not recorded by name");
  bool before_3_7 = false;
  for (const char* prefix : {"libkokkoscore.so", "libtrilinos_kokkoscore.so"})
    if (const std::string file = file_of(program, prefix); !file.empty())
      before_3_7 = !contains(file, "KOKKOS_TOOLS_LIBS");
  setenv(before_3_7 ? "KOKKOS_PROFILE_LIBRARY" : "KOKKOS_TOOLS_LIBS", library.c_str(), 1);
}

// The `refrain run` that made an archive, or a recording without one. Empty: not known, or it is neither.
static std::string run_of(const std::string& archive) {
  std::error_code ignored;
  if (!fs::exists(archive, ignored)) return {};
  if (const auto properties = analysis::read_archive_properties(archive)) {
    const auto found = properties->find("REFRAIN::RUN");
    return found == properties->end() ? std::string() : found->second;
  }
  const spool::SpoolFolder spools = spool::open_spool_folder(archive);
  if (spools.processes.empty()) return {};
  return spool::parse_journal(spools.processes[0].journal.log()).text(spool::kTextRun);
}

// NAME.2, NAME.3, ..., as far as there are some.
static std::vector<std::string> further_names(const std::string& name) {
  std::vector<std::string> found;
  std::error_code ignored;
  const fs::path path = name;
  const std::string before = path.filename().string() + '.';
  for (fs::directory_iterator at(path.parent_path(), ignored), end; at != end;
       at.increment(ignored)) {
    const std::string each = at->path().filename();
    if (each.starts_with(before) && each.size() > before.size() &&
        each.find_first_not_of("0123456789", before.size()) == std::string::npos)
      found.push_back(at->path());
    if (ignored) break;
  }
  return found;
}

// Other processes of a job may do the same at the same time, and may have begun already: what they have recorded is of this run.
void RunCommand::remove_old_archive() const {
  if (!overwrite_ || archive_.empty()) return;
  const std::string name = fs::path(archive_ + "/").parent_path().string();
  const std::string run = run_of(name), job = base::launched_job();
  const auto remove = [&job](const std::string& archive) {
    if (spool::recording_process(archive) != 0) return;
    if (!job.empty() && run_of(archive) == job) return;
    // Taken away at once: who looks at it meanwhile finds an archive, or nothing.
    std::error_code ignored;
    std::string old = archive + ".old-" + std::to_string(getpid());
    fs::rename(archive, old, ignored);
    if (ignored) old = archive;
    spool::remove_spools(old, ignored);
    fs::remove_all(old, ignored);
  };
  remove(name);
  // Those that further programs of that run took, and none of another run.
  if (run.empty()) return;
  for (const std::string& archive : further_names(name))
    if (run_of(archive) == run) remove(archive);
}

// "refrain run --overwrite yes -- program" would run yes, for ever; "--loops 1000 --" 1000, and so would "--loops 1000 program".
base::Result<> RunCommand::check_switch_value(bool is_program) const {
  if (command_.size() < 2 || (is_program && command_[1] != "--")) return {};
  filters::Settings ignored;
  for (const filters::SettingInfo& info : filters::setting_table()) {
    if (*info.implicit_value != 0 && values_.at(info.name) == info.implicit_value &&
        filters::set_value(ignored, info, command_[0]).ok())
      return base::Failure{flag_of(info) + " takes its value behind '=': " + flag_of(info) +
                           '=' + command_[0]};
    const auto given = switches_.find(info.name);
    if (given != switches_.end() && given->second &&
        filters::set_value(ignored, info, command_[0]).ok())
      return base::Failure{flag_of(info) + " takes no value: '" + command_[0] + " --'"};
  }
  return {};
}

static void report_left(const std::vector<std::string>& left, const char* why) {
  if (left.empty()) return;
  const std::size_t others = left.size() - 1;
  std::fprintf(
      stderr, "refrain: '%s'%s of a run that %s: 'refrain recover %s' makes the archive\n",
      left.front().c_str(),
      others == 0 ? " is the recording"
                  : (" and " + std::to_string(others) + " more are recordings").c_str(),
      why, base::shell_word(left.front()).c_str());
}

// A run that was killed cannot say that its recording can be recovered; the next one does. Where it recorded nothing, what it left
// is removed.
void RunCommand::report_left_recordings() const {
  if (!base::is_first_of_job()) return;
  std::error_code ignored;
  const fs::path folder =
      archive_.empty() ? fs::current_path(ignored) : fs::path(archive_).parent_path();
  const spool::FoundArchives found = spool::find_archives("", folder, 0);
  for (const std::string& empty : found.empty) spool::remove_empty_recording(empty);
  if (quiet_) return;
  report_left(found.left, "was killed");
  report_left(found.reported, "could not write its archive");
}

// For what the library says in this process' place, when it ends (tracer/life/run_report.h).
void RunCommand::export_run() const {
  std::error_code ignored;
  rusage children{};  // of inspect_program()
  getrusage(RUSAGE_CHILDREN, &children);
  const std::string text =
      std::to_string(getpid()) + ' ' + std::to_string(std::time(nullptr)) + ' ' +
      std::to_string(children.ru_minflt) + ' ' + fs::current_path(ignored).string();
  setenv("REFRAIN_RUN", text.c_str(), 1);
  // Its processes, of which each has been this command, are one run.
  if (const std::string job = base::launched_job(); !job.empty())
    setenv("REFRAIN_JOB", job.c_str(), 1);
  else
    unsetenv("REFRAIN_JOB");
  // For the setting `report`.
  const fs::path command = fs::read_symlink("/proc/self/exe", ignored);
  if (!command.empty()) setenv("REFRAIN_COMMAND", command.c_str(), 1);
}

int RunCommand::run() {
  const Program program = inspect_program(command_[0]);
  if (const auto done = check_switch_value(!program.path.empty()); !done)
    return fail(done.error());
  const Program traced = find_traced(command_, program);
  const auto choice = choose_mpi(mpi_, command_, program, traced);
  // Those that begin later would find the archives of others, or replace them.
  if (choice && is_task_of_its_own(*choice, command_))
    task_ = std::string(".task-") + base::launched_rank();
  if (const auto done = export_settings(); !done) return fail(done.error());
  std::string library = find_library();
  if (library.empty())
    return fail("librefrain.so was not found next to this command (REFRAIN_LIBRARY)");
  if (program.path.empty()) return fail(why_no_program(command_[0]));
  for (const Program* one : {&program, &traced})
    if (!one->foreign.empty())
      return fail("'" + one->path + "' is for " + one->foreign + ", this refrain for " +
                  base::kMachine + ": trace it there, with a refrain built for it");
  if (const auto done = choose_library(choice, traced, library); !done)
    return fail(done.error());
  if (const auto done = choose_runtime(traced); !done) return fail(done.error());
  std::vector<std::string> stand_ins;
  for (const char* const source : sources_) {
    stand_ins.push_back(find_variant(library, source));
    if (stand_ins.back().empty())
      return fail(std::string("librefrain_") + source + ".so was not found next to " +
                  library);
  }
  report_untraceable(traced);
  report_devices(traced);
  // Preloaded for what the program itself reports (refrain.h), whether it uses OpenMP or not.
  // It does nothing before it is asked for, so it does no harm to a launcher or a shell. Before
  // the runtime: so the process ends with us first (tracer/life/lifecycle.cc, 2).
  for (const std::string& stand_in : stand_ins) prepend("LD_PRELOAD", stand_in);
  prepend("LD_PRELOAD", library);
  // It ends a program in which it does not come first.
  if (const std::string sanitizer = sanitizer_of(traced); !sanitizer.empty())
    prepend("LD_PRELOAD", sanitizer);
  keep_preloads(command_, traced.path, std::getenv("LD_PRELOAD"));
  prepend("OMP_TOOL_LIBRARIES", library);
  setenv("OMP_TOOL", "enabled", 1);
  export_kokkos_tool(traced, library);
  std::vector<char*> arguments;
  arguments.reserve(command_.size() + 1);
  for (std::string& word : command_) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  remove_old_archive();
  report_left_recordings();
  RunWatch watch;
  std::error_code ignored;
  if (!quiet_ && base::is_first_of_job())
    watch.start(archive_, fs::current_path(ignored).string(), std::time(nullptr), reported_,
                preloading_script(command_), serial_);
  export_run();
  if (reported_)
    setenv("REFRAIN_SAID", "yes", 1);
  else
    unsetenv("REFRAIN_SAID");
  // Of a job, the processes that start MPI are sampled, and no launcher.
  if (mpi_of(traced).empty() && !is_python_of_mpi(command_))
    setenv("REFRAIN_SAMPLED_PROCESS", std::to_string(getpid()).c_str(), 1);
  else
    unsetenv("REFRAIN_SAMPLED_PROCESS");
  execv(program.path.c_str(), arguments.data());
  if (errno == ENOEXEC) execvp(arguments[0], arguments.data());
  watch.stop();
  return fail("cannot run '" + command_[0] + "': " + std::strerror(errno));
}

std::unique_ptr<Subcommand> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace refrain::tools
