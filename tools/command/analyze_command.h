// `refrain analyze ARCHIVE`: what made the program wait.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/command/subcommand.h"
#include "tools/job/job.h"
#include "waits/wait_analysis.h"

namespace refrain::tools {

class AnalyzeCommand final : public Subcommand {
 public:
  const char* name() const override { return "analyze"; }
  const char* help() const override { return "find what made the program wait"; }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string cube_file() const;
  int run_first(Job* job);
  std::string wrong_use() const;
  waits::WaitAnalysis analyze(Job* job, const waits::MorePatterns& more) const;
  int print(const waits::WaitAnalysis& analysis) const;

  std::string archive_;
  std::vector<std::string> modules_;  // of patterns
  std::string cube_file_;             // empty: beside the trace
  std::uint64_t limit_ = 0;
  std::size_t threads_ = 0;  // 0: one for each core, up to a number
  bool no_cube_ = false;
  bool overwrite_ = false;
  bool json_ = false;
  bool all_ = false;
  bool quiet_ = false;
};

}  // namespace refrain::tools
