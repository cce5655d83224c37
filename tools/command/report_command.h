// `refrain report ARCHIVE [ARCHIVE]`: one page that tells what a run did, or two runs, as one file.
#pragma once

#include <string>
#include <vector>

#include "tools/command/subcommand.h"

namespace refrain::tools {

class ReportCommand final : public Subcommand {
 public:
  const char* name() const override { return "report"; }
  const char* help() const override {
    return "one page that tells what the run did and where time is lost";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string check() const;

  std::vector<std::string> archives_;
  std::string output_ = "report.html";
  bool overwrite_ = false;
  bool quiet_ = false;
};

}  // namespace refrain::tools
