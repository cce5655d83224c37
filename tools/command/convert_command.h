// `refrain convert ARCHIVE --to FORMAT`: an OTF2 archive of any tool in another format.
#pragma once

#include <string>

#include "tools/command/subcommand.h"

namespace refrain::tools {

class ConvertCommand final : public Subcommand {
 public:
  const char* name() const override { return "convert"; }
  const char* help() const override {
    return "convert an archive to Paraver, Chrome's trace format or CSV";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string archive_;
  std::string format_;
  std::string output_;
  bool overwrite_ = false;
  bool quiet_ = false;
};

}  // namespace refrain::tools
