// `refrain watch [PID|FOLDER]`: what a traced program does, while it runs.
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/texts.h"
#include "tools/command/subcommand.h"
#include "tools/command/terminal.h"
#include "tools/output/standard_output.h"
#include "tools/output/watch_screen.h"
#include "watch/live_run.h"
#include "watch/running_jobs.h"

namespace refrain::tools {
namespace {

class WatchCommand final : public Subcommand {
 public:
  const char* name() const override { return "watch"; }
  const char* help() const override { return "show a traced program while it runs"; }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  base::Result<std::string> find_archive() const;
  void print(const watch::RunState& state) const;
  int watch_plain(watch::LiveRun& run) const;
  int watch_terminal(watch::LiveRun& run) const;
  int ended(const watch::RunState& state) const;

  std::string target_;
  double interval_s_ = 1;
  bool once_ = false;
  bool json_ = false;
};

volatile sig_atomic_t g_stop = 0;

void stop(int) { g_stop = 1; }

// The terminal for as long as this lives: another screen, without cursor, keys one by one.
class FullScreen {
 public:
  FullScreen() {
    keys_ = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &before_) == 0;
    if (keys_) {
      termios now = before_;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      tcsetattr(STDIN_FILENO, TCSANOW, &now);
    }
    put("\033[?1049h\033[?25l");
  }
  ~FullScreen() {
    put("\033[?25h\033[?1049l");
    if (keys_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  static void show(const std::vector<std::string>& lines) {
    std::string text = "\033[H";
    for (std::size_t i = 0; i < lines.size(); ++i)
      text += (i == 0 ? "" : "\r\n") + base::clean_line(lines[i]) + "\033[K";
    put(text + "\033[J");
  }

  // Waits so long, or until a key or a signal; true: the user wants to leave.
  bool wait(std::chrono::milliseconds time) const {
    pollfd input{keys_ ? STDIN_FILENO : -1, POLLIN, 0};
    if (poll(&input, 1, static_cast<int>(time.count())) <= 0) return g_stop != 0;
    char key = 0;
    const ssize_t n = read(STDIN_FILENO, &key, 1);
    return g_stop != 0 || n <= 0 || key == 'q' || key == 'Q';
  }

 private:
  static void put(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  termios before_{};
  bool keys_ = false;
};

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool over(const watch::RunState& state) {
  return std::none_of(state.ranks.begin(), state.ranks.end(),
                      [](const watch::RankState& rank) { return rank.recording; });
}

}  // namespace

void WatchCommand::add_options(CLI::App& app) {
  app.add_option(
      "program", target_,
      "number of a traced process (or of its mpirun), or the archive's directory; "
      "without it, the only traced job that runs");
  app.add_option("--interval", interval_s_, "seconds between two updates")
      ->check(CLI::Range(0.05, 3600.0));
  app.add_flag("--once", once_, "print the current state and exit");
  app.add_flag("--json", json_, "as JSON, one line for each update");
}

base::Result<std::string> WatchCommand::find_archive() const {
  std::error_code error;
  if (is_number(target_) && !std::filesystem::exists(target_, error)) {
    const long pid = target_.size() > 9 ? 0 : std::stol(target_);
    std::string archive = pid <= 0 ? std::string() : watch::archive_of_process(pid);
    if (archive.empty())
      return base::Failure{"process " + target_ + " is not being traced"};
    return archive;
  }
  if (!target_.empty()) {
    if (!std::filesystem::exists(target_, error))
      return base::Failure{"'" + target_ + "' does not exist"};
    return target_;
  }
  const std::vector<watch::RunningJob> jobs = watch::running_jobs();
  if (jobs.empty()) return base::Failure{"no traced program runs here"};
  if (jobs.size() == 1) return jobs.front().archive;
  std::string text = "several traced programs run; name one:";
  for (const watch::RunningJob& job : jobs)
    text += "\n  refrain watch " + std::to_string(job.pids.front()) + "    # " +
            job.command + " (" + job.archive + ")";
  return base::Failure{text};
}

void WatchCommand::print(const watch::RunState& state) const {
  if (json_)
    tools::print(watch_json(state) + "\n");
  else
    print_lines(watch_screen(state, terminal_size().columns, 0));
  std::fflush(stdout);
}

// After the last look: what became of the program, if it did not end by itself.
int WatchCommand::ended(const watch::RunState& state) const {
  const bool killed = std::any_of(state.ranks.begin(), state.ranks.end(),
                                  [](const watch::RankState& rank) { return rank.killed; });
  if (!killed) return kDone;
  std::fprintf(stderr,
               "refrain: the program was killed: 'refrain recover %s' makes the archive\n",
               state.archive.c_str());
  return kDone;
}

int WatchCommand::watch_plain(watch::LiveRun& run) const {
  watch::RunState state = run.look();
  while (true) {
    print(state);
    if (once_ || over(state) || g_stop != 0) break;
    if (!json_) std::printf("\n");
    poll(nullptr, 0, static_cast<int>(interval_s_ * 1e3));
    if (g_stop != 0) break;
    state = run.look();
  }
  return once_ ? kDone : ended(state);
}

int WatchCommand::watch_terminal(watch::LiveRun& run) const {
  watch::RunState state = run.look();
  {
    const FullScreen screen;
    while (!over(state)) {
      const TerminalSize size = terminal_size();
      FullScreen::show(watch_screen(state, size.columns, size.lines));
      if (screen.wait(std::chrono::milliseconds(static_cast<int>(interval_s_ * 1e3))))
        break;
      state = run.look();
    }
  }
  print(state);
  return ended(state);
}

int WatchCommand::run() {
  const auto found = find_archive();
  if (!found) return fail(found.error());
  const std::string& archive = *found;
  watch::LiveRun run;
  if (const auto done = run.open(archive); !done) return fail(done.error());
  if (run.is_over())
    return fail("no process of this machine records '" + archive +
                "' any more: 'refrain recover " + base::shell_word(archive) +
                "' makes its archive");
  struct sigaction action {};
  action.sa_handler = stop;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  if (once_ || json_ || isatty(STDOUT_FILENO) != 1) return watch_plain(run);
  return watch_terminal(run);
}

std::unique_ptr<Subcommand> make_watch_command() {
  return std::make_unique<WatchCommand>();
}

}  // namespace refrain::tools
