// `refrain info ARCHIVE`: what is in an archive.
#pragma once

#include <string>

#include "tools/command/subcommand.h"

namespace refrain::tools {

class InfoCommand final : public Subcommand {
 public:
  const char* name() const override { return "info"; }
  const char* help() const override { return "print what is in an archive"; }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  std::string archive_;
  bool json_ = false;
  bool all_ = false;
  bool bodies_ = false;
};

}  // namespace refrain::tools
