// `refrain experiment diff|mean|merge|min|max A B ...`: arithmetic on files of Cube.
#pragma once

#include <string>
#include <vector>

#include "tools/command/subcommand.h"

namespace refrain::tools {

class ExperimentCommand final : public Subcommand {
 public:
  const char* name() const override { return "experiment"; }
  const char* help() const override { return "compare and combine files of Cube (.cubex)"; }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string operation_;
  std::vector<std::string> files_;
  std::string output_;
  bool overwrite_ = false;
  bool json_ = false;
  bool all_ = false;
};

}  // namespace refrain::tools
