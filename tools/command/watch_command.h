// `refrain watch [PID|FOLDER]`: what a traced program does, while it runs.
#pragma once

#include <string>

#include "tools/command/subcommand.h"
#include "watch/live_run.h"

namespace refrain::tools {

class WatchCommand final : public Subcommand {
 public:
  const char* name() const override { return "watch"; }
  const char* help() const override {
    return "show what a traced program does, while it runs";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string find_archive(std::string& archive) const;
  void print(const watch::RunState& state) const;
  int watch_plain(watch::LiveRun& run) const;
  int watch_terminal(watch::LiveRun& run) const;
  int ended(const watch::RunState& state) const;

  std::string target_;
  double interval_s_ = 1;
  bool once_ = false;
  bool json_ = false;
};

}  // namespace refrain::tools
