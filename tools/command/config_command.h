// `refrain config`: every setting with type, default, unit and meaning.
#pragma once

#include "tools/command/subcommand.h"

namespace refrain::tools {

class ConfigCommand final : public Subcommand {
 public:
  const char* name() const override { return "config"; }
  const char* help() const override {
    return "print every setting, its value and its meaning";
  }
  void add_options(CLI::App& app) override;
  int run() override;

 private:
  bool expert_ = false;
  bool json_ = false;
  bool markdown_ = false;
};

}  // namespace refrain::tools
